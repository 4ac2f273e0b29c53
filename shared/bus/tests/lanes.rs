//! Lanes: what a stream does not give for nothing.
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, future::join_all};
use support::{Gateway, Node, Stub, call, keep_alive, record, within};
use switchyard_bus::{BusOptions, Local};
use switchyard_proto::v1::{
    LaneReply, LaneRequest, call_event::Event, lane_client::LaneClient, lane_reply, lane_request,
    tools_server::ToolsServer,
};
use switchyard_state::NodeId;
use tokio::{net::TcpListener, sync::mpsc};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::{Channel, Server};

/// A lane whose every frame the test writes.
struct ByHand {
    frames: mpsc::Sender<LaneRequest>,
    replies: tonic::Streaming<LaneReply>,
    client: LaneClient<Channel>,
}

impl ByHand {
    async fn open(node: &Node) -> Self {
        let mut client = LaneClient::connect(format!("http://{}", node.address)).await.unwrap();
        let (frames, requests) = mpsc::channel(16);
        let replies = client.open(ReceiverStream::new(requests)).await.unwrap().into_inner();
        Self { frames, replies, client }
    }

    async fn send(&self, number: u64, frame: lane_request::Frame) {
        self.frames.send(LaneRequest { call: number, frame: Some(frame) }).await.unwrap();
    }

    async fn begin(&self, number: u64, tool: &str) {
        self.send(number, lane_request::Frame::Tool(call(tool))).await;
    }

    async fn next(&mut self) -> (u64, lane_reply::Frame) {
        let reply = within("a frame", self.replies.message()).await.unwrap().expect("the lane goes on");
        (reply.call, reply.frame.unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_lanes_is_called_plainly() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let stub = Stub::named("plain");
    let incoming = TcpListenerStream::new(listener);
    tokio::spawn(Server::builder().add_service(ToolsServer::from_arc(stub.clone())).serve_with_incoming(incoming));
    let gateway = Gateway::knowing(&[]).await;
    gateway.stores.registry.announce(&record("plain", &address, &["tools"])).await.unwrap();
    keep_alive(&gateway.stores, vec![NodeId("plain".into())]);
    gateway.discovery.refresh().await;

    let nodes = [NodeId("plain".into())];
    let mut events = within("an answer", gateway.bus.tools.call(&nodes, call("echo"))).await.unwrap();
    let accepted = within("accepted", events.next()).await.unwrap().unwrap();
    let result = within("a result", events.next()).await.unwrap().unwrap();

    assert!(matches!((accepted.event, result.event), (Some(Event::Accepted(_)), Some(Event::Tool(_)))));
    assert!(events.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_fails_while_a_node_stops_under_load() {
    let (mut one, two) = (Node::start("one").await, Node::start("two").await);
    let gateway = Arc::new(Gateway::knowing(&[&one, &two]).await);
    let (done, failed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..32)
        .map(|_| {
            let (gateway, done, failed) = (gateway.clone(), done.clone(), failed.clone());
            tokio::spawn(async move {
                let mut calls = 0;
                while !done.load(Ordering::Relaxed) {
                    calls += 1;
                    if gateway.text("echo").await.is_err() {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
                calls
            })
        })
        .collect();
    support::until("both are called", || one.stub.calls() > 100 && two.stub.calls() > 100).await;

    one.stop();
    let (of_one, of_two) = (one.stub.calls(), two.stub.calls());
    support::until("the other has taken over", || two.stub.calls() > of_two + 1000).await;
    done.store(true, Ordering::Relaxed);
    let calls: usize = join_all(callers).await.into_iter().map(Result::unwrap).sum();

    assert_eq!(failed.load(Ordering::Relaxed), 0, "of {calls} calls, {of_one} and {of_two} before the stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_answer_comes_whole_while_others_share_the_lane() {
    let node = Node::start("only").await;
    let gateway = Gateway::with(&[&node], Local::default(), BusOptions::default()).await;

    let large = (0..4).map(|_| gateway.text("big"));
    let small = (0..50).map(|_| gateway.text("echo"));
    let (large, small) = tokio::join!(join_all(large), join_all(small));

    assert!(large.into_iter().all(|text| text.unwrap().len() == 2 * 1024 * 1024));
    assert!(small.into_iter().all(|text| text.unwrap() == "only"));
    support::until("nothing runs any more", || node.stub.running() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_sends_no_more_than_its_credit() {
    let node = Node::start("only").await;
    let mut lane = ByHand::open(&node).await;
    lane.begin(1, "flood").await;
    lane.begin(2, "echo").await;

    // The second call's answer comes although nobody gives the first any credit.
    let (mut of_first, mut of_second) = (0_usize, 0);
    while of_second < 2 {
        match lane.next().await.0 {
            1 => of_first += 1,
            _ => of_second += 1,
        }
    }
    lane.begin(3, "echo").await;
    while lane.next().await.0 != 3 {
        of_first += 1;
    }
    assert!(of_first * 1024 <= 512 * 1024, "{of_first} events without credit");

    let credit = async {
        let mut given = 0_u32;
        loop {
            lane.send(1, lane_request::Frame::Credit(64 * 1024)).await;
            given += 1;
            while let Ok(reply) = tokio::time::timeout(Duration::from_millis(50), lane.replies.message()).await {
                let reply = reply.unwrap().unwrap();
                if let (1, Some(lane_reply::Frame::Event(event))) = (reply.call, reply.frame)
                    && matches!(event.event, Some(Event::Tool(_)))
                {
                    return given;
                }
            }
        }
    };
    assert!(within("the flood", credit).await > 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_at_the_service_and_so_does_everything_when_the_lane_breaks() {
    let node = Node::start("only").await;
    let mut lane = ByHand::open(&node).await;
    for number in 1..=3 {
        lane.begin(number, "hang").await;
        lane.next().await;
    }
    assert_eq!(node.stub.running(), 3);

    lane.send(2, lane_request::Frame::Cancel(lane_request::Cancel {})).await;
    support::until("one is cancelled", || node.stub.running() == 2).await;
    drop(lane);

    support::until("all are cancelled", || node.stub.running() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stops_says_so_answers_what_runs_and_waits_for_its_caller() {
    let mut node = Node::start("only").await;
    let mut lane = ByHand::open(&node).await;
    lane.begin(1, "wait").await;
    lane.next().await;

    node.stop();
    assert!(matches!(lane.next().await, (0, lane_reply::Frame::Draining(_))));
    lane.begin(2, "echo").await;
    let (number, refused) = lane.next().await;
    assert!(matches!((number, refused), (2, lane_reply::Frame::Refused(_))));
    node.stub.go.notify_one();

    assert!(
        matches!(lane.next().await, (1, lane_reply::Frame::Event(event)) if matches!(event.event, Some(Event::Tool(_))))
    );
    drop(lane.frames);
    assert!(within("the end", lane.replies.message()).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rest_is_fetched_once_and_by_whoever_knows_its_token() {
    let node = Node::start("only").await;
    let mut lane = ByHand::open(&node).await;
    lane.begin(1, "big").await;
    lane.next().await;
    let (_, rest) = lane.next().await;
    let lane_reply::Frame::Rest(rest) = rest else { panic!("{rest:?}") };

    let mut client = lane.client.clone().max_decoding_message_size(64 * 1024 * 1024);
    let mut events = client.rest(rest.clone()).await.unwrap().into_inner();
    let result = within("the rest", events.message()).await.unwrap().unwrap();

    assert!(matches!(result.event, Some(Event::Tool(tool)) if tool.content_json.len() == 2 * 1024 * 1024));
    assert_eq!(client.rest(rest).await.err().unwrap().code(), tonic::Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_result_of_a_call_that_runs_while_its_node_stops_is_not_lost() {
    let mut node = Node::start("only").await;
    let mut lane = ByHand::open(&node).await;
    lane.begin(1, "wait big").await;
    lane.next().await;

    node.stop();
    assert!(matches!(lane.next().await, (0, lane_reply::Frame::Draining(_))));
    node.stub.go.notify_one();

    let (_, last) = lane.next().await;
    let lane_reply::Frame::Event(event) = last else { panic!("{last:?}") };
    assert!(matches!(event.event, Some(Event::Tool(tool)) if tool.content_json.len() == 2 * 1024 * 1024));
}

//! Calls by way of the bus: where they go, what is tried again, and how they end.
#![allow(clippy::unwrap_used)]

mod support;

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use support::{Gateway, Node, Stub, Wire, call, keep_alive, until, within};
use switchyard_bus::{BusOptions, CallEvents, Local};
use switchyard_proto::v1::{Failure, call_event::Event, failure::Reason};
use switchyard_state::NodeId;
use tokio::time::{Instant, sleep};
use tonic::{Code, Status};

fn not_started(status: &Status) -> bool {
    matches!(Failure::of(status), Some(Reason::NotStarted(_)))
}

async fn last(events: &mut CallEvents) -> Status {
    loop {
        match within("an event", events.next()).await {
            Some(Ok(_)) => {}
            Some(Err(status)) => return status,
            None => panic!("the call ended in silence"),
        }
    }
}

/// A gateway whose only tools node is elsewhere, and one that is a tools node itself.
async fn remote_and_local(options: BusOptions) -> (Node, [(Gateway, Arc<Stub>); 2]) {
    let node = Node::at("remote", "127.0.0.1:0", options.clone()).await;
    let remote = Gateway::with(&[&node], Local::default(), options.clone()).await;
    let stub = Stub::named("local");
    let mut local = Gateway::with(&[], Local { tools: Some(stub.clone()), ..Local::default() }, options).await;
    local.nodes = vec![NodeId("gateway".into())];
    let gateways = [(remote, node.stub.clone()), (local, stub)];
    (node, gateways)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_answers_the_same_way_here_and_elsewhere() {
    let (_node, gateways) = remote_and_local(BusOptions::default()).await;

    for (gateway, stub) in &gateways {
        assert_eq!(gateway.text("echo").await.unwrap(), stub.name);

        let unknown = gateway.call("unknown").await.err().unwrap();
        assert_eq!(unknown.code(), Code::NotFound);
        assert_eq!(unknown.message(), "no tool is named `unknown`");
        assert_eq!(Failure::of(&unknown), Some(Reason::Unknown("unknown".into())));

        let away = gateway.call("unavailable").await.err().unwrap();
        assert_eq!((away.code(), away.message()), (Code::Unavailable, "the backend is away"));
        assert!(!not_started(&away));

        for broken in ["panic", "panic late", "no result"] {
            let status = match gateway.call(broken).await {
                Ok(mut events) => last(&mut events).await,
                Err(status) => status,
            };
            assert_eq!(status.code(), Code::Unavailable, "{broken}: {status:?}");
            assert!(!not_started(&status), "{broken}: {status:?}");
        }

        let mut late = gateway.call("fail late").await.unwrap();
        assert!(not_started(&last(&mut late).await), "what a service says is passed on");
        assert!(within("the end", late.next()).await.is_none());

        until("nothing runs", || stub.running() == 0).await;
        assert!(gateway.bus.in_flight().iter().all(|(_, calls)| *calls == 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_stream_ends_the_call_at_the_service() {
    let (_node, gateways) = remote_and_local(BusOptions::default()).await;

    for (gateway, stub) in &gateways {
        let mut events = gateway.call("hang").await.unwrap();
        assert!(matches!(events.next().await.unwrap().unwrap().event, Some(Event::Accepted(_))));
        assert_eq!(stub.running(), 1);

        drop(events);

        until("the service's stream is dropped", || stub.running() == 0).await;
        assert!(gateway.bus.in_flight().iter().all(|(_, calls)| *calls == 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_future_before_the_answer_ends_the_call_at_the_service() {
    let (_node, gateways) = remote_and_local(BusOptions::default()).await;

    for (gateway, stub) in &gateways {
        let (bus, nodes) = (gateway.bus.clone(), gateway.nodes.clone());
        let calling = tokio::spawn(async move { bus.tools.call(&nodes, call("hang before accepting")).await.is_ok() });
        until("the call runs", || stub.running() == 1).await;

        calling.abort();

        until("the service's future is dropped", || stub.running() == 0).await;
        until("the call is not counted", || gateway.bus.in_flight().iter().all(|(_, calls)| *calls == 0)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_by_name_and_the_connection_goes_on() {
    let options = BusOptions { max_message_bytes: 1024 * 1024 };
    let (_node, gateways) = remote_and_local(options).await;

    for (gateway, stub) in &gateways {
        let mut request = call("size");
        request.arguments_json = vec![b'x'; 1024 * 1024].into();
        let before = stub.calls();
        let refused = gateway.bus.tools.call(&gateway.nodes, request).await.err().unwrap();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(refused.message().contains("at most 1048576 (`maxMessageBytes`)"), "{refused:?}");
        assert_eq!(stub.calls(), before, "it was never sent");

        let mut running = gateway.call("wait").await.unwrap();
        let mut events = gateway.call("big").await.unwrap();
        let status = last(&mut events).await;
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(status.message().starts_with("the answer has 2097"), "{status:?}");

        stub.go.notify_one();
        running.next().await.unwrap().unwrap();
        assert!(matches!(running.next().await.unwrap().unwrap().event, Some(Event::Tool(_))), "others go on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_message_within_the_limit_passes() {
    let (_node, gateways) = remote_and_local(BusOptions::default()).await;

    for (gateway, _) in &gateways {
        let mut request = call("size");
        request.arguments_json = vec![b'x'; 16 * 1024 * 1024].into();
        let mut events = gateway.bus.tools.call(&gateway.nodes, request).await.unwrap();

        within("accepted", events.next()).await.unwrap().unwrap();
        let Some(Event::Tool(result)) = within("the result", events.next()).await.unwrap().unwrap().event else {
            panic!("no result");
        };
        assert_eq!(&*result.content_json, b"16777216");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_spread_over_the_nodes_and_avoid_the_busy_one() {
    let (one, two, three) = (Node::start("one").await, Node::start("two").await, Node::start("three").await);
    let gateway = Gateway::knowing(&[&one, &two, &three]).await;

    let mut running = Vec::new();
    for _ in 0..300 {
        running.push(gateway.call("hang").await.unwrap());
    }

    let spread: Vec<usize> = [&one, &two, &three].map(|node| node.stub.running()).into();
    assert_eq!(spread.iter().sum::<usize>(), 300);
    assert!(spread.iter().all(|calls| (90..=110).contains(calls)), "{spread:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_local_service_is_one_candidate_among_the_nodes() {
    let node = Node::start("remote").await;
    let stub = Stub::named("local");
    let mut gateway =
        Gateway::with(&[&node], Local { tools: Some(stub.clone()), ..Local::default() }, BusOptions::default()).await;
    gateway.nodes.push(NodeId("gateway".into()));

    let mut running = Vec::new();
    for _ in 0..100 {
        running.push(gateway.call("hang").await.unwrap());
    }

    assert!((45..=55).contains(&stub.running()), "{}", stub.running());
    assert_eq!(stub.running() + node.stub.running(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_node_the_call_did_not_start() {
    let gateway = Gateway::knowing(&[]).await;
    let strangers = [NodeId("nobody".into()), NodeId("gateway".into())];

    for nodes in [&strangers[..], &[]] {
        let status = gateway.bus.tools.call(nodes, call("echo")).await.err().unwrap();

        assert!(not_started(&status));
        assert_eq!(status.message(), "no node that offers the tool is reachable");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_service_says_did_not_start_is_tried_once_elsewhere() {
    let (one, two, three) = (Node::start("one").await, Node::start("two").await, Node::start("three").await);
    let gateway = Gateway::knowing(&[&one, &two, &three]).await;

    let status = gateway.call("not started").await.err().unwrap();

    let calls: Vec<usize> = [&one, &two, &three].map(|node| node.stub.calls()).into();
    assert!(not_started(&status));
    assert_eq!(calls.iter().sum::<usize>(), 2, "{calls:?}");
    assert!(calls.iter().all(|calls| *calls <= 1), "{calls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_alone_is_not_tried_again() {
    let (one, two) = (Node::start("one").await, Node::start("two").await);
    let gateway = Gateway::knowing(&[&one, &two]).await;

    let status = gateway.call("unavailable").await.err().unwrap();

    assert_eq!(status.message(), "the backend is away");
    assert_eq!(one.stub.calls() + two.stub.calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_dies_mid_call_ends_it_at_once_and_nobody_repeats_it() {
    for tool in ["hang", "hang before accepting"] {
        let (mut one, mut two) = (Node::start("one").await, Node::start("two").await);
        let gateway = Gateway::knowing(&[&one, &two]).await;
        let (bus, nodes) = (gateway.bus.clone(), gateway.nodes.clone());
        let calling = tokio::spawn(async move {
            match bus.tools.call(&nodes, call(tool)).await {
                Ok(mut events) => last(&mut events).await,
                Err(status) => status,
            }
        });
        until("the call runs", || one.stub.running() + two.stub.running() == 1).await;

        if one.stub.running() == 1 {
            one.kill()
        } else {
            two.kill()
        }
        let status = within("the end of the call", calling).await.unwrap();

        assert_eq!(status.code(), Code::Unavailable, "{tool}");
        assert!(!not_started(&status), "{tool}: {status:?}");
        assert_eq!(one.stub.calls() + two.stub.calls(), 1, "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_away_is_passed_over_unseen_and_taken_back_when_it_serves_again() {
    let (mut one, two) = (Node::start("one").await, Node::start("two").await);
    let gateway = Gateway::knowing(&[&one, &two]).await;
    for _ in 0..20 {
        gateway.text("echo").await.unwrap();
    }

    let address = one.address.clone();
    one.kill();
    let (mut answered, mut broken) = (0, 0);
    while answered < 50 {
        match gateway.text("echo").await {
            Ok(name) => {
                assert_eq!(name, "two");
                answered += 1;
            }
            // The one call that may be on its way while the node dies.
            Err(status) => {
                assert!(!not_started(&status), "{status:?}");
                broken += 1;
            }
        }
    }
    let back = Node::at("one", &address, BusOptions::default()).await;

    assert!(broken <= 1, "{broken}");
    let called_again = async {
        while back.stub.calls() == 0 {
            gateway.text("echo").await.unwrap();
        }
    };
    within("the node to be called again", called_again).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_fails_while_a_node_restarts_where_it_was() {
    let mut node = Node::start("only").await;
    let gateway = Gateway::knowing(&[&node]).await;
    gateway.text("echo").await.unwrap();

    let address = node.address.clone();
    node.stop();
    let again = Node::at("only", &address, BusOptions::default()).await;

    // Those that still ride the old connection are answered there, and none of them fails.
    let called = async {
        while again.stub.calls() == 0 {
            assert_eq!(gateway.text("echo").await.unwrap(), "only");
        }
    };
    within("the node to be called again", called).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_back_but_does_not_serve_yet_is_not_called() {
    let (mut one, two) = (Node::start("one").await, Node::start("two").await);
    let address = one.address.clone();
    one.kill();
    let gateway = Gateway::knowing(&[&one, &two]).await;
    for _ in 0..20 {
        assert_eq!(gateway.text("echo").await.unwrap(), "two");
    }

    let back = Node::unready("one", &address).await;
    // Time enough for several tests of its health.
    let tested = Instant::now() + Duration::from_millis(600);
    while Instant::now() < tested {
        assert_eq!(gateway.text("echo").await.unwrap(), "two");
    }
    let early = back.stub.calls();
    back.health.set_serving(true).await;

    assert_eq!(early, 0);
    let called = async {
        while back.stub.calls() == 0 {
            gateway.text("echo").await.unwrap();
        }
    };
    within("the node to be called", called).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_never_reachable_costs_no_call() {
    let mut dead = Node::start("dead").await;
    dead.kill();
    let alive = Node::start("alive").await;
    let gateway = Gateway::knowing(&[&dead, &alive]).await;

    for _ in 0..50 {
        assert_eq!(gateway.text("echo").await.unwrap(), "alive");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_every_node_is_away_the_call_provably_did_not_start() {
    let mut node = Node::start("only").await;
    let gateway = Gateway::knowing(&[&node]).await;
    gateway.text("echo").await.unwrap();
    node.kill();

    let status = gateway.call("echo").await.err().unwrap();
    let again = gateway.call("echo").await.err().unwrap();

    assert_eq!(again.code(), Code::Unavailable);
    assert!(not_started(&again), "{again:?}");
    assert_eq!(status.code(), Code::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stops_finishes_its_calls_and_takes_no_more() {
    let (mut one, two) = (Node::start("one").await, Node::start("two").await);
    let gateway = Gateway::knowing(&[&one, &two]).await;
    let only_one = [one.id.clone()];
    let mut running = gateway.bus.tools.call(&only_one, call("wait")).await.unwrap();
    within("accepted", running.next()).await.unwrap().unwrap();

    one.stop();
    let refused = async {
        while gateway.bus.tools.call(&only_one, call("echo")).await.is_ok() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    within("the node to take no more", refused).await;
    let taken = one.stub.calls();
    for _ in 0..50 {
        gateway.text("echo").await.unwrap();
    }
    one.stub.go.notify_one();

    assert!(matches!(within("the result", running.next()).await.unwrap().unwrap().event, Some(Event::Tool(_))));
    assert_eq!(one.stub.calls(), taken);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_on_while_its_node_leaves_the_registry() {
    let node = Node::start("leaving").await;
    let gateway = Gateway::knowing(&[&node]).await;
    let mut running = gateway.call("wait").await.unwrap();
    within("accepted", running.next()).await.unwrap().unwrap();

    gateway.stores.registry.leave(&node.id).await.unwrap();
    gateway.discovery.refresh().await;
    let refused = gateway.call("echo").await.err().unwrap();
    node.stub.go.notify_one();

    assert!(not_started(&refused));
    assert!(matches!(within("the result", running.next()).await.unwrap().unwrap().event, Some(Event::Tool(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_does_not_read_stalls_nobody() {
    let (_node, gateways) = remote_and_local(BusOptions::default()).await;

    for (gateway, stub) in &gateways {
        let mut unread = Vec::new();
        for _ in 0..20 {
            unread.push(gateway.call("flood").await.unwrap());
        }

        for _ in 0..20 {
            assert_eq!(gateway.text("echo").await.unwrap(), stub.name);
        }

        let flooded = unread.pop().unwrap().collect::<Vec<_>>();
        assert_eq!(within("the flood", flooded).await.len(), 2_001);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_cancelled_calls_break_no_connection() {
    let node = Node::start("only").await;
    let gateway = Gateway::knowing(&[&node]).await;
    let mut running = gateway.call("wait").await.unwrap();
    within("accepted", running.next()).await.unwrap().unwrap();

    for _ in 0..40 {
        let calls = (0..64).map(|_| gateway.bus.tools.call(&gateway.nodes, call("chatter")));
        let streams = futures_util::future::join_all(calls).await;
        assert!(streams.iter().all(Result::is_ok));
        let hasty = (0..64).map(|_| tokio::time::timeout(Duration::ZERO, gateway.call("hang")));
        futures_util::future::join_all(hasty).await;
    }
    node.stub.go.notify_one();

    assert!(matches!(within("the result", running.next()).await.unwrap().unwrap().event, Some(Event::Tool(_))));
    until("nothing runs", || node.stub.running() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_node_is_noticed_its_calls_end_and_it_comes_back() {
    let (node, other) = (Node::start("frozen").await, Node::start("other").await);
    let mut wire = Wire::to(&node.address).await;
    let mut gateway = Gateway::knowing(&[&other]).await;
    gateway.stores.registry.announce(&support::record("frozen", &wire.address, &["tools"])).await.unwrap();
    keep_alive(&gateway.stores, vec![NodeId("frozen".into())]);
    gateway.discovery.refresh().await;
    gateway.nodes.push(NodeId("frozen".into()));
    let only_frozen = [NodeId("frozen".into())];
    let mut hanging = gateway.bus.tools.call(&only_frozen, call("hang")).await.unwrap();
    within("accepted", hanging.next()).await.unwrap().unwrap();

    wire.freeze(true);
    let status = last(&mut hanging).await;
    let taken = node.stub.calls();
    let (mut answered, mut broken) = (0, 0);
    while answered < 50 {
        match gateway.text("echo").await {
            Ok(name) => {
                assert_eq!(name, "other");
                answered += 1;
            }
            // The one that came between the end of its connection and the notice that the node is away.
            Err(status) => {
                assert!(!not_started(&status), "{status:?}");
                broken += 1;
            }
        }
    }
    wire.freeze(false);

    assert!(broken <= 1, "{broken}");
    assert_eq!(status.code(), Code::Unavailable);
    assert!(!not_started(&status), "{status:?}");
    assert_eq!(node.stub.calls(), taken);
    let called_again = async {
        while node.stub.calls() == taken {
            gateway.text("echo").await.unwrap();
        }
    };
    within("the node to be called again", called_again).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bus_for_a_thread_has_connections_of_its_own_and_shares_the_counts() {
    let node = Node::start("only").await;
    let gateway = Gateway::knowing(&[&node]).await;
    let bus = gateway.bus.for_thread();
    let nodes = gateway.nodes.clone();

    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut events = bus.tools.call(&nodes, call("echo")).await.unwrap();
            while let Some(event) = events.next().await {
                event.unwrap();
            }
            let hanging = bus.tools.call(&nodes, call("hang")).await.unwrap();
            let counted = bus.in_flight();
            drop(hanging);
            counted
        })
    });
    let counted = tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap();

    assert!(counted.contains(&(NodeId("only".into()), 1)), "{counted:?}");
    assert_eq!(gateway.text("echo").await.unwrap(), "only");
}

//! The tools that all other tests trust.

use std::time::Duration;

use serde_json::json;
use switchyard_tests::{Backend, Balancer, Endpoint, Event, Frame, PATIENCE, Request};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// A response in two chunks, the border in the middle of a word.
fn stream() -> String {
    let first = ": still here\n\nid: 7\nretry: 10\ndata:\n\nda";
    let second = "ta: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\n\
        data: \"\u{1f686}天\"}}\r\n\r\n";
    let chunks = [first, second, ""];
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = |chunk: &&str| format!("{:x}\r\n{chunk}\r\n", chunk.len());
    head.to_owned() + &chunks.iter().map(chunk).collect::<String>()
}

#[tokio::test]
async fn an_event_stream_is_read_alike_wherever_it_is_cut() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");

    let stream = stream();
    for cut in 0..stream.len() {
        let serve = async {
            let (mut client, _) = listener.accept().await.expect("a client comes");
            client.set_nodelay(true).expect("it is a socket");
            client.read_u8().await.expect("a request comes");
            let (before, after) = stream.as_bytes().split_at(cut);
            client.write_all(before).await.expect("the client reads");
            tokio::time::sleep(Duration::from_millis(1)).await;
            client.write_all(after).await.expect("the client reads");
        };
        let read = async {
            let mut events = Request::new(address, "GET", "/").send().await.events();
            let mut frames = Vec::new();
            while let Some(frame) = events.frame_within(PATIENCE).await {
                frames.push(frame);
            }
            frames
        };

        let ((), frames) = tokio::join!(serve, read);

        let priming = Event { id: Some("7".into()), retry: Some(10), ..Event::default() };
        assert_eq!(frames[..2], [Frame::Comment("still here".into()), Frame::Event(priming)], "cut at {cut}");
        let Some(Frame::Event(event)) = frames.get(2) else { panic!("cut at {cut}: {frames:?}") };
        assert_eq!((&event.message()["params"]["data"], frames.len()), (&json!("\u{1f686}天"), 3), "cut at {cut}");
    }
}

#[tokio::test]
async fn the_balancer_sends_each_request_to_the_next_gateway() {
    let gateways = [Backend::start().await, Backend::start().await, Backend::start().await];
    let endpoints = gateways.iter().map(|gateway| Endpoint::parse(&gateway.url("/mcp")));
    let balancer = Balancer::start(endpoints).await;

    for gateway in gateways.iter().chain(&gateways) {
        let (response, ()) = tokio::join!(balancer.mcp().request("POST").json(&json!({})).send(), async {
            gateway.next_request().await.answer().await;
        });
        assert_eq!(response.status, 200);
    }
}

#[tokio::test]
async fn the_balancer_passes_over_a_gateway_that_is_gone() {
    let gone = Endpoint::parse(&Backend::start().await.url("/mcp"));
    let here = Backend::start().await;
    let balancer = Balancer::start([gone, Endpoint::parse(&here.url("/mcp"))]).await;

    for _ in 0..4 {
        let request = balancer.mcp().request("GET").send();
        let (response, ()) = tokio::join!(request, async { here.next_request().await.answer().await });
        assert_eq!(response.status, 200);
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_is_noticed_behind_the_balancer() {
    let gateway = Backend::start().await;
    let balancer = Balancer::start([Endpoint::parse(&gateway.url("/mcp"))]).await;

    let client = tokio::spawn(balancer.mcp().request("GET").try_send());
    let held = gateway.next_request().await;
    client.abort();

    held.given_up().await;
}

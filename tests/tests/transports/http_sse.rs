//! HTTP+SSE in one process.

use serde_json::json;
use switchyard_tests::{Request, SseClient, StrippingProxy, Talker};

use crate::One;

#[tokio::test]
async fn the_first_event_says_where_messages_go_and_the_others_are_messages() {
    let one = One::start().await;
    let mut client = one.sse().await;

    client.begin(&json!(1), "ping", json!({})).await;

    assert!(client.endpoint.starts_with("messages?session_id="), "{}", client.endpoint);
    assert_eq!(client.event().await, ("message".into(), json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
}

#[tokio::test]
async fn field_case_87_the_address_is_right_behind_a_proxy_that_strips_a_prefix() {
    let one = One::start().await;
    let proxy = StrippingProxy::start(&one.node.mcp(), "/x/y").await;

    let mut client = SseClient::connect(proxy.address, "/x/y/sse").await;

    assert_eq!(client.handshake("2024-11-05").await["protocolVersion"], "2024-11-05");
    assert!(client.ask("tools/list", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn what_is_wrong_with_a_message_is_its_status() {
    let one = One::start_with(json!({"maxBodyBytes": 1000})).await;
    let client = one.sse().await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let address = one.node.mcp().address;
    let to =
        |path: &str| Request::new(address, "POST", path).header("Content-Type", "application/json").body(ping.as_str());

    for (request, status) in [
        (client.post(ping.as_str()), 202),
        (client.post("nonsense"), 400),
        (client.post("{}"), 400),
        (client.post(format!("[{ping}]")), 400),
        (client.post(" ".repeat(1001)), 413),
        (client.post(ping.as_str()).header("Content-Type", "text/plain"), 415),
        (client.post(ping.as_str()).header("Origin", "https://evil.example"), 403),
        (to("/messages"), 400),
        (to("/messages?session_id=nobody"), 404),
        (to("/messages?session_id=0123456789ab.00000000000000000000000000000000"), 404),
        (Request::new(address, "GET", "/messages"), 405),
        (Request::new(address, "POST", "/sse"), 405),
        (Request::new(address, "GET", "/sse").header("Accept", "application/json"), 406),
        (Request::new(address, "GET", "/sse").header("Origin", "https://evil.example"), 403),
    ] {
        let shown = format!("{request:?}");
        assert_eq!(request.send().await.status, status, "{shown}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_takes_its_session_along() {
    let one = One::start().await;
    let mut client = one.sse().await;
    client.handshake("2024-11-05").await;
    one.until_open("standing", 1).await;

    let posts = client.hang_up();

    one.until_open("sse", 0).await;
    one.until_open("standing", 0).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(posts.json(&ping).send().await.status, 404);
}

#[tokio::test]
async fn an_idle_stream_carries_comments() {
    let one = One::start_with(json!({"keepAlive": "50ms"})).await;
    let request = Request::new(one.node.mcp().address, "GET", "/sse").header("Accept", "text/event-stream");

    let mut events = request.send().await.events();

    events.event().await.unwrap();
    let limit = switchyard_tests::PATIENCE;
    assert!(matches!(events.frame_within(limit).await, Some(switchyard_tests::Frame::Comment(_))));
    assert_eq!(events.header("x-accel-buffering"), Some("no"));
}

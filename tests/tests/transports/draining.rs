//! A node that stops ends every conversation in its transport's way, once what runs is done.

use rustix::process::Signal;
use serde_json::json;
use switchyard_tests::{Backend, ModernClient, Talker};

use crate::{One, held_by};

#[tokio::test]
async fn running_calls_finish_and_then_connections_are_closed() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let (mut tcp, mut unix) = (one.tcp().await, one.unix().await);
    let (mut websocket, mut sse) = (one.websocket().await, one.sse().await);
    let mut held = Vec::new();
    websocket.handshake("2025-11-25").await;
    websocket.begin(&json!("x"), "tools/call", held_by(&backend)).await;
    held.push(backend.next_request().await);
    sse.handshake("2024-11-05").await;
    sse.begin(&json!("x"), "tools/call", held_by(&backend)).await;
    held.push(backend.next_request().await);
    tcp.begin(&json!("x"), "tools/call", ModernClient::params(held_by(&backend))).await;
    held.push(backend.next_request().await);
    let params = ModernClient::params(json!({"notifications": {"toolsListChanged": true}}));
    unix.begin(&json!("s"), "subscriptions/listen", params).await;
    unix.notified("notifications/subscriptions/acknowledged").await;

    one.node.signal(Signal::TERM);
    let last_word = unix.response(&json!("s")).await;
    let refused = tcp.ask_modern("tools/list", json!({})).await;
    for held in held {
        held.answer().await;
    }

    assert_eq!(last_word["result"]["resultType"], "complete", "{last_word}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("about to stop"), "{refused}");
    assert_eq!(websocket.response(&json!("x")).await["result"]["isError"], false);
    assert_eq!(websocket.close_code().await, Some(1001));
    assert_eq!(tcp.response(&json!("x")).await["result"]["isError"], false);
    tcp.closed().await;
    unix.closed().await;
    assert_eq!(sse.response(&json!("x")).await["result"]["isError"], false);
    sse.closed().await;
    assert_eq!(one.node.finished().await.code, Some(0));
}

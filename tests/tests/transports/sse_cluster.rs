//! HTTP+SSE in a cluster: the stream is at one gateway, messages come in at any.

use rustix::process::Signal;
use serde_json::json;
use switchyard_tests::{Backend, Cluster, Shape, SseClient, Talker, WebSocketClient, eventually};

use crate::held_by;

#[tokio::test]
async fn messages_that_come_in_at_another_gateway_reach_the_stream() {
    let cluster = Cluster::start(Shape::default()).await;
    let backend = Backend::start().await;
    let client = SseClient::connect(cluster.gateway(0).address, "/sse").await;
    let mut client = client.posting_to(cluster.gateway(1).address);

    let handshake = client.handshake("2024-11-05").await;
    client.begin(&json!("x"), "tools/call", held_by(&backend)).await;
    let held = backend.next_request().await;
    client.cancel(&json!("x")).await;

    assert_eq!(handshake["protocolVersion"], "2024-11-05");
    held.given_up().await;
    assert!(client.ask_modern("tools/list", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn behind_a_balancer_no_message_is_lost() {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    let balancer = cluster.balancer().await;
    let mut client = SseClient::connect(balancer.mcp().address, "/sse").await;
    client.handshake("2025-06-18").await;

    for _ in 0..30 {
        assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    }
}

#[tokio::test]
async fn a_stream_whose_gateway_is_gone_is_unknown_at_the_others() {
    let cluster = Cluster::start(Shape::default()).await;
    let client = SseClient::connect(cluster.gateway(0).address, "/sse").await;
    let client = client.posting_to(cluster.gateway(1).address);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    assert_eq!(client.post(ping.as_str()).send().await.status, 202);

    cluster.gateways[0].signal(Signal::KILL);

    eventually("the other gateway to know that the stream is gone", async || {
        match client.post(ping.as_str()).send().await.status {
            404 => Some(()),
            // Until then it may try again.
            503 => None,
            status => panic!("status {status}"),
        }
    })
    .await;
}

#[tokio::test]
async fn connections_whose_sessions_the_store_lost_are_closed_so_that_clients_begin_anew() {
    let cluster = Cluster::start(Shape { gateways: 1, tools: 1 }).await;
    let address = cluster.gateway(0).address;
    let mut websocket = WebSocketClient::connect(address, "/ws").await;
    let mut sse = SseClient::connect(address, "/sse").await;
    websocket.handshake("2025-11-25").await;
    sse.handshake("2025-11-25").await;

    cluster.redis.command(&["FLUSHALL"]).await;

    assert_eq!(websocket.close_code().await, Some(1011));
    sse.closed().await;
}

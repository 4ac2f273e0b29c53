//! Peers that are silent, slow, too many or too greedy pile nothing up.

use serde_json::json;
use switchyard_tests::{LineClient, ModernClient, Request, Talker, WebSocketClient};

use crate::One;

#[tokio::test]
async fn a_client_that_never_says_anything_is_closed() {
    let one = One::start_with(json!({"idleTimeout": "200ms"})).await;

    one.tcp().await.closed().await;
    one.unix().await.closed().await;
    one.sse().await.closed().await;
}

#[tokio::test]
async fn a_session_whose_client_answers_pings_stays() {
    let one = One::start_with(json!({"idleTimeout": "4s"})).await;
    let mut client = one.tcp().await;
    client.handshake("2025-11-25").await;

    // Each ping follows a silence of half the time, so this is longer than the time.
    for _ in 0..3 {
        let ping = client.notified("ping").await;
        client.say(&json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}}).to_string()).await;
    }

    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    client.notified("ping").await;
    client.closed().await;
    one.until_open("tcp", 0).await;
    one.until_open("standing", 0).await;
}

#[tokio::test]
async fn a_client_that_waits_for_an_answer_is_not_silent() {
    let one = One::start_with(json!({"idleTimeout": "2s"})).await;
    let mut client = one.tcp().await;
    let params = ModernClient::params(json!({"notifications": {"resourcesListChanged": true}}));
    client.begin(&json!("s"), "subscriptions/listen", params).await;
    client.notified("notifications/subscriptions/acknowledged").await;

    one.tcp().await.closed().await;
    one.tcp().await.closed().await;
    one.folder.write("new.txt", "new");

    client.notified("notifications/resources/list_changed").await;
}

#[tokio::test]
async fn a_websocket_client_is_pinged_and_closed_with_1008_when_it_does_not_answer() {
    let one = One::start_with(json!({"keepAlive": "500ms", "idleTimeout": "4s"})).await;
    let mut deaf = one.websocket().await;
    deaf.answers_pings = false;
    let mut lively = one.websocket().await;

    let closed = tokio::select! {
        code = deaf.close_code() => code,
        message = lively.hear() => panic!("the one that answers was told {message:?}"),
    };

    assert_eq!(closed, Some(1008));
    assert_eq!(lively.ask("ping", json!({})).await["result"], json!({}));
}

/// Asks for far more than fits on the way, and reads none of it.
async fn asks_for_much(one: &One, client: &mut impl Talker) {
    let uri = format!("file://{}", one.folder.path().join("long.txt").display());
    for id in 0..2 {
        client.begin(&json!(id), "resources/read", ModernClient::params(json!({"uri": uri}))).await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let one = One::start_with(json!({"writeTimeout": "4s"})).await;
    one.folder.write("long.txt", "x".repeat(6_000_000));
    let (mut tcp, mut unix) = (one.tcp().await, one.unix().await);
    let (mut websocket, mut sse) = (one.websocket().await, one.sse().await);

    asks_for_much(&one, &mut tcp).await;
    asks_for_much(&one, &mut unix).await;
    asks_for_much(&one, &mut websocket).await;
    asks_for_much(&one, &mut sse).await;

    for kind in ["tcp", "unix", "websocket", "sse"] {
        one.until_open(kind, 0).await;
    }
}

#[tokio::test]
async fn clients_beyond_the_limit_are_refused_and_told_why() {
    let one = One::start_with(json!({"maxConnections": 1})).await;
    let address = one.node.mcp().address;
    let mut first = one.websocket().await;
    first.handshake("2025-11-25").await;

    let websocket = WebSocketClient::request(address, "/ws").send().await;
    let sse = Request::new(address, "GET", "/sse").send().await;
    let mut tcp = one.tcp().await;

    assert_eq!((websocket.status, sse.status), (503, 503));
    assert!(sse.header("retry-after").is_some());
    assert!(tcp.hear().await.unwrap()["error"]["message"].as_str().unwrap().contains("too many clients"));
    tcp.closed().await;
    drop(first);
    one.until_open("websocket", 0).await;
    assert!(one.tcp().await.ask_modern("server/discover", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn requests_of_one_connection_beyond_the_limit_are_refused() {
    let one = One::start_with(json!({"maxRequestsPerConnection": 2})).await;
    let mut client: LineClient = one.tcp().await;
    let params = || ModernClient::params(json!({"notifications": {"toolsListChanged": true}}));
    for id in ["a", "b"] {
        client.begin(&json!(id), "subscriptions/listen", params()).await;
        client.notified("notifications/subscriptions/acknowledged").await;
    }

    client.begin(&json!("c"), "subscriptions/listen", params()).await;
    let refused = client.response(&json!("c")).await;
    client.cancel(&json!("a")).await;
    client.begin(&json!("d"), "subscriptions/listen", params()).await;

    assert!(refused["error"]["message"].as_str().unwrap().contains("on this connection"), "{refused}");
    client.notified("notifications/subscriptions/acknowledged").await;
}

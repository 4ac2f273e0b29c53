//! WebSocket: the upgrade, frames, and close codes.

use serde_json::json;
use switchyard_tests::{Opcode, Talker, WebSocketClient};

use crate::One;

#[tokio::test]
async fn it_is_at_its_own_address_and_an_upgrade_of_the_others() {
    let one = One::start().await;
    for path in ["/ws", "/mcp", "/"] {
        let mut client = WebSocketClient::connect(one.node.mcp().address, path).await;

        assert_eq!(client.subprotocol.as_deref(), Some("mcp"), "{path}");
        assert_eq!(client.handshake("2025-11-25").await["protocolVersion"], "2025-11-25");
    }
}

#[tokio::test]
async fn the_subprotocol_is_chosen_where_it_is_offered_and_only_there() {
    let one = One::start().await;
    let request = || WebSocketClient::request(one.node.mcp().address, "/ws");

    let among_others = request().header("Sec-WebSocket-Protocol", "chat, mcp");
    let none = request().without("Sec-WebSocket-Protocol");

    assert_eq!(WebSocketClient::upgrade(among_others).await.subprotocol.as_deref(), Some("mcp"));
    assert_eq!(WebSocketClient::upgrade(none).await.subprotocol, None);
}

#[tokio::test]
async fn a_foreign_page_or_name_is_refused_before_the_upgrade() {
    let one = One::start().await;
    for path in ["/ws", "/mcp", "/"] {
        let request = || WebSocketClient::request(one.node.mcp().address, path);

        let page = request().header("Origin", "https://evil.example").send().await;
        let name = request().header("Host", "evil.example").send().await;
        let own = WebSocketClient::upgrade(request().header("Origin", "http://localhost:5173")).await;

        assert_eq!((page.status, name.status), (403, 403), "{path}");
        assert_eq!(own.subprotocol.as_deref(), Some("mcp"));
    }
}

#[tokio::test]
async fn a_request_that_is_no_upgrade_is_told_so() {
    let one = One::start().await;
    let request = || WebSocketClient::request(one.node.mcp().address, "/ws");

    let plain = request().without("Upgrade").without("Connection").send().await;
    let no_key = request().without("Sec-WebSocket-Key").send().await;
    let old = request().header("Sec-WebSocket-Version", "8").send().await;

    assert_eq!((plain.status, no_key.status, old.status), (426, 400, 426));
    assert_eq!(old.header("sec-websocket-version"), Some("13"));
}

/// A message of exactly this many bytes.
fn padded(size: usize) -> String {
    let message =
        |padding: &str| json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"p": padding}}).to_string();
    message(&"x".repeat(size - message("").len()))
}

#[tokio::test]
async fn messages_go_up_to_the_limit_for_bodies_in_one_frame_or_many() {
    const LIMIT: usize = 4 * 1024 * 1024;
    let one = One::start().await;
    let message = padded(LIMIT);
    let mut client = one.websocket().await;

    client.say(&message).await;
    assert_eq!(client.hear().await.unwrap()["result"], json!({}));

    let parts: Vec<_> = message.as_bytes().chunks(100_000).collect();
    for (index, part) in parts.iter().enumerate() {
        let opcode = if index == 0 { Opcode::Text } else { Opcode::Continuation };
        client.send(opcode, index + 1 == parts.len(), part).await;
        client.send(Opcode::Ping, true, b"between").await;
    }
    assert_eq!(client.hear().await.unwrap()["result"], json!({}));
}

#[tokio::test]
async fn a_message_above_the_limit_closes_with_1009() {
    let one = One::start_with(json!({"maxBodyBytes": 1000})).await;

    let mut whole = one.websocket().await;
    whole.say(&padded(1001)).await;
    let mut in_parts = one.websocket().await;
    in_parts.send(Opcode::Text, false, padded(1000).as_bytes()).await;
    in_parts.send(Opcode::Continuation, false, b" ").await;

    assert_eq!(whole.close_code().await, Some(1009));
    assert_eq!(in_parts.close_code().await, Some(1009));
}

#[tokio::test]
async fn a_frame_above_the_limit_is_refused_at_its_head() {
    let one = One::start().await;
    let mut client = one.websocket().await;

    client.announce(Opcode::Text, 1 << 40).await;

    assert_eq!(client.close_code().await, Some(1009));
}

#[tokio::test]
async fn what_is_no_text_message_closes_with_the_code_for_it() {
    let one = One::start().await;
    for (opcode, payload, code) in [
        (Opcode::Binary, &b"{}"[..], 1003),
        (Opcode::Text, b"\"\xff\"", 1007),
        (Opcode::Continuation, b"{}", 1002),
        (Opcode::Close, &1000_u16.to_be_bytes(), 1000),
        (Opcode::Close, &4000_u16.to_be_bytes(), 4000),
        (Opcode::Close, b"", 1000),
    ] {
        let mut client = one.websocket().await;

        client.send(opcode, true, payload).await;

        assert_eq!(client.close_code().await, Some(code), "{opcode:?} {payload:?}");
        assert_eq!(client.frame().await, None, "the connection is closed");
    }
}

#[tokio::test]
async fn text_that_is_no_message_is_answered_and_ends_nothing() {
    let one = One::start().await;
    let mut client = one.websocket().await;
    client.handshake("2025-11-25").await;

    for (text, code) in [("nonsense", -32700), ("", -32700), ("[]", -32600), ("{}", -32600)] {
        client.say(text).await;
        assert_eq!(client.hear().await.unwrap()["error"]["code"], code, "{text}");
    }
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn pings_are_answered_with_what_they_carry() {
    let one = One::start().await;
    let mut client = one.websocket().await;

    client.send(Opcode::Ping, true, b"are you there").await;

    assert_eq!(client.frame().await, Some((Opcode::Pong, b"are you there".to_vec())));
}

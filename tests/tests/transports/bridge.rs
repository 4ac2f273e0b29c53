//! `switchyard stdio --connect URL`.

use serde_json::json;
use switchyard_tests::{
    Asked, Backend, Cluster, Folder, ModernClient, Revision, Scripted, Shape, StdioClient, Talker, meta,
};

use crate::{One, held_by};

/// A bridge to `url`, with nothing of its own to serve.
fn bridge(url: &str) -> StdioClient {
    StdioClient::start_with(&Folder::empty(), &["--connect", url])
}

#[tokio::test]
async fn a_client_of_each_revision_talks_to_a_server_elsewhere() {
    let one = One::start().await;
    for revision in Revision::ALL {
        let mut client = bridge(&one.node.mcp().to_string());

        let handshake = client.handshake(revision.date()).await;
        let call = client.ask("tools/call", json!({"name": "checkDiskSpace", "arguments": {"path": "/"}})).await;
        let modern = client.ask_modern("tools/call", json!({"name": "search", "arguments": {"query": "tracks"}})).await;

        assert_eq!(handshake["protocolVersion"], revision.date());
        assert!(call["result"]["content"].is_array(), "{call}");
        assert_eq!(modern["result"]["resultType"], "complete", "{modern}");
        assert_eq!(client.close().await.code, Some(0));
    }
}

#[tokio::test]
async fn news_of_a_session_and_of_a_stateless_stream_come_through() {
    let one = One::start().await;
    let mut client = bridge(&one.node.mcp().to_string());
    client.handshake("2025-11-25").await;
    let uri = client.uri_of("plan.md").await;
    client.ask("resources/subscribe", json!({"uri": uri})).await;
    let params = ModernClient::params(json!({"notifications": {"resourceSubscriptions": [uri]}}));
    client.begin(&json!("s"), "subscriptions/listen", params).await;
    client.notified("notifications/subscriptions/acknowledged").await;

    one.folder.write("plan.md", "changed");

    let updates = [
        client.notified("notifications/resources/updated").await,
        client.notified("notifications/resources/updated").await,
    ];
    let tags: Vec<_> = updates.iter().map(|update| &update["params"]["_meta"][meta("subscriptionId")]).collect();
    assert!(tags.contains(&&json!("s")) && tags.contains(&&json!(null)), "{updates:?}");
}

#[tokio::test]
async fn a_call_is_cancelled_from_line_to_tool_in_both_eras() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let mut client = bridge(&one.node.mcp().to_string());
    client.handshake("2025-11-25").await;
    for params in [held_by(&backend), ModernClient::params(held_by(&backend))] {
        client.begin(&json!("x"), "tools/call", params).await;
        let held = backend.next_request().await;

        client.cancel(&json!("x")).await;

        held.given_up().await;
        client.begin(&json!("y"), "ping", json!({})).await;
        assert_eq!(client.hear().await.unwrap()["id"], "y");
    }
}

#[tokio::test]
async fn a_session_outlives_the_gateway_that_it_was_opened_at() {
    let mut cluster = Cluster::start(Shape::default()).await;
    let balancer = cluster.balancer().await;
    let mut client = bridge(&balancer.mcp().to_string());
    client.handshake("2025-11-25").await;
    let uri = client.uri_of("plan.md").await;
    client.ask("resources/subscribe", json!({"uri": uri})).await;

    cluster.gateways.remove(0).kill().await;

    for _ in 0..4 {
        assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    }
    cluster.folder.write("plan.md", "changed");
    assert_eq!(client.notified("notifications/resources/updated").await["params"]["uri"], uri);
}

/// A client in a session of this scripted server.
async fn in_session(server: &Scripted) -> StdioClient {
    let mut client = bridge(&server.url()).relayed();
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    client.begin(&json!(0), "initialize", params).await;
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-session-id"), None);
    assert_eq!(asked.header("accept"), Some("application/json, text/event-stream"));
    let result = json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-06-18", "capabilities": {}}});
    let headers = [("Content-Type", "application/json"), ("Mcp-Session-Id", "abc")];
    asked.answer(200, &headers, &result.to_string()).await;
    assert_eq!(client.hear().await.unwrap(), result);
    client
}

/// Ends the handshake, and returns the request for the session's own stream.
async fn initialized(client: &mut StdioClient, server: &Scripted) -> Asked {
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
    server.next().await.answer(202, &[], "").await;
    server.next().await
}

#[tokio::test]
async fn a_session_is_named_in_each_request_and_ended_with_the_input() {
    let server = Scripted::start().await;
    let mut client = in_session(&server).await;
    let standing = initialized(&mut client, &server).await;

    assert_eq!((standing.method.as_str(), standing.header("mcp-session-id")), ("GET", Some("abc")));
    assert_eq!(standing.header("mcp-protocol-version"), Some("2025-06-18"));
    let mut stream = standing.stream().await;
    stream.send("data: {\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"method\":\"ping\"}\n\n").await;
    assert_eq!(client.hear().await.unwrap()["id"], "q1");
    client.say(&json!({"jsonrpc": "2.0", "id": "q1", "result": {}}).to_string()).await;
    let answer = server.next().await;
    assert_eq!((answer.header("mcp-session-id"), &answer.body["id"]), (Some("abc"), &json!("q1")));
    answer.answer(202, &[], "").await;

    let (finished, deleted) = tokio::join!(client.close(), async {
        let deleted = server.next().await;
        let named = (deleted.method.clone(), deleted.header("mcp-session-id").map(str::to_owned));
        deleted.answer(204, &[], "").await;
        named
    });

    assert_eq!(deleted, ("DELETE".into(), Some("abc".into())));
    assert_eq!(finished.code, Some(0));
    stream.given_up().await;
}

#[tokio::test]
async fn the_stream_of_a_session_is_opened_again_where_it_broke_off() {
    let server = Scripted::start().await;
    let mut client = in_session(&server).await;
    let mut stream = initialized(&mut client, &server).await.stream().await;
    stream.send("id: e7\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n").await;
    assert_eq!(client.hear().await.unwrap()["method"], "a");

    drop(stream);
    let again = server.next().await;

    assert_eq!((again.method.as_str(), again.header("last-event-id")), ("GET", Some("e7")));
    let mut stream = again.stream().await;
    stream.send("data: {\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n\n").await;
    assert_eq!(client.hear().await.unwrap()["method"], "b");
}

#[tokio::test]
async fn an_answer_that_broke_off_is_taken_up_where_it_did_or_fails_clearly() {
    let server = Scripted::start().await;
    let mut client = in_session(&server).await;

    client.begin(&json!(1), "tools/call", json!({"name": "a"})).await;
    let mut stream = server.next().await.stream().await;
    stream.send("id: e1\nretry: 10\ndata:\n\n").await;
    drop(stream);
    let again = server.next().await;
    assert_eq!((again.method.as_str(), again.header("last-event-id")), ("GET", Some("e1")));
    let mut stream = again.stream().await;
    stream.send("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n").await;
    assert_eq!(client.response(&json!(1)).await["result"], json!({}));

    client.begin(&json!(2), "tools/call", json!({"name": "a"})).await;
    drop(server.next().await.stream().await);
    let failed = client.response(&json!(2)).await;
    assert_eq!((&failed["error"]["code"], &failed["error"]["data"]["outcome"]), (&json!(-32603), &json!("unknown")));
}

#[tokio::test]
async fn what_http_says_is_the_error_of_the_request() {
    let server = Scripted::start().await;
    let mut client = in_session(&server).await;
    let said = r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"no such tool","data":{"x":1}}}"#;

    for (status, body, code, message) in [
        (400, said, -32602, "no such tool"),
        (503, "<html>busy</html>", -32603, "503"),
        (302, "", -32603, "302"),
        (200, "", -32603, "no message"),
    ] {
        client.begin(&json!("x"), "tools/call", json!({"name": "a"})).await;
        server.next().await.answer(status, &[("Content-Type", "application/json")], body).await;

        let failed = client.response(&json!("x")).await;
        assert_eq!(failed["error"]["code"], code, "{failed}");
        assert!(failed["error"]["message"].as_str().unwrap().contains(message), "{failed}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error_of_each_request() {
    let mut client = bridge("http://127.0.0.1:1/mcp");

    let failed = client.ask("initialize", json!({})).await;

    assert!(failed["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{failed}");
    assert_eq!(client.close().await.code, Some(0));
}

#[tokio::test]
async fn a_session_that_the_server_gave_up_ends_the_bridge() {
    let server = Scripted::start().await;
    let mut client = in_session(&server).await;

    client.begin(&json!(1), "tools/list", json!({})).await;
    server.next().await.answer(404, &[], "").await;
    let failed = client.response(&json!(1)).await;
    let (finished, ()) = tokio::join!(client.close(), async { server.next().await.answer(404, &[], "").await });

    assert_eq!(failed["error"]["code"], -32603);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("gave the session up"), "{}", finished.stderr);
}

#[tokio::test]
async fn a_stateless_request_carries_what_it_says_in_its_headers_and_no_session() {
    let server = Scripted::start().await;
    let mut client = in_session(&server).await;
    let schema = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});

    client.begin(&json!(1), "tools/list", ModernClient::params(json!({}))).await;
    server.next().await.result(json!({"tools": [{"name": "weather 天気", "inputSchema": schema}]})).await;
    client.response(&json!(1)).await;
    let params = json!({"name": "weather 天気", "arguments": {"region": "eu"}});
    client.begin(&json!(2), "tools/call", ModernClient::params(params)).await;
    let asked = server.next().await;

    assert_eq!(asked.header("mcp-session-id"), None);
    assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(asked.header("mcp-method"), Some("tools/call"));
    assert_eq!(asked.header("mcp-name"), Some("=?base64?d2VhdGhlciDlpKnmsJc=?="));
    assert_eq!(asked.header("mcp-param-region"), Some("eu"));
    asked.result(json!({"resultType": "complete"})).await;
    assert_eq!(client.response(&json!(2)).await["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_url_that_is_none_is_refused_at_once() {
    for url in ["mcp.example.com", "ftp://mcp.example.com"] {
        let finished = bridge(url).close().await;

        assert_eq!(finished.code, Some(1));
        assert!(finished.stderr.contains("no http or https URL"), "{}", finished.stderr);
    }
}

//! Every message that a client of these tests hears is judged by the revision that it was sent in.

use serde_json::{Value, json};
use switchyard_tests::{Call, Endpoint, LegacyClient, LineClient, ModernClient, Revision, Scripted, SseClient, Talker};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

/// What a part of a test panics with.
async fn failure(part: impl Future<Output = ()> + Send + 'static) -> String {
    let panic = tokio::spawn(part).await.expect_err("it was taken for right").into_panic();
    panic.downcast::<String>().map_or_else(|_| "no words".to_owned(), |words| *words)
}

fn answer(id: i64, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// A session of this revision at a server that the test plays.
async fn session(server: &Scripted, revision: Revision) -> LegacyClient {
    let endpoint = Endpoint::parse(&server.url());
    let serve = async {
        let info = json!({"protocolVersion": revision.date(), "capabilities": {},
            "serverInfo": {"name": "s", "version": "1"}});
        let headers = [("Content-Type", "application/json"), ("Mcp-Session-Id", revision.date())];
        server.next().await.answer(200, &headers, &answer(0, &info)).await;
        server.next().await.answer(202, &[], "").await;
    };
    tokio::join!(LegacyClient::connect(&endpoint, revision), serve).0
}

/// One end of a connection whose other end says these lines to a client of this handshake.
async fn saying(line: String) -> std::net::SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    // Ends with what it has to say, or with the test.
    tokio::spawn(async move {
        let (mut client, _): (TcpStream, _) = listener.accept().await.expect("a client comes");
        client.write_all(line.as_bytes()).await.expect("the client reads");
        std::future::pending::<()>().await;
    });
    address
}

#[tokio::test]
async fn a_json_body_is_judged_by_the_revision_of_its_session() {
    let server = Scripted::start().await;
    for (revision, is_right) in [(Revision::R2, false), (Revision::R3, true)] {
        let client = session(&server, revision).await;
        let tools = json!({"tools": [{"name": "t", "title": "T", "inputSchema": {"type": "object"}}]});
        let call = tokio::spawn(async move {
            client.request("tools/list", json!({})).await;
        });
        server.next().await.result(tools).await;

        let failed = call.await.err().map(|panic| *panic.into_panic().downcast::<String>().expect("it says why"));

        let Some(failed) = failed else {
            assert!(is_right, "{revision:?} has no titles");
            continue;
        };
        assert!(!is_right, "{failed}");
        assert!(failed.contains("2025-03-26 does not allow in answer to `tools/list`"), "{failed}");
        assert!(failed.contains("at `/result/tools/0`") && failed.contains("'title' was unexpected"), "{failed}");
    }
}

#[tokio::test]
async fn an_event_is_judged_whether_a_test_looks_at_it_or_not() {
    let server = Scripted::start().await;
    let client = session(&server, Revision::R4).await;
    let call = failure(async move {
        client.request("tools/call", json!({"name": "t"})).await;
    });
    let (failed, _stream) = tokio::join!(call, async {
        let mut stream = server.next().await.stream().await;
        stream.send("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n").await;
        stream
    });

    assert!(failed.contains("2025-11-25 does not allow") && failed.contains("at `/params`"), "{failed}");
}

#[tokio::test]
async fn a_stateless_answer_is_judged_as_one_even_beside_a_session() {
    let server = Scripted::start().await;
    let client = ModernClient::new(&Endpoint::parse(&server.url()));
    let call = failure(async move {
        client.request("tools/call", json!({"name": "t"})).await;
    });
    let (failed, ()) = tokio::join!(call, async { server.next().await.result(json!({"content": []})).await });
    assert!(failed.contains("2026-07-28 does not allow in answer to `tools/call`"), "{failed}");
    assert!(failed.contains("\"resultType\" is a required property"), "{failed}");

    let info =
        json!({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
    let address = saying(format!("{}\n{}\n", answer(1, &info), answer(2, &json!({})))).await;
    let mixed = failure(async move {
        let mut client = LineClient::tcp(address).await;
        client.ask("initialize", json!({})).await;
        client.ask_modern("server/discover", json!({})).await;
    });
    assert!(mixed.await.contains("2026-07-28 does not allow in answer to `server/discover`"));
}

#[tokio::test]
async fn a_line_is_judged_and_so_is_what_nobody_asked_for() {
    let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
    for (line, why) in [
        (answer(7, &json!({})), "is the id of no request"),
        (null.to_owned(), "at `/id`"),
        (r#"{"jsonrpc":"2.0","id":"q","method":"tasks/create"}"#.to_owned(), "no server asks `tasks/create`"),
        (r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#.to_owned(), "no batches"),
    ] {
        let address = saying(line + "\n").await;

        let failed = failure(async move {
            LineClient::tcp(address).await.hear().await;
        });

        let failed = failed.await;
        assert!(failed.contains(why), "{failed}");
    }
}

#[tokio::test]
async fn each_message_of_a_batch_is_judged_by_the_request_that_it_answers() {
    let server = Scripted::start().await;
    let client = session(&server, Revision::R2).await;
    let ask = |id: i64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method});
    let batch = json!([ask(1, "ping"), ask(2, "tools/list")]);
    let (empty, tools) = (json!({}), json!({"tools": []}));
    for (first, second, why) in [(&empty, &tools, None), (&empty, &empty, Some("in answer to `tools/list`"))] {
        let post = tokio::spawn(client.post(&batch).send());
        let body = format!("[{},{}]", answer(1, first), answer(2, second));
        server.next().await.answer(200, &[("Content-Type", "application/json")], &body).await;
        let response = post.await.expect("it is answered");

        let failed = tokio::spawn(response.json()).await.err();

        let failed = failed.map(|panic| *panic.into_panic().downcast::<String>().expect("it says why"));
        assert_eq!(failed.as_ref().is_some(), why.is_some(), "{failed:?}");
        assert!(failed.unwrap_or_default().contains(why.unwrap_or_default()));
    }
}

#[tokio::test]
async fn the_stream_of_http_sse_is_judged_by_what_was_posted_for_it() {
    let server = Scripted::start().await;
    let address = Endpoint::parse(&server.url()).address;
    let listen = tokio::spawn(async move { SseClient::connect(address, "/sse").await });
    let mut stream = server.next().await.stream().await;
    stream.send("event: endpoint\ndata: /messages?session_id=of-this-test\n\n").await;
    let mut client = listen.await.expect("it is let in");
    let post = client.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).send();
    let (posted, ()) = tokio::join!(post, async { server.next().await.answer(202, &[], "").await });
    assert_eq!(posted.status, 202);

    stream.send(&format!("event: message\ndata: {}\n\n", answer(1, &json!({"resultType": "complete"})))).await;
    let failed = failure(async move {
        client.hear().await;
    });

    let failed = failed.await;
    assert!(failed.contains("in answer to `ping`") && failed.contains("resultType"), "{failed}");
}

#[tokio::test]
async fn an_answer_that_is_taken_up_by_hand_is_judged_too() {
    let server = Scripted::start().await;
    let client = ModernClient::new(&Endpoint::parse(&server.url()));
    let request = client.post(&json!(5), "nobody/knows", json!({}));
    let call = failure(async move {
        Call::new(json!(5), request.send().await).await;
    });
    let (failed, ()) = tokio::join!(call, async {
        let body = r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32022,"message":"no"}}"#;
        server.next().await.answer(400, &[("Content-Type", "application/json")], body).await;
    });

    assert!(failed.contains("\"data\" is a required property"), "{failed}");
}

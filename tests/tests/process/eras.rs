//! One endpoint, both eras: how a request is told to be of one or the other.

use serde_json::{Value, json};
use switchyard_tests::{Backend, Call, LegacyClient, MODERN, ModernClient, Revision, meta};

use crate::One;

#[tokio::test]
async fn both_eras_are_served_at_the_same_time() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let status = || json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}});
    let (legacy, modern) = (one.legacy(Revision::R4).await, one.modern());

    let calls = async { tokio::join!(legacy.request("tools/call", status()), modern.request("tools/call", status())) };
    let answers = async {
        // Neither is answered before both run.
        let (first, second) = (backend.next_request().await, backend.next_request().await);
        first.answer().await;
        second.answer().await;
    };
    let ((legacy, modern), ()) = tokio::join!(calls, answers);

    assert_eq!(legacy.result().get("resultType"), None, "{}", legacy.message);
    assert_eq!(modern.result()["resultType"], "complete", "{}", modern.message);
    assert_eq!(modern.result()["structuredContent"]["statusCode"], legacy.result()["structuredContent"]["statusCode"]);
}

#[tokio::test]
async fn field_case_15_a_stateless_request_needs_no_session() {
    let one = One::start().await;

    let reply = one.modern().request("tools/list", json!({})).await;

    assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
}

#[tokio::test]
async fn a_session_header_on_a_stateless_request_is_ignored() {
    let one = One::start().await;
    let session = one.legacy(Revision::R4).await;
    let request = || one.modern().post(&json!(1), "tools/list", json!({}));

    for id in ["stale-session", session.session()] {
        let reply = Call::new(json!(1), request().header("Mcp-Session-Id", id).send().await).await.finish().await;

        assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
        assert_eq!(reply.result()["resultType"], "complete");
    }
}

#[tokio::test]
async fn a_stateless_initialize_does_not_exist() {
    let one = One::start().await;
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});

    let reply = one.modern().request("initialize", params).await;

    assert_eq!(reply.refusal(), (404, -32601));
}

#[tokio::test]
async fn the_modern_header_alone_asks_for_the_modern_ladder() {
    let one = One::start().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let request = one.mcp().request("POST").header("MCP-Protocol-Version", MODERN).json(&body);

    let reply = Call::new(json!(1), request.send().await).await.finish().await;

    assert_eq!(reply.refusal(), (400, -32602));
}

#[tokio::test]
async fn a_version_that_nobody_knows_is_answered_for_both_eras() {
    let one = One::start().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let request = one.mcp().request("POST").header("MCP-Protocol-Version", "2099-01-01").json(&body);

    let reply = Call::new(json!(1), request.send().await).await.finish().await;

    assert_eq!(reply.refusal(), (400, -32022));
    assert_eq!(reply.error().data["requested"], "2099-01-01");
    assert!(reply.error().data["supported"].as_array().unwrap().contains(&json!(MODERN)));
}

#[tokio::test]
async fn a_request_that_says_nothing_of_itself_needs_a_session() {
    let one = One::start().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});

    for version in [None, Some("2025-03-26"), Some("2025-11-25")] {
        let request = one.mcp().request("POST").json(&body);
        let request =
            version.into_iter().fold(request, |request, version| request.header("MCP-Protocol-Version", version));

        let response = request.send().await;

        assert_eq!(response.status, 400, "{version:?}");
        let error = &response.json().await["error"];
        assert!(error["message"].as_str().unwrap().to_lowercase().contains("session"), "{error}");
    }
}

#[tokio::test]
async fn a_modern_notification_is_taken_and_an_answer_is_not() {
    let one = One::start().await;
    let modern = |body: &Value| one.mcp().request("POST").header("MCP-Protocol-Version", MODERN).json(body);
    let params = ModernClient::params(json!({"requestId": 1}));

    let notified =
        modern(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).send().await;
    let bare = modern(&json!({"jsonrpc": "2.0", "method": "notifications/anything"})).send().await;
    let answered = modern(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})).send().await;

    assert_eq!((notified.status, bare.status), (202, 202));
    assert_eq!(notified.bytes().await, b"");
    assert_eq!(answered.status, 400);
    assert_eq!(answered.json().await["error"]["code"], -32600);
}

#[tokio::test]
async fn field_case_77_a_probe_is_answered_in_words_that_tell_the_era() {
    let one = One::start().await;

    let probe = one.modern().request("server/discover", json!({})).await;
    let handshake = LegacyClient::handshake(&one.mcp(), Revision::R4).await;
    let params = ModernClient::params(json!({"_meta": {meta("protocolVersion"): "2099-01-01"}}));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params});
    let newer = one.modern().post(&json!(1), "server/discover", json!({})).json(&body);
    let newer =
        Call::new(json!(1), newer.header("MCP-Protocol-Version", "2099-01-01").send().await).await.finish().await;

    assert_eq!(probe.result()["supportedVersions"][0], MODERN);
    assert_eq!(handshake.handshake["protocolVersion"], "2025-11-25");
    assert_eq!(newer.refusal(), (400, -32022), "a code that says modern");
}

//! What a POST may hold: JSON-RPC messages, and everything that is none.

use serde_json::{Value, json};
use switchyard_tests::{Call, LegacyClient, Revision, RpcError};

use crate::One;

#[tokio::test]
async fn a_notification_and_a_stray_answer_are_taken_without_a_word() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": "none", "progress": 1}}),
            json!({"jsonrpc": "2.0", "method": "notifications/nobody/knows"}),
            json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
            json!({"jsonrpc": "2.0", "id": "x", "error": {"code": -1, "message": "no"}}),
        ] {
            let response = client.post(&message).send().await;

            assert_eq!(response.status, 202, "{revision:?} {message}");
            assert_eq!(response.bytes().await, b"");
        }
    }
}

#[tokio::test]
async fn a_notification_outside_a_session_is_refused() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});

        let unnamed = client.post(&message).without("Mcp-Session-Id").send().await;
        let unknown = client.post(&message).header("Mcp-Session-Id", "never-was").send().await;

        assert_eq!((unnamed.status, unknown.status), (400, 404), "{revision:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_a_parse_error_without_an_id() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        for body in ["", "{", "nonsense", "{\"jsonrpc\": \"2.0\",}", "\u{feff}[", "{\"a\":1} {\"b\":2}"] {
            let response = client.post(&Value::Null).body(body).send().await;

            assert_eq!(response.status, 400, "{revision:?} `{body}`");
            let answer = response.json().await;
            assert_eq!(RpcError::of(&answer["error"]).code, -32700, "`{body}`: {answer}");
            assert_eq!(answer.get("id"), None, "{answer}");
        }
        assert_eq!(client.request("ping", json!({})).await.status, 200);
    }
}

#[tokio::test]
async fn bytes_that_are_no_utf8_are_a_parse_error() {
    let one = One::start().await;
    let client = one.legacy(Revision::R4).await;

    let response =
        client.post(&Value::Null).body(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\"}".to_vec()).send().await;

    assert_eq!(response.status, 400);
    assert_eq!(response.json().await["error"]["code"], -32700);
}

#[tokio::test]
async fn json_that_is_no_json_rpc_is_an_invalid_request() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        for body in [
            json!(7),
            json!("ping"),
            json!(null),
            json!({}),
            json!({"id": 1, "method": "ping"}),
            json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1}),
            json!({"jsonrpc": "2.0", "id": 1, "method": 7}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 7}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}),
        ] {
            let response = client.post(&body).send().await;

            assert_eq!(response.status, 400, "{revision:?} {body}");
            let answer = response.json().await;
            assert_eq!(RpcError::of(&answer["error"]).code, -32600, "{body}: {answer}");
        }
    }
}

#[tokio::test]
async fn what_json_rpc_calls_a_failure_is_http_200() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        for (method, params, code) in [
            ("nobody/knows", json!({}), -32601),
            ("tools/call", json!({"name": "nobodyKnows", "arguments": {}}), -32602),
            ("tools/call", json!({"arguments": {}}), -32602),
            ("tools/call", json!({"name": 7}), -32602),
            ("prompts/get", json!({"name": "nobody-knows"}), -32602),
            ("resources/read", json!({}), -32602),
            ("resources/read", json!({"uri": "file:///nowhere/at/all"}), -32002),
            ("server/discover", json!({}), -32601),
            ("subscriptions/listen", json!({"notifications": {}}), -32601),
        ] {
            let reply = client.request(method, params.clone()).await;

            assert_eq!(reply.refusal(), (200, code), "{revision:?} {method} {params}: {}", reply.message);
        }
    }
}

#[tokio::test]
async fn members_that_nobody_knows_are_passed_over() {
    let one = One::start().await;
    let client = one.legacy(Revision::R4).await;
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list", "extra": {"deep": [1, 2]},
        "params": {"unknown": true, "_meta": {"com.example/note": "hello"}}});

    let reply = Call::new(json!(5), client.post(&body).send().await).await.finish().await;

    assert!(reply.result()["tools"].is_array());
}

#[tokio::test]
async fn a_session_of_any_revision_may_be_opened_beside_all_others() {
    let one = One::start().await;

    let mut clients = Vec::new();
    for revision in Revision::ALL {
        clients.push(LegacyClient::connect(&one.mcp(), revision).await);
    }

    for client in &clients {
        let tools = client.request("tools/list", json!({})).await;
        let has_titles = tools.result()["tools"].as_array().unwrap().iter().any(|tool| tool.get("title").is_some());
        assert_eq!(has_titles, client.revision() >= Revision::R3, "{:?}", client.revision());
    }
}

//! The order in which a modern request is checked: of two faults the earlier step's is told.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use switchyard_tests::{Call, MODERN, ModernClient, Reply, Request, meta};

use crate::One;

/// A correct request to spoil.
fn list(one: &One) -> Request {
    one.modern().post(&json!("the id"), "tools/list", json!({}))
}

/// The same request with other `params`.
fn with_params(one: &One, params: &Value) -> Request {
    list(one).json(&json!({"jsonrpc": "2.0", "id": "the id", "method": "tools/list", "params": params}))
}

/// Sends it; every answer must echo the id.
async fn answer(request: Request) -> Reply {
    let reply = Call::new(json!("the id"), request.send().await).await.finish().await;
    assert_eq!(reply.message["id"], "the id", "{}", reply.message);
    reply
}

#[tokio::test]
async fn a_correct_request_is_answered() {
    let one = One::start().await;

    let reply = answer(list(&one)).await;

    assert_eq!((reply.status, &reply.result()["resultType"]), (200, &json!("complete")));
}

#[tokio::test]
async fn step_1_a_foreign_origin_comes_before_everything() {
    let one = One::start().await;

    for request in [list(&one), list(&one).body("nonsense"), list(&one).header("Content-Type", "text/plain")] {
        assert_eq!(request.header("Origin", "https://evil.example").send().await.status, 403);
    }
}

#[tokio::test]
async fn step_2_only_post_is_served() {
    let one = One::start().await;

    for verb in ["GET", "PUT", "PATCH"] {
        let response = one.mcp().request(verb).header("MCP-Protocol-Version", MODERN).send().await;

        assert_eq!(response.status, 405, "{verb}");
        assert!(response.header("allow").is_some_and(|allowed| allowed.contains("POST")), "{verb}");
    }
    let delete = one.mcp().request("DELETE").header("MCP-Protocol-Version", MODERN).send().await;
    assert!(matches!(delete.status, 400 | 405), "{}", delete.status);
}

#[tokio::test]
async fn step_4_the_body_is_one_json_rpc_message() {
    let one = One::start().await;
    let params = ModernClient::params(json!({}));

    assert_eq!(list(&one).header("Content-Type", "text/plain").send().await.status, 415);
    for (body, code) in [
        ("{".to_owned(), -32700),
        ("nonsense".to_owned(), -32700),
        ("7".to_owned(), -32600),
        ("[]".to_owned(), -32600),
        (json!({"jsonrpc": "1.0", "id": 1, "method": "tools/list", "params": params}).to_string(), -32600),
        (json!({"id": 1, "method": "tools/list", "params": params}).to_string(), -32600),
    ] {
        let response = list(&one).without("MCP-Protocol-Version").body(body.clone()).send().await;

        assert_eq!(response.status, 400, "{body}");
        assert_eq!(response.json().await["error"]["code"], code, "{body}");
    }
}

#[tokio::test]
async fn step_5_the_version_header_is_required() {
    let one = One::start().await;

    let reply = answer(list(&one).without("MCP-Protocol-Version").without("Mcp-Method")).await;

    assert_eq!(reply.refusal(), (400, -32020));
}

#[tokio::test]
async fn step_6_every_request_describes_itself() {
    let one = One::start().await;
    let complete = ModernClient::params(json!({}));

    let no_params = list(&one).json(&json!({"jsonrpc": "2.0", "id": "the id", "method": "tools/list"}));
    assert_eq!(answer(no_params).await.refusal(), (400, -32602));
    assert_eq!(answer(with_params(&one, &json!({}))).await.refusal(), (400, -32602));
    for missing in ["protocolVersion", "clientCapabilities"] {
        let mut params = complete.clone();
        params["_meta"].as_object_mut().unwrap().remove(&meta(missing));

        let reply = answer(with_params(&one, &params).without("Mcp-Method")).await;

        assert_eq!(reply.refusal(), (400, -32602), "without {missing}");
        assert!(reply.error().message.contains(missing), "{}", reply.message);
    }
}

#[tokio::test]
async fn step_6_who_the_client_is_need_not_be_told() {
    let one = One::start().await;
    let mut params = ModernClient::params(json!({}));
    params["_meta"].as_object_mut().unwrap().remove(&meta("clientInfo"));

    assert_eq!(answer(with_params(&one, &params)).await.status, 200);
}

#[tokio::test]
async fn step_7_header_and_body_name_the_same_version() {
    let one = One::start().await;
    let params = ModernClient::params(json!({"_meta": {meta("protocolVersion"): "v999"}}));

    let mismatch = answer(with_params(&one, &params)).await;
    let other_way = answer(list(&one).header("MCP-Protocol-Version", "v999")).await;

    assert_eq!((mismatch.refusal(), other_way.refusal()), ((400, -32020), (400, -32020)));
}

#[tokio::test]
async fn step_8_an_unknown_version_is_met_with_the_known_ones() {
    let one = One::start().await;
    let discovered = one.modern().request("server/discover", json!({})).await;
    let known = discovered.result()["supportedVersions"].as_array().unwrap().clone();
    let params = ModernClient::params(json!({"_meta": {meta("protocolVersion"): "v999.0.0"}}));

    let request = with_params(&one, &params).header("MCP-Protocol-Version", "v999.0.0").without("Mcp-Method");
    let reply = answer(request).await;

    assert_eq!(reply.refusal(), (400, -32022));
    assert_eq!(reply.error().data["requested"], "v999.0.0");
    let supported = reply.error().data["supported"].as_array().unwrap().clone();
    assert!(supported.contains(&json!(MODERN)) && supported.iter().all(|version| known.contains(version)));
}

#[tokio::test]
async fn step_8_a_version_with_sessions_in_a_stateless_request_is_answered_with_the_stateless_ones() {
    let one = One::start().await;

    for version in ["2025-11-25", "2024-11-05"] {
        let params = ModernClient::params(json!({"_meta": {meta("protocolVersion"): version}}));

        let reply = answer(with_params(&one, &params).header("MCP-Protocol-Version", version)).await;

        assert_eq!(reply.refusal(), (400, -32022), "{version}");
        assert_eq!(reply.error().data, json!({"supported": [MODERN], "requested": version}));
    }
}

#[tokio::test]
async fn step_9_the_method_header_equals_the_method() {
    let one = One::start().await;

    assert_eq!(answer(list(&one).without("Mcp-Method")).await.refusal(), (400, -32020));
    for wrong in ["prompts/list", "TOOLS/LIST", ""] {
        assert_eq!(answer(list(&one).header("Mcp-Method", wrong)).await.refusal(), (400, -32020), "`{wrong}`");
    }
    let unknown = one.modern().post(&json!("the id"), "nobody/knows", json!({}));
    assert_eq!(answer(unknown.without("Mcp-Method")).await.refusal(), (400, -32020), "it comes before step 10");
    for name in ["mcp-method", "MCP-METHOD"] {
        assert_eq!(answer(list(&one).without("Mcp-Method").header(name, "tools/list")).await.status, 200, "{name}");
    }
}

#[tokio::test]
async fn step_9_the_name_header_equals_the_name() {
    let one = One::start().await;
    let modern = one.modern();
    let uri = modern.uri_of("plan.md").await;
    let requests = [
        modern.post(&json!("the id"), "tools/call", json!({"name": "checkDiskSpace", "arguments": {"path": "/"}})),
        modern.post(&json!("the id"), "prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}})),
        modern.post(&json!("the id"), "resources/read", json!({"uri": uri})),
    ];

    for request in requests {
        assert_eq!(answer(request.clone()).await.status, 200, "{request:?}");
        assert_eq!(answer(request.clone().without("Mcp-Name")).await.refusal(), (400, -32020));
        for wrong in ["other", "", "CHECKDISKSPACE"] {
            assert_eq!(answer(request.clone().header("Mcp-Name", wrong)).await.refusal(), (400, -32020), "`{wrong}`");
        }
    }
    let spaced = modern.post(&json!("the id"), "prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}}));
    assert_eq!(answer(spaced.header("Mcp-Name", "   greet  ")).await.status, 200);
    let unneeded = answer(list(&one).header("Mcp-Name", "anything")).await;
    assert_eq!(unneeded.status, 200, "other methods have no name to compare");
}

#[tokio::test]
async fn field_case_76_an_encoded_name_is_decoded_before_it_is_compared() {
    let one = One::start().await;
    let modern = one.modern();
    let uri = format!("file://{}/deep/down/łódź 天気.txt", one.folder.path().display());
    let read =
        |name: &str| modern.post(&json!("the id"), "resources/read", json!({"uri": uri})).header("Mcp-Name", name);
    let encoded = BASE64_STANDARD.encode(&uri);

    let decoded = answer(read(&format!("=?base64?{encoded}?="))).await;
    assert_eq!(decoded.result()["contents"][0]["text"], "names may have any letters\n");
    for bad in [
        format!("=?base64?{encoded}=?="),
        format!("=?base64?{}?=", &encoded[1..]),
        "=?base64?***?=".to_owned(),
        "=?base64??=".to_owned(),
        format!("=?BASE64?{encoded}?="),
        format!("=?base64?{encoded}"),
        format!("=?base64?{}?=", BASE64_STANDARD.encode("file:///another")),
    ] {
        assert_eq!(answer(read(&bad)).await.refusal(), (400, -32020), "{bad}");
    }
}

#[tokio::test]
async fn step_10_a_method_that_is_not_offered_is_not_found() {
    let one = One::start().await;

    for method in [
        "nobody/knows",
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "roots/list",
        "sampling/createMessage",
    ] {
        let reply = answer(one.modern().post(&json!("the id"), method, json!({}))).await;

        assert_eq!(reply.refusal(), (404, -32601), "{method}");
    }
}

#[tokio::test]
async fn step_11_params_that_do_not_fit_are_invalid() {
    let one = One::start().await;
    let modern = one.modern();

    for (method, params) in [
        ("tools/list", json!({"cursor": "garbage"})),
        ("tools/list", json!({"cursor": 7})),
        ("tools/call", json!({"name": "nobodyKnows"})),
        ("tools/call", json!({"name": "checkDiskSpace", "arguments": [1]})),
        ("prompts/get", json!({"name": "nobody-knows"})),
        ("resources/read", json!({"uri": "file:///nowhere/at/all"})),
        ("subscriptions/listen", json!({})),
        ("subscriptions/listen", json!({"notifications": 7})),
        ("tools/list", json!({"_meta": {meta("logLevel"): "loud"}})),
    ] {
        let reply = answer(modern.post(&json!("the id"), method, params.clone())).await;

        assert_eq!(reply.refusal(), (200, -32602), "{method} {params}: {}", reply.message);
    }
}

#[tokio::test]
async fn a_missing_resource_names_its_uri() {
    let one = One::start().await;
    let uri = "file:///nowhere/at/all";

    let reply = one.modern().request("resources/read", json!({"uri": uri})).await;

    assert_eq!((reply.error().code, reply.error().data), (-32602, json!({"uri": uri})));
}

//! Tools: what a call returns, and what a bad one says.

use serde_json::{Value, json};
use switchyard_tests::{Backend, Revision};

use crate::One;

fn tool<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list["tools"].as_array().expect("a list of tools").iter().find(|tool| tool["name"] == name)
}

#[tokio::test]
async fn every_tool_tells_what_it_does_and_takes() {
    let one = One::start().await;

    let reply = one.modern().request("tools/list", json!({})).await;

    for name in ["checkDiskSpace", "checkServiceStatus", "search"] {
        let tool = tool(reply.result(), name).unwrap_or_else(|| panic!("`{name}` is not listed"));
        for member in ["title", "description"] {
            assert!(tool[member].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
        }
        assert_eq!((&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]), (&json!("object"), &json!("object")));
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    assert_eq!(tool(reply.result(), "listProcesses"), None, "it is off unless enabled");
}

#[tokio::test]
async fn a_tool_that_is_off_cannot_be_called() {
    let one = One::start().await;

    let reply = one.modern().request("tools/call", json!({"name": "listProcesses", "arguments": {}})).await;

    assert_eq!(reply.refusal(), (200, -32602));
}

#[tokio::test]
async fn structured_output_comes_beside_text_where_the_revision_has_it() {
    let one = One::start().await;

    let modern = one.modern().call("checkDiskSpace", json!({"path": "/"})).await;
    assert!(modern["structuredContent"].is_object(), "{modern}");
    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let result = client.call("checkDiskSpace", json!({"path": "/"})).await;
        let listed = client.request("tools/list", json!({})).await;
        let listed = tool(listed.result(), "checkDiskSpace").unwrap().clone();

        let structured = revision >= Revision::R3;
        assert_eq!(result["content"][0]["type"], "text", "{revision:?} {result}");
        assert_eq!(result.get("structuredContent").is_some(), structured, "{revision:?} {result}");
        assert_eq!(listed.get("outputSchema").is_some(), structured, "{revision:?}");
        assert_eq!(listed.get("annotations").is_some(), revision >= Revision::R2, "{revision:?}");
        assert_eq!(result.get("resultType"), None);
    }
}

#[tokio::test]
async fn an_argument_that_does_not_fit_is_named_with_what_was_expected() {
    let one = One::start().await;
    let cases = [
        ("search", json!({"query": "x"}), "query", "2"),
        ("search", json!({"query": "plan", "limit": 101}), "limit", "100"),
        ("search", json!({"query": "plan", "limit": "ten"}), "limit", "whole number"),
        ("search", json!({}), "query", "required"),
        ("search", json!({"query": "plan", "limits": 3}), "limits", ""),
    ];

    for (name, arguments, argument, expected) in cases {
        let modern = one.modern().call(name, arguments.clone()).await;
        let newest = one.legacy(Revision::R4).await.call(name, arguments.clone()).await;
        for result in [modern, newest] {
            assert_eq!(result["isError"], true, "{arguments}: {result}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(argument) && text.contains(expected), "{arguments}: {text}");
        }
        for revision in [Revision::R1, Revision::R2, Revision::R3] {
            let params = json!({"name": name, "arguments": arguments});
            let reply = one.legacy(revision).await.request("tools/call", params).await;
            assert!(reply.message.to_string().contains(argument), "{revision:?}: {}", reply.message);
            let refused = reply.message["error"]["code"] == -32602 || reply.message["result"]["isError"] == true;
            assert!(refused, "{revision:?}: {}", reply.message);
        }
    }
}

#[tokio::test]
async fn a_tool_that_ran_and_failed_is_a_result() {
    let one = One::start().await;

    let result = one.modern().call("checkDiskSpace", json!({"path": "/nowhere/at/all"})).await;

    assert_eq!(result["isError"], true, "{result}");
}

#[tokio::test]
async fn search_finds_text_in_served_files() {
    let one = One::start().await;

    let found = one.modern().call("search", json!({"query": "switches"})).await;
    let hidden = one.modern().call("search", json!({"query": "hunter2"})).await;

    assert!(found["structuredContent"].to_string().contains("plan.md"), "{found}");
    assert!(!hidden.to_string().contains(".env"), "{hidden}");
}

#[tokio::test]
async fn progress_comes_on_the_stream_of_its_call_before_the_result() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let params = |token: &str| {
        json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60},
            "_meta": {"progressToken": token}})
    };
    let legacy = one.legacy(Revision::R3).await;
    let modern = one.modern();

    let mut calls = Vec::new();
    let mut held = Vec::new();
    for (token, call) in [
        ("legacy", legacy.start("tools/call", params("legacy")).await),
        ("modern", modern.start("tools/call", params("modern")).await),
    ] {
        calls.push((token, call));
        held.push(backend.next_request().await);
    }

    for (token, call) in &mut calls {
        let first = call.message().await;
        assert_eq!(first["method"], "notifications/progress");
        assert_eq!(first["params"]["progressToken"], *token);
    }
    for request in held {
        request.answer().await;
    }
    for (token, call) in calls {
        let reply = call.finish().await;
        assert!(reply.streamed && reply.result()["isError"] != true, "{}", reply.message);
        let steps: Vec<_> = reply.before.iter().map(|step| step["params"]["progress"].as_f64().unwrap()).collect();
        assert!(steps.is_sorted_by(|before, after| before < after), "progress grows: {steps:?}");
        assert!(reply.before.iter().all(|step| step["params"]["progressToken"] == token));
    }
}

#[tokio::test]
async fn addresses_that_nobody_allowed_are_not_asked() {
    let one = One::start_with(json!({"tools": []})).await;
    let backend = Backend::start().await;

    let port = backend.url("").rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"] {
        let url = format!("http://{host}:{port}/");
        let result = one.modern().call("checkServiceStatus", json!({"serviceUrl": url, "timeout": 60})).await;

        assert_eq!(result["isError"], true, "{url}: {result}");
    }
}

//! How a session is named, lost and ended.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_tests::{Backend, LegacyClient, Response, Revision, eventually};

use crate::One;

/// The statuses of a POST, a GET and a DELETE of this session.
async fn all_verbs(client: &LegacyClient) -> [Response; 3] {
    let post = client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).send().await;
    let get = client.get().send().await;
    let delete = client.delete().await;
    [post, get, delete]
}

#[tokio::test]
async fn field_case_13_an_unknown_session_is_404_and_a_missing_one_400() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});

        for (request, name) in [
            (client.post(&ping), "POST"),
            (client.get(), "GET"),
            (client.get().without("Accept").header("Accept", "*/*"), "GET anything"),
        ] {
            let response = request.header("Mcp-Session-Id", "00000000-never-was").send().await;

            assert_eq!(response.status, 404, "{revision:?} {name}");
            assert!(response.json().await["error"]["code"].is_i64(), "{revision:?} {name}");
        }
        let unnamed = client.post(&ping).without("Mcp-Session-Id").send().await;
        assert_eq!(unnamed.status, 400, "{revision:?}");
        assert!(unnamed.json().await["error"]["code"].is_i64());
    }
}

#[tokio::test]
async fn a_deleted_session_is_gone_for_every_verb() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;

        let deleted = client.delete().await;

        assert!(matches!(deleted.status, 200 | 204), "{}", deleted.status);
        for response in all_verbs(&client).await {
            assert_eq!(response.status, 404, "{revision:?}");
            assert!(response.json().await["error"]["code"].is_i64());
        }
    }
}

#[tokio::test]
async fn deleting_a_session_ends_its_standing_stream() {
    let one = One::start().await;
    let client = one.legacy(Revision::R4).await;
    let mut stream = client.listen().await;

    client.delete().await;

    assert!(stream.ended().await);
}

#[tokio::test]
async fn delete_names_the_session_it_ends() {
    let one = One::start().await;

    let unnamed = one.mcp().request("DELETE").send().await;
    let unknown = one.mcp().request("DELETE").header("Mcp-Session-Id", "never-was").send().await;

    assert_eq!((unnamed.status, unknown.status), (400, 404));
}

#[tokio::test]
async fn one_session_ends_and_another_goes_on() {
    let one = One::start().await;
    let (ended, alive) = (one.legacy(Revision::R3).await, one.legacy(Revision::R3).await);

    ended.delete().await;

    assert_eq!(alive.request("ping", json!({})).await.result(), &json!({}));
}

#[tokio::test]
async fn field_case_74_a_version_header_binds_only_revisions_that_have_it() {
    let one = One::start().await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let with = |version: &str| client.post(&ping).header("MCP-Protocol-Version", version).send();

        let unknown = with("1999-01-01").await;
        let nonsense = with("newest").await;
        let absent = client.post(&ping).without("MCP-Protocol-Version").send().await;
        let other = with("2025-03-26").await;

        let refused = if revision.has_version_header() { 400 } else { 200 };
        assert_eq!((unknown.status, nonsense.status), (refused, refused), "{revision:?}");
        assert_eq!((absent.status, other.status), (200, 200), "{revision:?}");
    }
}

#[tokio::test]
async fn the_negotiated_revision_shapes_answers_whatever_the_header_says() {
    let one = One::start().await;
    let client = one.legacy(Revision::R4).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});

    for header in [None, Some("2025-03-26"), Some("2025-11-25")] {
        let request = client.post(&list).without("MCP-Protocol-Version");
        let request =
            header.into_iter().fold(request, |request, version| request.header("MCP-Protocol-Version", version));

        let answer = request.send().await.json().await;

        let tool = &answer["result"]["tools"][0];
        assert!(tool["title"].is_string(), "{header:?}: {tool}");
        assert_eq!(tool.get("resultType"), None::<&Value>);
    }
}

#[tokio::test]
async fn a_session_header_may_be_spelled_in_any_case() {
    let one = One::start().await;
    let client = one.legacy(Revision::R4).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});

    for name in ["MCP-Session-Id", "mcp-session-id", "MCP-SESSION-ID"] {
        let request = client.post(&ping).without("Mcp-Session-Id").header(name, client.session());

        assert_eq!(request.send().await.status, 200, "{name}");
    }
}

#[tokio::test]
async fn field_case_16_a_session_outlives_its_time_while_a_call_runs() {
    let one = One::start_with(json!({"server": {"sessionTtl": "4s"}})).await;
    let backend = Backend::start().await;
    let client = one.legacy(Revision::R4).await;
    let call = json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}});
    let running = client.start("tools/call", call).await;
    let held = backend.next_request().await;

    // Sessions of the same age that nothing keeps; a request keeps one, so each is looked at once.
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(one.legacy(Revision::R4).await);
    }
    eventually("a session to expire", async || {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let looked_at = idle.pop().expect("one of them expires");
        (looked_at.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).send().await.status == 404).then_some(())
    })
    .await;

    held.answer().await;
    assert_eq!(running.finish().await.result()["isError"], false);
    assert_eq!(client.request("ping", json!({})).await.status, 200);
}

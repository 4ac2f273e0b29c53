//! Media types, verbs and paths, the same for every legacy revision.

use serde_json::{Value, json};
use switchyard_tests::{Endpoint, LegacyClient, Revision};

use crate::One;

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
}

#[tokio::test]
async fn field_case_78_whatever_can_take_json_is_served() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        for accept in [
            "*/*",
            "application/*",
            "application/json",
            "text/event-stream, application/json",
            "application/json;q=0.9, text/event-stream;q=0.1",
            "APPLICATION/JSON , TEXT/EVENT-STREAM",
        ] {
            let response = client.post(&list()).header("Accept", accept).send().await;

            assert_eq!((response.status, response.media_type()), (200, "application/json"), "{revision:?} {accept}");
        }
        let silent = client.post(&list()).without("Accept").send().await;
        let neither = client.post(&list()).header("Accept", "text/html, image/png").send().await;
        assert_eq!((silent.status, neither.status), (200, 406), "{revision:?}");
    }
}

#[tokio::test]
async fn field_case_78_the_modern_revision_is_as_tolerant() {
    let one = One::start().await;
    let request = || one.modern().post(&json!(1), "tools/list", json!({}));

    for accept in ["*/*", "application/*", "application/json", "application/json, text/event-stream"] {
        let response = request().header("Accept", accept).send().await;

        assert_eq!((response.status, response.media_type()), (200, "application/json"), "{accept}");
    }
    assert_eq!(request().without("Accept").send().await.status, 200);
    assert_eq!(request().header("Accept", "text/html").send().await.status, 406);
}

#[tokio::test]
async fn a_body_that_does_not_say_it_is_json_is_refused() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        for (media_type, status) in [
            ("application/json", 200),
            ("application/json; charset=utf-8", 200),
            ("Application/JSON;charset=UTF-8", 200),
            ("text/plain", 415),
            ("application/x-www-form-urlencoded", 415),
            ("application/jsonp", 415),
        ] {
            let response = client.post(&list()).header("Content-Type", media_type).send().await;

            assert_eq!(response.status, status, "{revision:?} {media_type}");
        }
        assert_eq!(client.post(&list()).without("Content-Type").send().await.status, 415, "{revision:?}");
    }
}

#[tokio::test]
async fn a_get_offers_an_event_stream_and_nothing_else() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;

        let stream = client.get().send().await;
        let both = client.get().header("Accept", "application/json, text/event-stream").send().await;
        let anything = client.get().header("Accept", "*/*").send().await;
        let json_only = client.get().header("Accept", "application/json").send().await;

        assert_eq!((stream.status, stream.media_type()), (200, "text/event-stream"), "{revision:?}");
        assert_eq!((both.status, anything.status, json_only.status), (200, 200, 406), "{revision:?}");
    }
}

#[tokio::test]
async fn field_case_31_where_no_stream_is_offered_a_get_is_405() {
    let one = One::start().await;

    let bare = one.mcp().request("GET").send().await;
    let streaming = one.mcp().request("GET").header("Accept", "text/event-stream").send().await;
    let modern = one.mcp().request("GET").header("MCP-Protocol-Version", "2026-07-28").send().await;

    for response in [bare, streaming, modern] {
        assert_eq!(response.status, 405);
        assert!(response.header("allow").is_some_and(|verbs| verbs.contains("POST")), "{:?}", response.header("allow"));
    }
}

#[tokio::test]
async fn other_verbs_are_not_allowed() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        for verb in ["PUT", "PATCH", "TRACE"] {
            let request = one.mcp().request(verb).header("Mcp-Session-Id", client.session());

            let response = request.send().await;

            assert_eq!(response.status, 405, "{verb}");
            let allowed = response.header("allow").unwrap_or_default();
            assert!(["POST", "GET", "DELETE"].iter().all(|verb| allowed.contains(verb)), "{verb}: {allowed}");
        }
    }
}

#[tokio::test]
async fn the_root_is_the_same_endpoint() {
    let one = One::start().await;
    let root = Endpoint { path: "/".to_owned(), ..one.mcp() };
    let client = LegacyClient::connect(&root, Revision::R4).await;

    let here = client.request("tools/list", json!({})).await;
    let there = client.at(&one.mcp()).request("tools/list", json!({})).await;

    assert_eq!(here.result(), there.result());
    let modern = one.modern().post(&json!(1), "tools/list", json!({})).path("/").send().await;
    assert_eq!(modern.status, 200);
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let one = One::start().await;

    for path in ["/mcp/else", "/metrics", "/healthz", "/readyz", "/%2e%2e/etc/passwd"] {
        let response = one.modern().post(&json!(1), "tools/list", json!({})).path(path).send().await;

        assert_eq!(response.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_flood_of_headers_is_refused_and_the_next_client_is_served() {
    let one = One::start().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let many = (0..500)
        .fold(one.mcp().request("POST").json(&body), |request, number| request.header(&format!("X-{number}"), "y"));
    let large = one.mcp().request("POST").header("X-Large", &"y".repeat(1_000_000)).json(&body);

    for flood in [many, large] {
        // Whoever still writes when it is refused may see the connection end instead.
        if let Some(refused) = flood.try_send().await {
            assert_eq!(refused.status, 431);
        }
    }
    assert_eq!(one.legacy(Revision::R4).await.request("ping", json!({})).await.status, 200);
}

//! `server/discover`, and what every stateless result has.

use serde_json::{Value, json};
use switchyard_tests::{ModernClient, meta};

use crate::One;

/// Whether a result says how long it may be kept, and by whom.
fn has_hints(result: &Value) -> bool {
    result["ttlMs"].is_u64() && matches!(result["cacheScope"].as_str(), Some("public" | "private"))
}

async fn everything_cacheable(modern: &ModernClient) -> Vec<Value> {
    let uri = modern.uri_of("plan.md").await;
    let mut results = Vec::new();
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": uri})),
    ] {
        results.push(modern.request(method, params).await.result().clone());
    }
    results
}

#[tokio::test]
async fn discovery_tells_versions_capabilities_and_who_answers() {
    let one = One::start().await;

    let reply = one.modern().request("server/discover", json!({})).await;
    let result = reply.result();

    let versions = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    assert_eq!(result["supportedVersions"], versions);
    assert_eq!(result["resultType"], "complete");
    assert!(has_hints(result), "{result}");
    assert_eq!(result.get("serverInfo"), None, "{result}");
    assert!(result["_meta"][meta("serverInfo")]["name"].is_string(), "{result}");
    assert!(result["_meta"][meta("serverInfo")]["version"].is_string(), "{result}");
}

#[tokio::test]
async fn discovery_offers_exactly_what_works() {
    let one = One::start().await;

    let reply = one.modern().request("server/discover", json!({})).await;
    let capabilities = &reply.result()["capabilities"];

    assert_eq!(capabilities["tools"], json!({"listChanged": true}));
    assert_eq!(capabilities["prompts"], json!({"listChanged": true}));
    assert_eq!(capabilities["resources"], json!({"listChanged": true, "subscribe": true}));
    assert_eq!(capabilities.get("logging"), None, "it is deprecated: {capabilities}");
    let completes = one.modern().request("completion/complete", json!({})).await.error().code != -32601;
    assert_eq!(completes, capabilities.get("completions").is_some(), "{capabilities}");
}

#[tokio::test]
async fn whatever_may_be_cached_says_for_how_long_and_by_whom() {
    let one = One::start().await;

    for result in everything_cacheable(&one.modern()).await {
        assert!(has_hints(&result), "{result}");
        assert_eq!(result["resultType"], "complete");
    }
}

#[tokio::test]
async fn every_result_says_who_answered() {
    let one = One::start().await;
    let modern = one.modern();
    let mut results = everything_cacheable(&modern).await;
    results.push(modern.call("checkDiskSpace", json!({"path": "/"})).await);
    results.push(
        modern.request("prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}})).await.result().clone(),
    );

    for result in results {
        assert_eq!(result["resultType"], "complete", "{result}");
        assert!(result["_meta"][meta("serverInfo")]["version"].is_string(), "{result}");
    }
}

#[tokio::test]
async fn results_of_calls_and_prompts_are_not_cached() {
    let one = One::start().await;
    let modern = one.modern();

    let call = modern.call("checkDiskSpace", json!({"path": "/"})).await;
    let prompt = modern.request("prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}})).await;

    assert_eq!((call.get("ttlMs"), prompt.result().get("ttlMs")), (None, None));
}

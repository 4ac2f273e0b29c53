//! The composition as it is deployed: the image, the balancer, the nodes.
//!
//! Not part of `cargo test`; `tests/run compose` builds the image, names it in `SWITCHYARD_IMAGE` and runs this. One
//! test does it all, for the composition takes half a minute to start and a machine has one engine.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_tests::{Compose, EventStream, LegacyClient, ModernClient, Revision, eventually, within};

/// Both eras, each request landing where it will.
async fn every_revision_is_served(compose: &Compose) {
    let endpoint = compose.mcp();
    for revision in Revision::ALL {
        let client = LegacyClient::connect(&endpoint, revision).await;
        for _ in 0..20 {
            client.request("ping", json!({})).await.result();
            assert_ne!(client.call("checkDiskSpace", json!({"path": "/"})).await["isError"], json!(true));
        }
        let uri = client.uri_of("plan.md").await;
        client.request("resources/read", json!({"uri": uri})).await.result();
        let prompt = json!({"name": "code_review", "arguments": {"code": "let x = 1;"}});
        client.request("prompts/get", prompt).await.result();
        assert!(matches!(client.delete().await.status, 200 | 204));
        for _ in 0..4 {
            assert_eq!(client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).send().await.status, 404);
        }
    }
    let modern = ModernClient::new(&endpoint);
    let tools = modern.request("tools/list", json!({})).await;
    for _ in 0..20 {
        assert_eq!(modern.request("tools/list", json!({})).await.result(), tools.result());
        assert_ne!(modern.call("checkDiskSpace", json!({"path": "/"})).await["isError"], json!(true));
    }
}

/// A file changes on the disk that the resources node watches, and listeners of both eras hear of it.
async fn changes_are_heard(compose: &Compose) {
    let modern = ModernClient::new(&compose.mcp());
    let uri = modern.uri_of("plan.md").await;
    let session = LegacyClient::connect(&compose.mcp(), Revision::R4).await;
    session.request("resources/subscribe", json!({"uri": uri})).await.result();
    let mut standing = session.listen().await;
    let mut listener = modern.listen(json!({"resourceSubscriptions": [uri]})).await;

    compose.folder.write("plan.md", "changed");

    assert_eq!(listener.next().await["params"]["uri"], json!(uri));
    assert_eq!(next_update(&mut standing).await["params"]["uri"], json!(uri));
}

async fn next_update(stream: &mut EventStream) -> Value {
    loop {
        let message = stream.message().await;
        if message["method"] == "notifications/resources/updated" {
            return message;
        }
    }
}

/// Calls go on without an error while the composition grows.
async fn it_grows_while_calls_run(compose: &Compose) {
    let endpoint = compose.mcp();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..4 {
        let (endpoint, stop) = (endpoint.clone(), stop.clone());
        callers.spawn(async move {
            let legacy = LegacyClient::connect(&endpoint, Revision::ALL[number]).await;
            let modern = ModernClient::new(&endpoint);
            let mut calls = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                assert_ne!(legacy.call("checkDiskSpace", json!({"path": "/"})).await["isError"], json!(true));
                assert_ne!(modern.call("checkDiskSpace", json!({"path": "/"})).await["isError"], json!(true));
                calls += 2;
            }
            calls
        });
    }

    compose.scale(&[("gateway", 3), ("tools", 2)]).await;
    eventually("both tools nodes to be called", async || {
        let served = compose.tool_calls().await;
        (served.len() == 2 && served.iter().all(|count| *count > 0.0)).then_some(())
    })
    .await;
    compose.scale(&[("gateway", 2), ("tools", 1)]).await;

    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    while let Some(calls) = callers.join_next().await {
        assert!(calls.expect("every call succeeds") > 0);
    }
}

#[tokio::test]
async fn the_composition_serves_both_eras_grows_under_load_and_stops_cleanly() {
    let compose = Compose::up().await;

    every_revision_is_served(&compose).await;
    changes_are_heard(&compose).await;
    it_grows_while_calls_run(&compose).await;

    let codes = within(Duration::from_secs(120), "the composition to stop", compose.stop()).await;
    for (container, code) in codes {
        assert_eq!(code, 0, "{container} did not end by itself");
    }
}

#[tokio::test]
async fn the_image_alone_does_the_main_job() {
    let container = Compose::image_alone().await;

    let client = LegacyClient::connect(&container.mcp(), Revision::R3).await;
    let listed = client.request("resources/list", json!({})).await;
    let modern = ModernClient::new(&container.mcp()).call("checkDiskSpace", json!({"path": "/"})).await;

    assert_ne!(listed.result()["resources"], json!([]), "the image brings something to serve");
    assert_ne!(modern["isError"], json!(true), "{modern}");
    assert_ne!(container.user().await, "0", "it does not run as root");
    assert_eq!(container.stop().await, 0);
}

#[tokio::test]
async fn the_composition_is_valid_with_the_profile_for_traces() {
    let services = Compose::services(&["--profile", "tracing"]).await;

    for service in ["redis", "balancer", "gateway", "tools", "resources", "prompts", "events", "jaeger"] {
        assert!(services.contains(&service.to_owned()), "`{service}` is not in {services:?}");
    }
}

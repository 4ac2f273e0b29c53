//! What operators ask, on a listener of its own.

use serde_json::json;

use crate::One;

#[tokio::test]
async fn a_node_that_serves_is_alive_and_ready() {
    let one = One::start().await;

    assert_eq!(one.node.admin("/healthz").await.status, 200);
    assert_eq!(one.node.admin("/readyz").await.status, 200);
    assert!(one.node.is_serving().await);
    assert_eq!(one.node.admin("/nothing").await.status, 404);
}

#[tokio::test]
async fn calls_show_in_the_metrics() {
    let one = One::start().await;
    one.modern().call("checkDiskSpace", json!({"path": "/"})).await;

    let response = one.node.admin("/metrics").await;

    assert_eq!(response.status, 200);
    let text = response.text().await;
    assert!(text.lines().any(|line| line.starts_with("# TYPE ")), "{text}");
    let counted = text.lines().filter(|line| !line.starts_with('#') && line.contains("tools/call"));
    assert!(counted.count() > 0, "{text}");
}

#[tokio::test]
async fn the_log_tells_of_requests_but_never_what_they_carried() {
    let one = One::start().await;
    let modern = one.modern();

    modern.call("search", json!({"query": "a-secret-argument"})).await;
    modern.request("tools/call", json!({"name": "search", "arguments": {"query": 7, "limit": "another-secret"}})).await;

    let log = one.node.stderr();
    assert!(!log.contains("a-secret-argument") && !log.contains("another-secret"), "{log}");
}

#[tokio::test]
async fn the_log_is_json_when_asked_for() {
    let folder = switchyard_tests::Folder::sample();
    let options = switchyard_tests::NodeOptions::serve(&folder).arguments(&["--log-format", "json", "--log", "debug"]);
    let node = options.start().await;
    let modern = switchyard_tests::ModernClient::new(&node.mcp());

    modern.call("checkDiskSpace", json!({"path": "/"})).await;

    let entry = switchyard_tests::eventually("the request in the log", async || {
        let log = node.stderr();
        let entries = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        entries.into_iter().find(|entry| entry.to_string().contains("tools/call"))
    })
    .await;
    let entry = entry.to_string();
    for field in ["duration_ms", "outcome", "request"] {
        assert!(entry.contains(field), "{entry}");
    }
}

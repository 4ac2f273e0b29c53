//! Cancelling across nodes: from any gateway, down to the tool.

use serde_json::json;
use switchyard_tests::{Backend, Cluster, Revision, Shape};

use crate::held_by;

#[tokio::test]
async fn a_call_is_cancelled_from_another_gateway() {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    let backend = Backend::start().await;

    for revision in Revision::ALL {
        let client = cluster.legacy(revision).await;
        let id = json!(format!("call of {revision:?}"));
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": held_by(&backend)});
        let mut stream = client.post(&body).send().await.events();
        let held = backend.next_request().await;

        let params = json!({"requestId": id, "reason": "changed my mind"});
        let noted = client.at(&cluster.gateway(2)).notify("notifications/cancelled", params).await;

        assert_eq!(noted.status, 202);
        held.given_up().await;
        while let Some(event) = stream.event().await {
            assert!(event.data.is_empty() || event.message().get("method").is_some(), "an answer came: {event:?}");
        }
        assert_eq!(client.request("ping", json!({})).await.status, 200);
    }
}

#[tokio::test]
async fn a_modern_client_that_hangs_up_cancels_down_to_the_tool() {
    let cluster = Cluster::start(Shape::default()).await;
    let backend = Backend::start().await;
    let balancer = cluster.balancer().await;
    let direct = cluster.modern(0);
    let balanced = switchyard_tests::ModernClient::new(&balancer.mcp());

    for client in [&direct, &balanced] {
        let call = client.start("tools/call", held_by(&backend)).await;
        let held = backend.next_request().await;

        drop(call);

        held.given_up().await;
    }
}

#[tokio::test]
async fn a_legacy_client_that_hangs_up_has_not_cancelled() {
    let cluster = Cluster::start(Shape::default()).await;
    let backend = Backend::start().await;
    let client = cluster.legacy(Revision::R4).await;
    let call = client.start("tools/call", held_by(&backend)).await;
    let held = backend.next_request().await;

    drop(call);

    assert_eq!(client.request("ping", json!({})).await.status, 200);
    held.answer().await;
}

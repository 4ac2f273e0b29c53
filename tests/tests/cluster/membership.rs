//! What every member tells operators, and what starts only where it should.

use serde_json::json;
use switchyard_tests::{Cluster, Folder, NodeOptions, Shape};

#[tokio::test]
async fn every_role_has_an_admin_listener_and_only_gateways_have_clients() {
    let cluster = Cluster::start(Shape::default()).await;

    for node in cluster.gateways.iter().chain(&cluster.tools).chain(&cluster.others) {
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(node.admin(path).await.status, 200, "{path}");
        }
        assert!(node.is_serving().await, "grpc.health.v1 tells the truth");
        assert!(node.bus().is_some(), "a member listens on the bus");
    }
    for node in cluster.tools.iter().chain(&cluster.others) {
        assert!(!node.stderr().contains("listening clients="), "only a gateway has clients");
    }
}

#[tokio::test]
async fn a_part_of_a_cluster_alone_needs_a_redis() {
    let folder = Folder::sample();

    for role in ["gateway", "tools", "resources", "prompts", "events"] {
        let finished = NodeOptions::serve(&folder).arguments(&["--role", role]).run().await;

        assert!(finished.code.is_some_and(|code| code != 0), "{role}");
        assert!(finished.stderr.contains("redis"), "{role}: {}", finished.stderr);
    }
}

#[tokio::test]
async fn an_unknown_role_is_refused_with_the_known_ones() {
    let folder = Folder::sample();

    let finished = NodeOptions::serve(&folder).arguments(&["--role", "gatway"]).run().await;

    assert!(finished.code.is_some_and(|code| code != 0));
    assert!(finished.stderr.contains("gatway") && finished.stderr.contains("gateway"), "{}", finished.stderr);
}

#[tokio::test]
async fn two_clusters_on_one_redis_do_not_meet() {
    let cluster = Cluster::start(Shape::default()).await;
    let options = NodeOptions::serve(&cluster.folder).member(&cluster.redis.url(), "gateway");

    let stranger = options.arguments(&["--cluster", "another"]).start().await;

    let client = switchyard_tests::ModernClient::new(&stranger.mcp());
    let listed = client.request("tools/list", json!({})).await;
    assert!(!listed.message.to_string().contains("checkDiskSpace"), "{}", listed.message);
    let session = cluster.legacy(switchyard_tests::Revision::R4).await;
    assert_eq!(session.at(&stranger.mcp()).get().send().await.status, 404);
}

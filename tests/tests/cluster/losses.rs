//! What a loss costs: nothing for whoever was elsewhere, a clear word for whoever was there.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use switchyard_proto::v1::{ListResourcesRequest, resources_client::ResourcesClient};
use switchyard_tests::{Backend, Cluster, Folder, LegacyClient, ModernClient, Node, Revision, Shape, eventually};

use crate::held_by;

#[tokio::test]
async fn sessions_go_on_while_one_gateway_after_another_is_replaced() {
    let mut cluster = Cluster::start(Shape { gateways: 2, tools: 1 }).await;
    let mut sessions = Vec::new();
    for revision in Revision::ALL {
        sessions.push(cluster.legacy(revision).await);
    }

    for round in 0..2 {
        let fresh = cluster.node("gateway").await;
        cluster.gateways.push(fresh);
        let old = cluster.gateways.remove(0);
        old.signal(Signal::TERM);
        assert_eq!(old.finished().await.code, Some(0), "round {round}");

        for session in &sessions {
            for gateway in 0..2 {
                let here = session.at(&cluster.gateway(gateway));
                assert_eq!(here.request("tools/list", json!({})).await.status, 200, "{:?}", session.revision());
            }
        }
    }
}

#[tokio::test]
async fn a_draining_gateway_ends_its_listeners_with_a_result() {
    let mut cluster = Cluster::start(Shape::default()).await;
    let mut listener = cluster.modern(1).listen_as(json!(7), json!({"toolsListChanged": true})).await;

    let leaving = cluster.gateways.pop().unwrap();
    leaving.signal(Signal::TERM);

    assert_eq!(listener.closing_result().await["resultType"], "complete");
    assert_eq!(leaving.finished().await.code, Some(0));
}

#[tokio::test]
async fn a_frozen_node_is_noticed_and_passed_over() {
    let cluster = Cluster::start(Shape { gateways: 1, tools: 2 }).await;
    let modern = cluster.modern(0);
    modern.call("checkDiskSpace", json!({"path": "/"})).await;

    cluster.tools[0].signal(Signal::STOP);
    let frozen = Instant::now();
    for _ in 0..100 {
        let result = modern.call("checkDiskSpace", json!({"path": "/"})).await;
        assert_ne!(result["isError"], json!(true), "{result}");
    }

    // Were it not passed over, every second call would wait for it for seconds.
    assert!(frozen.elapsed() < Duration::from_secs(60), "{:?}", frozen.elapsed());
    cluster.tools[0].signal(Signal::CONT);
}

#[tokio::test]
async fn a_killed_events_node_is_replaced_and_no_fact_is_lost() {
    let mut cluster = Cluster::start(Shape::default()).await;
    let modern = cluster.modern(0);
    let uri = modern.uri_of("plan.md").await;
    let mut listener = modern.listen(json!({"resourceSubscriptions": [uri]})).await;
    let events = cluster.others.remove(0);

    events.kill().await;
    cluster.folder.write("plan.md", "changed while nobody reads the log");
    let _replacement = cluster.node("events").await;

    assert_eq!(listener.next().await["params"]["uri"], json!(uri));
}

#[tokio::test]
async fn a_watcher_that_is_killed_is_followed_by_one_that_finds_what_it_missed() {
    let mut cluster = Cluster::start(Shape::default()).await;
    let second = cluster.node("resources").await;
    has_looked(&second, &cluster.folder).await;
    let modern = cluster.modern(0);
    let uri = modern.uri_of("plan.md").await;
    let mut listener = modern.listen(json!({"resourceSubscriptions": [uri]})).await;

    cluster.others.remove(1).kill().await;
    cluster.folder.write("plan.md", "changed while nobody watched");

    assert_eq!(listener.next().await["params"]["uri"], json!(uri));
}

/// Returns once a node of resources has looked at the folder: it lists nothing before.
async fn has_looked(node: &Node, folder: &Folder) {
    let url = format!("http://{}", node.bus().unwrap());
    let provider = folder.path().file_name().unwrap().to_string_lossy().into_owned();
    let list = ListResourcesRequest { provider, limit: 1, ..ListResourcesRequest::default() };
    ResourcesClient::connect(url).await.unwrap().list(list).await.unwrap();
}

#[tokio::test]
async fn a_client_whose_gateway_dies_mid_call_asks_again_elsewhere() {
    let mut cluster = Cluster::start(Shape::default()).await;
    let backend = Backend::start().await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": held_by(&backend)});
    let client = cluster.legacy(Revision::R4).await;
    let dying = client.at(&cluster.gateway(1));
    let mut stream = dying.post(&body).send().await.events();
    let held = backend.next_request().await;

    cluster.gateways.pop().unwrap().kill().await;

    assert!(stream.ended().await, "never silence");
    drop(held);
    let again = client.start("tools/call", held_by(&backend)).await;
    backend.next_request().await.answer().await;
    assert_eq!(again.finish().await.result()["structuredContent"]["statusCode"], 200);
}

#[tokio::test]
async fn a_process_with_all_roles_is_a_full_member() {
    let cluster = Cluster::start(Shape { gateways: 1, tools: 1 }).await;
    let options = switchyard_tests::NodeOptions::serve(&cluster.folder).config(&cluster.folder.config());
    let options = options.arguments(&["--redis", &cluster.redis.url(), "--bus-listen", "127.0.0.1:0"]);
    let everything = options.start().await;

    let session = cluster.legacy(Revision::R2).await;
    let here = session.at(&everything.mcp());

    assert_eq!(here.request("tools/list", json!({})).await.status, 200);
    let listed = |endpoint| async move { ModernClient::new(&endpoint).request("tools/list", json!({})).await };
    let (there, here) = (listed(cluster.gateway(0)).await, listed(everything.mcp()).await);
    assert_eq!(there.result(), here.result());
    let opened = LegacyClient::connect(&everything.mcp(), Revision::R1).await;
    eventually("the session to be known elsewhere", async || {
        (opened.at(&cluster.gateway(0)).request("ping", json!({})).await.status == 200).then_some(())
    })
    .await;
}

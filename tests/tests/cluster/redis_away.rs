//! Redis is away: modern calls go on, sessions are told to wait, nobody restarts, all recovers by itself.

use std::time::{Duration, Instant};

use serde_json::json;
use switchyard_tests::{Cluster, LegacyClient, Revision, Shape, eventually};

/// Far longer than a legacy client should wait for its refusal, which is a second, and far shorter than any other wait.
const SOON: Duration = Duration::from_secs(15);

/// A legacy request while the state is away.
async fn refused(client: &LegacyClient) {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let asked = Instant::now();

    let response = client.post(&ping).send().await;

    let waited = asked.elapsed();
    assert_eq!(response.status, 503, "never 404, for the session may well be alive");
    assert!(waited < SOON, "{waited:?}");
    let retry = response.header("retry-after").and_then(|seconds| seconds.parse::<u64>().ok());
    assert!(retry.is_some(), "{:?}", response.header("retry-after"));
}

async fn modern_calls_go_on(cluster: &Cluster) {
    for gateway in 0..cluster.gateways.len() {
        let modern = cluster.modern(gateway);
        for _ in 0..5 {
            let result = modern.call("checkDiskSpace", json!({"path": "/"})).await;
            assert_ne!(result["isError"], json!(true), "{result}");
        }
        assert_eq!(modern.request("tools/list", json!({})).await.status, 200);
        assert_eq!(modern.request("resources/list", json!({})).await.status, 200);
    }
}

async fn everybody_runs_and_is_ready(cluster: &mut Cluster) {
    let nodes = cluster.gateways.iter_mut().chain(&mut cluster.tools).chain(&mut cluster.others);
    for node in nodes {
        assert!(node.is_running());
        assert_eq!(node.admin("/readyz").await.status, 200);
        assert_eq!(node.admin("/healthz").await.status, 200);
    }
}

#[tokio::test]
async fn a_redis_that_answers_nothing_costs_no_session_and_no_modern_call() {
    let mut cluster = Cluster::start(Shape::default()).await;
    let mut sessions = Vec::new();
    for revision in Revision::ALL {
        sessions.push(cluster.legacy(revision).await);
    }

    cluster.redis.pause();
    for session in &sessions {
        refused(session).await;
        refused(&session.at(&cluster.gateway(1))).await;
    }
    modern_calls_go_on(&cluster).await;
    everybody_runs_and_is_ready(&mut cluster).await;
    cluster.redis.resume();

    for session in &sessions {
        eventually("the session to go on", async || {
            let response = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).send().await;
            assert!(matches!(response.status, 200 | 503), "{}", response.status);
            (response.status == 200).then_some(())
        })
        .await;
    }
    modern_calls_go_on(&cluster).await;
}

#[tokio::test]
async fn an_outage_longer_than_the_heartbeats_removes_nobody() {
    let cluster = Cluster::start(Shape::default()).await;
    let mut listener = cluster.modern(0).listen(json!({"toolsListChanged": true})).await;

    cluster.redis.pause();
    let before = Instant::now();
    eventually("the registry's patience to be over", async || {
        modern_calls_go_on(&cluster).await;
        (before.elapsed() > Duration::from_secs(5)).then_some(())
    })
    .await;
    cluster.redis.resume();

    let told = listener.events.messages_until_quiet(Duration::from_secs(3)).await;
    assert!(told.is_empty(), "nothing changed, yet somebody was told so: {told:?}");
    modern_calls_go_on(&cluster).await;
}

#[tokio::test]
async fn a_redis_that_comes_back_empty_lets_clients_begin_anew() {
    let mut cluster = Cluster::start(Shape::default()).await;
    let session = cluster.legacy(Revision::R4).await;
    let uri = session.uri_of("plan.md").await;
    let mut listener = cluster.modern(1).listen(json!({"resourceSubscriptions": [uri]})).await;

    cluster.redis.stop();
    refused(&session).await;
    modern_calls_go_on(&cluster).await;
    everybody_runs_and_is_ready(&mut cluster).await;
    cluster.redis.restart().await;

    eventually("the lost session to be gone", async || {
        let response = session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).send().await;
        assert!(matches!(response.status, 404 | 503), "{}", response.status);
        (response.status == 404).then_some(())
    })
    .await;
    let again = eventually("a new session", async || {
        let response = LegacyClient::initialize(&cluster.gateway(0), "2025-11-25").send().await;
        (response.status == 200).then_some(response.status)
    })
    .await;
    assert_eq!(again, 200);
    modern_calls_go_on(&cluster).await;

    // Whoever listened is told to look again, and hears of what comes.
    cluster.folder.write("plan.md", "changed after the loss");
    assert_eq!(listener.next().await["params"]["uri"], json!(uri));
}

#[tokio::test]
async fn a_standing_stream_outlives_an_outage() {
    let cluster = Cluster::start(Shape::default()).await;
    let session = cluster.legacy(Revision::R4).await;
    let uri = session.uri_of("plan.md").await;
    session.request("resources/subscribe", json!({"uri": uri})).await.result();
    let mut standing = session.at(&cluster.gateway(1)).listen().await;

    cluster.redis.pause();
    refused(&session).await;
    cluster.folder.write("plan.md", "changed while nobody could write it down");
    cluster.redis.resume();

    assert_eq!(crate::next_update(&mut standing).await, uri);
}

//! Nodes come and go while clients call.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use switchyard_tests::{
    Backend, Cluster, Collector, Endpoint, LegacyClient, ModernClient, Node, Revision, Shape, eventually,
};
use tokio::task::JoinSet;

use crate::{held_by, traced};

/// Clients of both eras that call without a pause until told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    callers: JoinSet<()>,
}

impl Load {
    fn start(gateways: &[Endpoint]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        for (number, gateway) in gateways.iter().cycle().take(4).cloned().enumerate() {
            let (stop, done) = (stop.clone(), done.clone());
            callers.spawn(async move {
                let legacy = LegacyClient::connect(&gateway, Revision::ALL[number]).await;
                let modern = ModernClient::new(&gateway);
                while !stop.load(Ordering::Relaxed) {
                    for result in [
                        legacy.call("checkDiskSpace", json!({"path": "/"})).await,
                        modern.call("checkDiskSpace", json!({"path": "/"})).await,
                    ] {
                        assert_ne!(result["isError"], json!(true), "{result}");
                    }
                    done.fetch_add(2, Ordering::Relaxed);
                }
            });
        }
        Self { stop, done, callers }
    }

    /// Waits until `count` more calls are done.
    async fn more(&self, count: usize) {
        let goal = self.done.load(Ordering::Relaxed) + count;
        eventually("calls to go on", async || (self.done.load(Ordering::Relaxed) >= goal).then_some(())).await;
    }

    /// Ends it. Every call must have succeeded.
    async fn finish(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(caller) = self.callers.join_next().await {
            caller.expect("every call succeeds");
        }
    }
}

fn gateways(cluster: &Cluster) -> Vec<Endpoint> {
    cluster.gateways.iter().map(Node::mcp).collect()
}

/// How many calls of tools a node has served, by its traces.
async fn served(collector: &Collector, node: &Node) -> usize {
    let id = node.id().await;
    let spans = collector.spans();
    spans.iter().filter(|span| span.name.starts_with("execute_tool") && span.node() == id).count()
}

/// Waits until a gateway sends calls to this node.
async fn is_called(cluster: &Cluster, collector: &Collector, node: &Node) {
    let modern = cluster.modern(0);
    eventually("a node to be called", async || {
        modern.call("checkDiskSpace", json!({"path": "/"})).await;
        (served(collector, node).await > 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn field_case_109_a_node_that_joins_gets_its_share_while_calls_run() {
    let (cluster, collector) = traced(Shape { gateways: 2, tools: 1 }).await;
    let load = Load::start(&gateways(&cluster));
    load.more(20).await;

    let joined = cluster.node("tools").await;

    is_called(&cluster, &collector, &joined).await;
    let counts = async || (served(&collector, &cluster.tools[0]).await, served(&collector, &joined).await);
    let (old_before, new_before) = counts().await;
    load.more(200).await;
    // Counted by traces, which come late, and not from both nodes alike.
    eventually("the new node to have its share", async || {
        let (old, new) = counts().await;
        let (old, new) = (old - old_before, new - new_before);
        (new > 50 && new * 100 > (old + new) * 15).then_some(())
    })
    .await;
    load.finish().await;
}

#[tokio::test]
async fn a_node_that_is_told_to_stop_leaves_without_an_error() {
    let mut cluster = Cluster::start(Shape { gateways: 2, tools: 2 }).await;
    let load = Load::start(&gateways(&cluster));
    load.more(20).await;

    let leaving = cluster.tools.pop().unwrap();
    leaving.signal(Signal::TERM);
    let finished = leaving.finished().await;

    load.more(50).await;
    load.finish().await;
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

#[tokio::test]
async fn a_killed_node_is_not_noticed_by_calls_that_may_be_repeated() {
    let mut cluster = Cluster::start(Shape { gateways: 2, tools: 2 }).await;
    let load = Load::start(&gateways(&cluster));
    load.more(50).await;

    cluster.tools.pop().unwrap().kill().await;

    load.more(100).await;
    load.finish().await;
}

#[tokio::test]
async fn a_call_in_a_killed_node_is_repeated_at_another_one() {
    let (mut cluster, collector) = traced(Shape { gateways: 1, tools: 1 }).await;
    let backend = Backend::start().await;
    let (modern, legacy) = (cluster.modern(0), cluster.legacy(Revision::R4).await);
    let calls =
        [modern.start("tools/call", held_by(&backend)).await, legacy.start("tools/call", held_by(&backend)).await];
    let first_tries = [backend.next_request().await, backend.next_request().await];
    let other = cluster.node("tools").await;
    is_called(&cluster, &collector, &other).await;

    cluster.tools.pop().unwrap().kill().await;

    for held in first_tries {
        held.given_up().await;
    }
    for _ in 0..2 {
        backend.next_request().await.answer().await;
    }
    for call in calls {
        let reply = call.finish().await;
        assert_eq!(reply.result()["structuredContent"]["statusCode"], 200, "{}", reply.message);
    }
    drop(other);
}

#[tokio::test]
async fn without_any_node_left_a_call_ends_in_a_clear_error_and_goes_on_when_one_comes() {
    let mut cluster = Cluster::start(Shape { gateways: 1, tools: 1 }).await;
    let modern = cluster.modern(0);
    let call = || modern.request("tools/call", json!({"name": "checkDiskSpace", "arguments": {"path": "/"}}));

    cluster.tools.pop().unwrap().kill().await;
    let refused: Value = call().await.message;
    assert!(refused.get("error").is_some(), "{refused}");

    let _back = cluster.node("tools").await;
    eventually("calls to succeed again", async || call().await.message.get("result").map(|_| ())).await;
}

#[tokio::test]
async fn the_list_changes_when_the_last_node_of_a_tool_goes_and_when_it_returns() {
    let mut cluster = Cluster::start(Shape { gateways: 2, tools: 1 }).await;
    let mut listener = cluster.modern(1).listen(json!({"toolsListChanged": true})).await;

    cluster.tools.pop().unwrap().kill().await;
    assert_eq!(listener.next().await["method"], "notifications/tools/list_changed");
    // Whoever is told finds it at every gateway, unless the machine is too slow for the news to wait for that.
    for gateway in 0..2 {
        until_tools(&cluster, gateway, false).await;
    }

    let _back = cluster.node("tools").await;
    assert_eq!(listener.next().await["method"], "notifications/tools/list_changed");
    for gateway in 0..2 {
        until_tools(&cluster, gateway, true).await;
    }
}

/// Waits until a gateway lists tools, or none any more.
async fn until_tools(cluster: &Cluster, gateway: usize, listed: bool) {
    eventually("the list to be as it should", async || {
        let reply = cluster.modern(gateway).request("tools/list", json!({})).await;
        (reply.result()["tools"].as_array()?.is_empty() != listed).then_some(())
    })
    .await;
}

#[tokio::test]
async fn another_node_of_the_same_kind_changes_no_list() {
    let (cluster, collector) = traced(Shape { gateways: 1, tools: 1 }).await;
    let mut listener = cluster.modern(0).listen(json!({"toolsListChanged": true})).await;

    let second = cluster.node("tools").await;
    is_called(&cluster, &collector, &second).await;
    second.kill().await;

    let told = listener.events.messages_until_quiet(std::time::Duration::from_secs(4)).await;
    assert_eq!(told, Vec::<Value>::new());
}

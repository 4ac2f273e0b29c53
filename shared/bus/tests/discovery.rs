//! Nodes that find each other by the registry, and what they tell each other by the log.
//!
//! Nothing here is outside the process, so time passes only while all of it waits.
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use prost::Message;
use support::{record, until, within};
use switchyard_bus::Discovery;
use switchyard_proto::v1::{Fact, ListKind, fact::Kind};
use switchyard_state::{
    Announced, Entry, EntryKind, Heartbeat, NodeId, NodeRecord, Offset, Registry, Secret, Snapshot, StoreError, Stores,
    TaskSupport, memory,
};
use tokio::{sync::watch, time::Instant};

/// A registry that can be away, and counts how often it was read.
struct Flaky {
    registry: Arc<dyn Registry>,
    away: AtomicBool,
    reads: AtomicUsize,
}

impl Flaky {
    fn over(stores: &Stores) -> Arc<Self> {
        Arc::new(Self { registry: stores.registry.clone(), away: AtomicBool::new(false), reads: AtomicUsize::new(0) })
    }

    fn reachable(&self) -> Result<(), StoreError> {
        if self.away.load(Ordering::SeqCst) { Err(StoreError::Away("unplugged".into())) } else { Ok(()) }
    }
}

#[async_trait::async_trait]
impl Registry for Flaky {
    async fn announce(&self, node: &NodeRecord) -> Result<Announced, StoreError> {
        self.reachable()?;
        self.registry.announce(node).await
    }

    async fn heartbeat(&self, node: &NodeId, seen: Option<u64>) -> Result<Heartbeat, StoreError> {
        self.reachable()?;
        self.registry.heartbeat(node, seen).await
    }

    async fn leave(&self, node: &NodeId) -> Result<Announced, StoreError> {
        self.reachable()?;
        self.registry.leave(node).await
    }

    async fn nodes(&self) -> Result<Snapshot, StoreError> {
        self.reachable()?;
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.registry.nodes().await
    }

    async fn caught_up(&self, version: u64) -> Result<bool, StoreError> {
        self.reachable()?;
        self.registry.caught_up(version).await
    }

    async fn lease(&self, name: &str, node: &NodeId, ttl: Duration) -> Result<bool, StoreError> {
        self.registry.lease(name, node, ttl).await
    }

    async fn release(&self, name: &str, node: &NodeId) -> Result<(), StoreError> {
        self.registry.release(name, node).await
    }

    async fn secret(&self, name: &str) -> Result<Vec<Secret>, StoreError> {
        self.registry.secret(name).await
    }

    async fn rotate(&self, name: &str, keep: Duration) -> Result<(), StoreError> {
        self.registry.rotate(name, keep).await
    }
}

fn entry(kind: EntryKind, name: &str) -> Entry {
    Entry {
        kind,
        name: name.to_owned(),
        definition: format!(r#"{{"name":"{name}"}}"#),
        digest: "1".into(),
        needs: String::new(),
        prefix: String::new(),
        repeatable: false,
        timeout_ms: 0,
        tasks: TaskSupport::Never,
    }
}

/// A node in the registry with one set of entries, which can change.
struct Member {
    discovery: Discovery,
    offers: watch::Sender<Vec<Entry>>,
}

impl Member {
    async fn join(stores: &Stores, id: &str, roles: &[&str], entries: Vec<Entry>) -> Self {
        Self::join_by(stores.registry.clone(), stores, id, roles, entries).await
    }

    async fn join_by(
        registry: Arc<dyn Registry>,
        stores: &Stores,
        id: &str,
        roles: &[&str],
        entries: Vec<Entry>,
    ) -> Self {
        let (offers, offered) = watch::channel(entries);
        let node = record(id, "127.0.0.1:1", roles);
        let discovery = Discovery::start(registry, stores.log.clone(), node, vec![offered]).await.unwrap();
        Self { discovery, offers }
    }

    fn sees(&self) -> Vec<String> {
        self.discovery.snapshot().borrow().nodes.iter().map(|node| node.id.0.clone()).collect()
    }

    fn sees_entries_of(&self, id: &str) -> Vec<String> {
        let snapshot = self.discovery.snapshot();
        let snapshot = snapshot.borrow();
        let node = snapshot.nodes.iter().find(|node| node.id.0 == id);
        node.map(|node| node.entries.iter().map(|entry| entry.name.clone()).collect()).unwrap_or_default()
    }

    /// Serves every catalogue version as soon as it is seen, as a gateway does.
    fn keep_up(&self) {
        let discovery = self.discovery.clone();
        let mut snapshots = discovery.snapshot();
        tokio::spawn(async move {
            while snapshots.changed().await.is_ok() {
                discovery.set_seen(snapshots.borrow_and_update().version);
            }
        });
    }
}

/// All facts in the log.
async fn facts(stores: &Stores) -> Vec<Fact> {
    let epoch = stores.log.position().await.unwrap().epoch;
    let batch = stores.log.read(&epoch, Offset(0), 1000, Duration::ZERO).await.unwrap();
    batch.entries.iter().map(|entry| Fact::decode(&*entry.bytes).unwrap()).collect()
}

async fn lists_told(stores: &Stores) -> Vec<ListKind> {
    let lists = facts(stores).await.into_iter().filter_map(|fact| match fact.kind {
        Some(Kind::ListChanged(changed)) => Some(changed.list()),
        _ => None,
    });
    lists.collect()
}

async fn generations_told(stores: &Stores) -> Vec<u64> {
    let generations = facts(stores).await.into_iter().filter_map(|fact| match fact.kind {
        Some(Kind::NodesChanged(changed)) => Some(changed.generation),
        _ => None,
    });
    generations.collect()
}

async fn until_told(stores: &Stores, list: ListKind) {
    within("the list's change to be told", async {
        while !lists_told(stores).await.contains(&list) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_joins_and_leaves_is_seen_by_the_others_and_told_in_the_log() {
    let stores = memory::stores();
    let gateway = Member::join(&stores, "gateway", &["gateway"], Vec::new()).await;
    let tools = Member::join(&stores, "tools", &["tools"], vec![entry(EntryKind::Tool, "echo")]).await;

    assert_eq!(tools.sees(), ["gateway", "tools"]);
    until("the gateway sees the newcomer", || gateway.sees() == ["gateway", "tools"]).await;
    assert_eq!(gateway.sees_entries_of("tools"), ["echo"]);

    tools.discovery.leave().await;
    let told = generations_told(&stores).await;
    until("the gateway sees it go", || gateway.sees() == ["gateway"]).await;

    assert_eq!(told, [1, 2, 3], "each generation once, the last one before leaving is over");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_falls_silent_is_gone_and_that_is_told_once() {
    let stores = memory::stores();
    let gateway = Member::join(&stores, "gateway", &["gateway"], Vec::new()).await;
    gateway.keep_up();
    let other = Member::join(&stores, "other", &["gateway"], Vec::new()).await;
    other.keep_up();
    let tools = Member::join(&stores, "tools", &["tools"], vec![entry(EntryKind::Tool, "echo")]).await;
    until("everybody sees everybody", || gateway.sees().len() == 3 && other.sees().len() == 3).await;
    until_told(&stores, ListKind::Tools).await;

    drop(tools);
    until("the others see it go", || gateway.sees().len() == 2 && other.sees().len() == 2).await;
    within("the change to be told", async {
        while lists_told(&stores).await.len() < 2 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;

    assert_eq!(lists_told(&stores).await, [ListKind::Tools, ListKind::Tools]);
    assert_eq!(generations_told(&stores).await, [1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn changed_entries_are_announced_again_and_each_list_is_told_once() {
    let stores = memory::stores();
    let gateway = Member::join(&stores, "gateway", &["gateway"], Vec::new()).await;
    gateway.keep_up();
    let node = Member::join(&stores, "node", &["tools", "prompts"], Vec::new()).await;

    node.offers.send_replace(vec![
        entry(EntryKind::Prompt, "review"),
        entry(EntryKind::Template, "file:///{+path}"),
        entry(EntryKind::Provider, "files"),
    ]);
    until("the gateway sees them", || gateway.sees_entries_of("node").len() == 3).await;
    until_told(&stores, ListKind::Prompts).await;
    until_told(&stores, ListKind::Resources).await;

    let mut told = lists_told(&stores).await;
    told.sort();
    assert_eq!(told, [ListKind::Prompts, ListKind::Resources]);
}

#[tokio::test(start_paused = true)]
async fn another_node_with_the_same_entries_changes_no_list() {
    let stores = memory::stores();
    let gateway = Member::join(&stores, "gateway", &["gateway"], Vec::new()).await;
    gateway.keep_up();
    let _one = Member::join(&stores, "one", &["tools"], vec![entry(EntryKind::Tool, "echo")]).await;
    until_told(&stores, ListKind::Tools).await;

    let two = Member::join(&stores, "two", &["tools"], vec![entry(EntryKind::Tool, "echo")]).await;
    until("the gateway sees it", || gateway.sees().len() == 3).await;
    two.discovery.leave().await;

    assert_eq!(lists_told(&stores).await, [ListKind::Tools]);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_told_after_the_gateways_serve_it() {
    let stores = memory::stores();
    let slow = Member::join(&stores, "slow", &["gateway"], Vec::new()).await;
    let _node = Member::join(&stores, "node", &["tools"], vec![entry(EntryKind::Tool, "echo")]).await;
    let snapshot = slow.discovery.refresh().await;
    let before = lists_told(&stores).await;

    slow.discovery.set_seen(snapshot.version);
    until_told(&stores, ListKind::Tools).await;

    assert_eq!(before, []);
    let version = stores.registry.nodes().await.unwrap().version;
    assert!(stores.registry.caught_up(version).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_never_catches_up_delays_the_news_and_no_more() {
    let stores = memory::stores();
    let _stuck = Member::join(&stores, "stuck", &["gateway"], Vec::new()).await;

    let _node = Member::join(&stores, "node", &["tools"], vec![entry(EntryKind::Tool, "echo")]).await;

    until_told(&stores, ListKind::Tools).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_the_registry_forgot_announces_itself_again() {
    let stores = memory::stores();
    let node = Member::join(&stores, "node", &["tools"], vec![entry(EntryKind::Tool, "echo")]).await;
    let gateway = Member::join(&stores, "gateway", &["gateway"], Vec::new()).await;

    stores.registry.leave(&NodeId("node".into())).await.unwrap();
    gateway.discovery.refresh().await;
    let forgotten = gateway.sees();

    assert_eq!(forgotten, ["gateway"]);
    assert!(node.sees().contains(&"node".to_owned()), "it never doubts itself");
    until("it is back", || gateway.sees() == ["gateway", "node"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_at_the_start_is_waited_for() {
    let stores = memory::stores();
    let flaky = Flaky::over(&stores);
    flaky.away.store(true, Ordering::SeqCst);
    let _other = Member::join(&stores, "other", &["tools"], Vec::new()).await;

    let node = Member::join_by(flaky.clone(), &stores, "node", &["tools"], Vec::new()).await;
    let alone = node.sees();
    node.offers.send_replace(vec![entry(EntryKind::Tool, "echo")]);
    until("it shows its own entries", || node.sees_entries_of("node") == ["echo"]).await;
    let listed = node.discovery.snapshot().borrow().listed.clone();
    flaky.away.store(false, Ordering::SeqCst);

    assert_eq!(alone, ["node"]);
    assert_eq!(listed.into_keys().collect::<Vec<_>>(), [(EntryKind::Tool, "echo".to_owned())]);
    until("it joins", || node.sees() == ["node", "other"]).await;
    until_told(&stores, ListKind::Tools).await;
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_away_the_nodes_stay_as_they_were() {
    let stores = memory::stores();
    let flaky = Flaky::over(&stores);
    let one = Member::join_by(flaky.clone(), &stores, "one", &["gateway"], Vec::new()).await;
    let two = Member::join_by(flaky.clone(), &stores, "two", &["tools"], Vec::new()).await;
    until("they see each other", || one.sees().len() == 2 && two.sees().len() == 2).await;

    flaky.away.store(true, Ordering::SeqCst);
    // Longer than a node may be silent.
    let away_until = Instant::now() + switchyard_state::EXPIRY + Duration::from_millis(500);
    while Instant::now() < away_until {
        assert_eq!(one.discovery.refresh().await.nodes.len(), 2);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    two.offers.send_replace(vec![entry(EntryKind::Tool, "echo")]);
    flaky.away.store(false, Ordering::SeqCst);

    until("what changed meanwhile is seen", || one.sees_entries_of("two") == ["echo"]).await;
    assert_eq!(one.sees(), ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn those_who_refresh_at_the_same_time_share_one_read() {
    let stores = memory::stores();
    let flaky = Flaky::over(&stores);
    let node = Member::join_by(flaky.clone(), &stores, "node", &["gateway"], Vec::new()).await;
    let before = flaky.reads.load(Ordering::SeqCst);

    let snapshots = futures_util::future::join_all((0..50).map(|_| node.discovery.refresh())).await;

    let reads = flaky.reads.load(Ordering::SeqCst) - before;
    assert_eq!(snapshots.len(), 50);
    assert!(reads <= 3, "{reads}");
}

#[tokio::test(start_paused = true)]
async fn refreshing_shows_at_once_what_just_joined() {
    let stores = memory::stores();
    let gateway = Member::join(&stores, "gateway", &["gateway"], Vec::new()).await;
    stores.registry.announce(&record("new", "127.0.0.1:1", &["tools"])).await.unwrap();

    let snapshot = gateway.discovery.refresh().await;

    assert!(snapshot.nodes.iter().any(|node| node.id.0 == "new"));
}

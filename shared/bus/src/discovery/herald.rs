//! Tells the others what this node was told by the registry: that the set of nodes changed, and that a list did.
//!
//! News merges while it waits, so there is never more than one generation and one version a list to tell. A list is
//! told once the gateways serve it, which holds up no news of nodes. While the store is away all of it waits.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use prost::Message;
use switchyard_proto::v1::{Fact, ListChanged, ListKind, NodesChanged, fact::Kind};
use switchyard_state::{Announced, EntryKind, EventLog, Registry, StoreError};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use crate::pause::jittered;

/// How long the gateways get to serve a new list before everybody hears of it.
const CATCH_UP: Duration = Duration::from_millis(500);

/// How often they are looked at meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// The pause between two attempts while the store is away.
const RETRY: Duration = Duration::from_millis(500);

pub(super) struct Herald {
    registry: Arc<dyn Registry>,
    log: Arc<dyn EventLog>,
    news: Mutex<News>,
    /// There is a generation to tell.
    nodes_changed: Notify,
    /// There are lists to tell.
    lists_changed: Notify,
    /// Something was told.
    told: Notify,
}

/// What is yet to be told; it leaves once it is in the log.
#[derive(Default)]
struct News {
    generation: Option<u64>,
    /// List → the catalogue's version that changed it.
    lists: BTreeMap<ListKind, u64>,
}

impl News {
    fn is_empty(&self) -> bool {
        self.generation.is_none() && self.lists.is_empty()
    }
}

impl Herald {
    pub fn new(registry: Arc<dyn Registry>, log: Arc<dyn EventLog>) -> Arc<Self> {
        let (nodes_changed, lists_changed, told) = (Notify::new(), Notify::new(), Notify::new());
        Arc::new(Self { registry, log, news: Mutex::default(), nodes_changed, lists_changed, told })
    }

    /// Notes news; never waits.
    pub fn note(&self, announced: &Announced, generation_moved: bool) {
        let mut news = self.news();
        if generation_moved {
            news.generation = Some(announced.generation);
            self.nodes_changed.notify_one();
        }
        for kind in &announced.changed {
            news.lists.insert(list_of(*kind), announced.version);
            self.lists_changed.notify_one();
        }
    }

    /// Tells news as it comes, without end.
    pub async fn run(&self) {
        tokio::join!(self.tell_nodes(), self.tell_lists());
    }

    /// Waits until all that was noted has been told.
    pub async fn flushed(&self) {
        loop {
            let told = self.told.notified();
            if self.news().is_empty() {
                return;
            }
            told.await;
        }
    }

    async fn tell_nodes(&self) {
        loop {
            let Some(generation) = self.news().generation else {
                self.nodes_changed.notified().await;
                continue;
            };
            let kind = Kind::NodesChanged(NodesChanged { generation });
            let told = self.append(format!("nodes:{generation}"), kind).await;
            if self.succeeded(told).await {
                let mut news = self.news();
                // A later one may have come meanwhile.
                news.generation.take_if(|noted| *noted == generation);
                self.told.notify_waiters();
            }
        }
    }

    async fn tell_lists(&self) {
        loop {
            let lists = self.news().lists.clone();
            let Some(version) = lists.values().copied().max() else {
                self.lists_changed.notified().await;
                continue;
            };
            let told = self.tell(&lists, version).await;
            if self.succeeded(told).await {
                self.news().lists.retain(|list, noted| lists.get(list) != Some(noted));
                self.told.notify_waiters();
            }
        }
    }

    async fn tell(&self, lists: &BTreeMap<ListKind, u64>, version: u64) -> Result<(), StoreError> {
        let deadline = Instant::now() + CATCH_UP;
        while !self.registry.caught_up(version).await? && Instant::now() < deadline {
            sleep(LOOK).await;
        }
        for (list, version) in lists {
            let kind = Kind::ListChanged(ListChanged { list: *list as i32 });
            self.append(format!("list:{}:{version}", name_of(*list)), kind).await?;
        }
        Ok(())
    }

    async fn append(&self, producer_id: String, kind: Kind) -> Result<(), StoreError> {
        let fact = Fact { producer_id, kind: Some(kind), ..Fact::default() };
        self.log.append(&fact.encode_to_vec(), &fact.producer_id).await?;
        Ok(())
    }

    /// Pauses after a failure.
    async fn succeeded(&self, told: Result<(), StoreError>) -> bool {
        let Err(error) = told else { return true };
        tracing::debug!(error = &error as &dyn std::error::Error, "could not tell yet what changed");
        sleep(jittered(RETRY)).await;
        false
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().expect("nothing panics while holding it")
    }
}

fn list_of(kind: EntryKind) -> ListKind {
    match kind {
        EntryKind::Tool => ListKind::Tools,
        EntryKind::Prompt => ListKind::Prompts,
        EntryKind::Template | EntryKind::Provider => ListKind::Resources,
    }
}

fn name_of(list: ListKind) -> &'static str {
    match list {
        ListKind::Tools => "tools",
        ListKind::Prompts => "prompts",
        ListKind::Resources | ListKind::Unspecified => "resources",
    }
}

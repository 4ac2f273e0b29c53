//! Tells the others what this node was told by the registry: that the set of nodes changed, and that a list did.
//!
//! News merges while it waits, so there is never more than one generation and one version per list to tell. It waits
//! for the gateways to serve the new list before it says so, and for a store that is away.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
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

/// The longest pause between two attempts while the store is away.
const RETRY: Duration = Duration::from_secs(1);

pub(super) struct Herald {
    registry: Arc<dyn Registry>,
    log: Arc<dyn EventLog>,
    news: Mutex<News>,
    /// There is news.
    woken: Notify,
    /// All news was told.
    told: Notify,
}

/// What is yet to be told.
#[derive(Clone, Default)]
struct News {
    generation: Option<u64>,
    /// List kind → the catalogue's version that changed it.
    lists: BTreeMap<i32, u64>,
    /// Some of it is being told right now.
    telling: bool,
}

impl Herald {
    pub fn new(registry: Arc<dyn Registry>, log: Arc<dyn EventLog>) -> Arc<Self> {
        Arc::new(Self { registry, log, news: Mutex::default(), woken: Notify::new(), told: Notify::new() })
    }

    /// Notes news; never waits.
    pub fn tell(&self, announced: &Announced, generation_changed: bool) {
        let mut news = self.news.lock().expect("nothing panics while holding it");
        if generation_changed {
            news.generation = Some(announced.generation);
        }
        for kind in &announced.changed {
            news.lists.insert(list_of(*kind) as i32, announced.version);
        }
        self.woken.notify_one();
    }

    /// Tells news as it comes, without end.
    pub async fn run(&self) {
        loop {
            self.woken.notified().await;
            let mut pause = LOOK;
            while let Some(news) = self.take() {
                if let Err(error) = self.announce(&news).await {
                    tracing::debug!(error = &error as &dyn std::error::Error, "could not tell what changed yet");
                    self.put_back(news);
                    sleep(jittered(pause)).await;
                    pause = (pause * 2).min(RETRY);
                }
            }
            self.told.notify_waiters();
        }
    }

    /// Waits until all that was noted before has been told.
    pub async fn flushed(&self) {
        loop {
            let told = self.told.notified();
            {
                let news = self.news.lock().expect("nothing panics while holding it");
                if !news.telling && news.generation.is_none() && news.lists.is_empty() {
                    return;
                }
            }
            told.await;
        }
    }

    fn take(&self) -> Option<News> {
        let mut news = self.news.lock().expect("nothing panics while holding it");
        if news.generation.is_none() && news.lists.is_empty() {
            news.telling = false;
            return None;
        }
        let taken = std::mem::take(&mut *news);
        news.telling = true;
        Some(taken)
    }

    /// What could not be told waits again, beside what came meanwhile.
    fn put_back(&self, untold: News) {
        let mut news = self.news.lock().expect("nothing panics while holding it");
        news.generation = news.generation.or(untold.generation);
        for (list, version) in untold.lists {
            news.lists.entry(list).or_insert(version);
        }
    }

    async fn announce(&self, news: &News) -> Result<(), StoreError> {
        if let Some(generation) = news.generation {
            let kind = Kind::NodesChanged(NodesChanged { generation });
            self.append(format!("nodes:{generation}"), kind).await?;
        }
        let Some(version) = news.lists.values().copied().max() else { return Ok(()) };
        self.wait_for_gateways(version).await?;
        for (list, version) in &news.lists {
            let name = match ListKind::try_from(*list) {
                Ok(ListKind::Tools) => "tools",
                Ok(ListKind::Prompts) => "prompts",
                _ => "resources",
            };
            self.append(format!("list:{name}:{version}"), Kind::ListChanged(ListChanged { list: *list })).await?;
        }
        Ok(())
    }

    async fn wait_for_gateways(&self, version: u64) -> Result<(), StoreError> {
        let deadline = Instant::now() + CATCH_UP;
        while !self.registry.caught_up(version).await? && Instant::now() < deadline {
            sleep(LOOK).await;
        }
        Ok(())
    }

    async fn append(&self, producer_id: String, kind: Kind) -> Result<(), StoreError> {
        let fact = Fact { producer_id, kind: Some(kind), ..Fact::default() };
        self.log.append(&fact.encode_to_vec(), &fact.producer_id).await?;
        Ok(())
    }
}

fn list_of(kind: EntryKind) -> ListKind {
    match kind {
        EntryKind::Tool => ListKind::Tools,
        EntryKind::Prompt => ListKind::Prompts,
        EntryKind::Template | EntryKind::Provider => ListKind::Resources,
    }
}

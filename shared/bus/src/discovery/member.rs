//! The task that keeps one node in the registry.

use std::{collections::HashSet, pin::pin, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::OptionFuture, stream::SelectAll};
use switchyard_state::{Announced, EXPIRY, Entry, HEARTBEAT, NodeRecord, Registry, Snapshot, StoreError};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_stream::wrappers::WatchStream;

use super::{
    PATIENCE,
    commands::{Asked, Command},
    herald::Herald,
};
use crate::pause::jittered;

/// The longest pause between two attempts while the store is away. Short, because whoever is not back soon after an
/// outage is taken for dead.
const RETRY: Duration = HEARTBEAT;

pub(super) struct Member {
    registry: Arc<dyn Registry>,
    herald: Arc<Herald>,
    record: NodeRecord,
    entries: Vec<watch::Receiver<Vec<Entry>>>,
    seen: watch::Receiver<Option<u64>>,
    snapshot: watch::Sender<Arc<Snapshot>>,
    /// The registry has the record as it is now.
    announced: bool,
    /// The generation as the registry last told it.
    generation: Option<u64>,
    /// The snapshot is older than `generation`.
    stale: bool,
    /// Failed attempts in a row.
    failures: u32,
    /// When the registry did not know this node any more, until the others had time to come back.
    forgotten: Option<Instant>,
}

impl Member {
    pub fn new(
        registry: Arc<dyn Registry>,
        herald: Arc<Herald>,
        record: NodeRecord,
        entries: Vec<watch::Receiver<Vec<Entry>>>,
        seen: watch::Receiver<Option<u64>>,
    ) -> (Self, watch::Receiver<Arc<Snapshot>>) {
        let (snapshot, receiver) = watch::channel(Arc::default());
        let mut member = Self {
            registry,
            herald,
            record,
            entries,
            seen,
            snapshot,
            announced: false,
            generation: None,
            stale: true,
            failures: 0,
            forgotten: None,
        };
        member.gather();
        (member, receiver)
    }

    /// The first announcement. A store that is away does not keep the node from starting.
    pub async fn join(&mut self) -> Result<(), StoreError> {
        match self.keep_up().await {
            Err(StoreError::Away(source)) => {
                self.failed(&StoreError::Away(source));
                Ok(())
            }
            Err(error) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    /// Runs until told to leave, or until nobody can tell it any more.
    pub async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut offers: SelectAll<_> =
            self.entries.iter().map(|entries| WatchStream::from_changes(entries.clone())).collect();
        let mut seen = self.seen.clone();
        loop {
            let next = sleep_until(Instant::now() + self.pause());
            let mut next = pin!(next);
            let offer: OptionFuture<_> = (!offers.is_empty()).then(|| offers.next()).into();
            let mut asked = Asked::default();
            tokio::select! {
                () = &mut next => {}
                Some(_) = offer => self.gather(),
                Ok(()) = seen.changed() => {}
                command = commands.recv() => match command {
                    Some(command) => asked.note(command),
                    None => return,
                }
            }
            // All who ask meanwhile share one answer.
            while let Ok(command) = commands.try_recv() {
                asked.note(command);
            }
            if asked.to_leave() {
                self.leave().await;
                asked.answer();
                return;
            }
            self.stale |= asked.to_refresh();
            match self.keep_up().await {
                Ok(()) => self.succeeded(),
                Err(error) => self.failed(&error),
            }
            asked.answer();
        }
    }

    /// One round: the sign of life, and whatever follows from its answer.
    async fn keep_up(&mut self) -> Result<(), StoreError> {
        if !self.announced {
            self.announce().await?;
        }
        let seen = *self.seen.borrow();
        let heartbeat = self.registry.heartbeat(&self.record.id, seen).await?;
        self.learn(&heartbeat.now);
        if !heartbeat.known {
            // Perhaps the registry lost everybody, and the others are about to come back too.
            self.forgotten = Some(Instant::now());
            self.announce().await?;
        }
        if self.forgotten.is_some_and(|since| since.elapsed() > EXPIRY) {
            self.forgotten = None;
            self.stale = true;
        }
        if self.stale {
            let snapshot = self.registry.nodes().await?;
            self.generation = Some(snapshot.generation);
            self.stale = false;
            self.show(snapshot);
        }
        Ok(())
    }

    async fn announce(&mut self) -> Result<(), StoreError> {
        self.announced = false;
        let announced = self.registry.announce(&self.record).await?;
        self.announced = true;
        self.learn(&announced);
        Ok(())
    }

    fn learn(&mut self, now: &Announced) {
        let moved = self.generation != Some(now.generation);
        self.generation = Some(now.generation);
        self.stale |= moved;
        if moved || !now.changed.is_empty() {
            self.herald.note(now, moved);
        }
    }

    /// Takes over what the services offer now.
    fn gather(&mut self) {
        let mut names = HashSet::new();
        let mut entries = Vec::new();
        for offered in &mut self.entries {
            for entry in offered.borrow_and_update().iter() {
                if names.insert((entry.kind, entry.name.clone())) {
                    entries.push(entry.clone());
                }
            }
        }
        if entries != self.record.entries {
            self.record.entries = entries;
            self.announced = false;
        }
        if self.generation.is_none() {
            // Nobody else is known yet.
            self.show(Snapshot::default());
        }
    }

    async fn leave(&mut self) {
        match self.registry.leave(&self.record.id).await {
            Ok(left) => {
                self.learn(&left);
                // The herald runs beside this task; what it cannot tell in time, an expired heartbeat tells later.
                let _ = timeout(PATIENCE, self.herald.flushed()).await;
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "could not leave the registry");
            }
        }
    }

    fn pause(&self) -> Duration {
        if self.failures == 0 {
            return HEARTBEAT;
        }
        let longest = Duration::from_millis(50).saturating_mul(1 << self.failures.min(6)).min(RETRY);
        jittered(longest)
    }

    fn failed(&mut self, error: &StoreError) {
        if self.failures == 0 {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "the node registry is away, keeping the nodes as they were"
            );
        }
        self.failures = self.failures.saturating_add(1);
    }

    fn succeeded(&mut self) {
        if self.failures > 0 {
            tracing::info!("the node registry is back");
        }
        self.failures = 0;
    }

    /// Shows a new picture, this node always in it; and for a while after the registry forgot it, whoever else was there.
    fn show(&self, mut snapshot: Snapshot) {
        if self.forgotten.is_some() {
            let before = self.snapshot.borrow();
            for node in &before.nodes {
                if let Err(place) = snapshot.nodes.binary_search_by(|known| known.id.cmp(&node.id)) {
                    snapshot.nodes.insert(place, node.clone());
                }
            }
            for (name, digest) in &before.listed {
                snapshot.listed.entry(name.clone()).or_insert_with(|| digest.clone());
            }
        }
        if let Err(place) = snapshot.nodes.binary_search_by(|node| node.id.cmp(&self.record.id)) {
            snapshot.nodes.insert(place, self.record.clone());
            for entry in &self.record.entries {
                let listed = snapshot.listed.entry((entry.kind, entry.name.clone()));
                listed.or_insert_with(|| entry.digest.clone());
            }
        }
        self.snapshot.send_if_modified(|shown| {
            let new = **shown != snapshot;
            if new {
                *shown = Arc::new(snapshot);
            }
            new
        });
    }
}

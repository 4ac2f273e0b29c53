//! Which nodes there are: keeps this one in the registry, and the picture of the others current.
//!
//! One task announces this node again whenever what it offers changes or the registry forgot it, sends its heartbeats,
//! and reads the nodes again when the registry's generation moved. While the store is away the last picture stays as it
//! is, this node keeps trying, and all recovers by itself. What changed for others is told by the herald. The task ends
//! with the last [`Discovery`], or when the node leaves.

mod commands;
mod herald;
mod member;

use std::{sync::Arc, time::Duration};

use switchyard_state::{Entry, EventLog, NodeRecord, Registry, Snapshot, StoreError};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};

use commands::Command;
use herald::Herald;
use member::Member;

/// How many commands wait for the task; those who send more wait themselves.
const COMMANDS: usize = 64;

/// How long [`Discovery::refresh`] and [`Discovery::leave`] wait for the store.
const PATIENCE: Duration = Duration::from_secs(2);

/// This node's membership. Clones share it.
#[derive(Clone)]
pub struct Discovery {
    snapshot: watch::Receiver<Arc<Snapshot>>,
    seen: Arc<watch::Sender<Option<u64>>>,
    commands: mpsc::Sender<Command>,
    herald: Arc<Herald>,
}

impl Discovery {
    /// Announces the node with the union of `entries`, and keeps doing so on the calling runtime.
    ///
    /// A store that is away is waited for in the background; until then the node knows only itself.
    ///
    /// # Errors
    /// What the registry holds cannot be read.
    pub async fn start(
        registry: Arc<dyn Registry>,
        log: Arc<dyn EventLog>,
        record: NodeRecord,
        entries: Vec<watch::Receiver<Vec<Entry>>>,
    ) -> Result<Self, StoreError> {
        let herald = Herald::new(registry.clone(), log);
        let (seen, seen_changes) = watch::channel(None);
        let (mut member, snapshot) = Member::new(registry, herald.clone(), record, entries, seen_changes);
        member.join().await?;

        let (commands, queue) = mpsc::channel(COMMANDS);
        let telling = herald.clone();
        // Ends when the last sender of commands is gone, or with the command to leave.
        tokio::spawn(async move {
            tokio::select! {
                () = member.run(queue) => {}
                () = telling.run() => {}
            }
        });
        Ok(Self { snapshot, seen: Arc::new(seen), commands, herald })
    }

    /// Every live node, this one always among them.
    pub fn snapshot(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshot.clone()
    }

    /// Reads the nodes again, once for all who ask at the same time, and returns them; the last ones known when the
    /// store is away.
    pub async fn refresh(&self) -> Arc<Snapshot> {
        let (done, answer) = oneshot::channel();
        let refreshed = async {
            if self.commands.send(Command::Refresh(done)).await.is_ok() {
                let _ = answer.await;
            }
        };
        // Whether or not it was in time, the newest picture is the answer.
        let _ = timeout(PATIENCE, refreshed).await;
        self.snapshot.borrow().clone()
    }

    /// Says which version of the catalogue this gateway serves from; the registry hears of it at once.
    pub fn set_seen(&self, version: u64) {
        self.seen.send_if_modified(|seen| seen.replace(version) != Some(version));
    }

    /// Waits until everything that this node's coming changed has been told, as far as the store lets it within two
    /// seconds. Whoever connects after that hears nothing of it.
    pub async fn settled(&self) {
        if timeout(PATIENCE, self.herald.flushed()).await.is_err() {
            tracing::warn!("could not tell the others of this node in time");
        }
    }

    /// Takes the node out of the registry and tells the others, as far as the store lets it within two seconds.
    pub async fn leave(&self) {
        let (done, left) = oneshot::channel();
        let leaving = async {
            if self.commands.send(Command::Leave(done)).await.is_ok() {
                let _ = left.await;
            }
        };
        if timeout(PATIENCE, leaving).await.is_err() {
            tracing::warn!("could not leave the registry in time");
        }
    }
}

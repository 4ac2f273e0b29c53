//! Changes on their way to whoever takes them.
//!
//! They merge while nobody does, and an update only says "look again", so at most one is kept for each file: bounded
//! by the number of files, and the last change of each is never lost.

use std::{
    collections::BTreeSet,
    mem,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::{Notify, watch};

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The URIs that a read may answer differently now: files that changed, came (back) or went.
    pub updated: BTreeSet<String>,
    /// The set of files is not what it was.
    pub listed: bool,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.updated.is_empty() && !self.listed
    }

    /// Adds later changes.
    pub fn merge(&mut self, later: Self) {
        self.updated.extend(later.updated);
        self.listed |= later.listed;
    }
}

/// Changes that nobody has taken yet.
#[derive(Debug)]
pub(super) struct Outbox {
    changes: Mutex<Changes>,
    /// Something was put in, or the box was closed.
    news: Notify,
    closed: AtomicBool,
    ready: watch::Sender<bool>,
}

impl Default for Outbox {
    fn default() -> Self {
        let (ready, _) = watch::channel(false);
        Self { changes: Mutex::default(), news: Notify::new(), closed: AtomicBool::new(false), ready }
    }
}

impl Outbox {
    pub fn put(&self, changes: Changes) {
        if !changes.is_empty() {
            self.changes.lock().expect("nothing panics while holding it").merge(changes);
            self.news.notify_one();
        }
    }

    /// Everything put in since the last call; `None` once the box is closed and empty.
    pub async fn take(&self) -> Option<Changes> {
        loop {
            let is_closed = self.closed.load(Ordering::Acquire);
            let changes = mem::take(&mut *self.changes.lock().expect("nothing panics while holding it"));
            if !changes.is_empty() {
                return Some(changes);
            }
            if is_closed {
                return None;
            }
            // A permit is kept for us when something comes before we wait.
            self.news.notified().await;
        }
    }

    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.ready.send_replace(true);
        self.news.notify_one();
    }

    pub fn set_ready(&self) {
        self.ready.send_replace(true);
    }

    pub fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    pub async fn ready(&self) {
        // The sender is ours, so it cannot be gone.
        let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
    }
}

//! Keeping the picture of a root up to date, and telling what changed.
//!
//! The system's notices only say where to look (`notices`, `system`); what changed is found by comparing the disk with the
//! picture (`worker`), so a notice that is lost, doubled or late costs a look and never a change. Changes merge
//! until somebody takes them (`outbox`): a slow taker delays nothing and misses nothing.

mod notices;
mod outbox;
mod system;
mod worker;

use std::{
    io,
    sync::{Arc, atomic::Ordering},
    thread,
};

use self::{notices::Notices, outbox::Outbox, worker::Worker};
use crate::{FilesError, Root};

pub use self::outbox::Changes;

/// The watch over a root, which ends when this is dropped.
///
/// It has a thread of its own, which ends with what it is looking at; nobody waits for it.
#[derive(Debug)]
pub struct Watching {
    notices: Arc<Notices>,
    outbox: Arc<Outbox>,
}

impl Root {
    /// Begins to keep the picture of the served files. The first look at the tree is made in the background:
    /// [`Watching::ready`] tells when it is done.
    ///
    /// # Errors
    /// [`FilesError::Watched`] when somebody watches this root already; [`FilesError::Root`] when no thread can be started.
    pub fn watch(&self) -> Result<Watching, FilesError> {
        let path = || self.path().to_owned();
        if self.inner.watched.swap(true, Ordering::AcqRel) {
            return Err(FilesError::Watched { path: path() });
        }
        let notices = Arc::new(Notices::default());
        let outbox = Arc::new(Outbox::default());
        let worker = Worker::new(self.inner.clone(), notices.clone(), outbox.clone());
        // Owned by the `Watching`, whose drop stops it.
        let started: io::Result<_> = thread::Builder::new().name("files-watch".to_owned()).spawn(|| worker.run());
        started.map_err(|source| FilesError::Root { path: path(), source })?;
        Ok(Watching { notices, outbox })
    }
}

impl Watching {
    /// Waits until the picture is complete for the first time.
    pub async fn ready(&self) {
        self.outbox.ready().await;
    }

    /// Whether the picture has been completed once.
    pub fn is_ready(&self) -> bool {
        self.outbox.is_ready()
    }

    /// What changed since the last call, as soon as anything did; `None` once nobody watches any more. Dropping the
    /// future loses nothing.
    pub async fn next(&self) -> Option<Changes> {
        self.outbox.take().await
    }

    /// Looks at the whole tree soon, whatever the system tells.
    pub fn rescan(&self) {
        self.notices.look_at_all();
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.notices.stop();
    }
}

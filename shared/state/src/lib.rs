//! What nodes share: sessions, the event log, reply logs, tasks and the node registry.
//!
//! Each kind is one trait with two implementations, [`memory`] for one process and [`redis`] for a cluster, and
//! one suite in `contract` that both pass. Entries of the log are opaque bytes here; whoever appends them knows
//! what they mean.
//!
//! The feature `testing` adds `contract` and a Redis server for tests (`testing`).

#[cfg(feature = "testing")]
pub mod contract;
mod log;
pub mod memory;
pub mod redis;
mod registry;
mod reply_logs;
mod sessions;
mod tasks;
#[cfg(feature = "testing")]
pub mod testing;

use std::{fmt::Write, sync::Arc, time::Duration};

pub use log::{Appended, Batch, EventLog, LogEntry, LogLimits, Offset, Position};
pub use registry::{
    Announced, EXPIRY, Entry, EntryKind, HEARTBEAT, Heartbeat, NodeId, NodeRecord, Registry, Secret, Snapshot,
    TaskSupport,
};
pub use reply_logs::{ReplyBatch, ReplyId, ReplyLimits, ReplyLog};
pub use sessions::{Floor, FloorChange, Session, SessionId, SessionStore};
pub use tasks::{Outcome, Task, TaskCall, TaskId, TaskLimits, TaskStatus, TaskStore};

/// Everything that nodes share.
#[derive(Clone)]
pub struct Stores {
    /// Legacy sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// The one ordered log of facts.
    pub log: Arc<dyn EventLog>,
    /// What legacy clients may resume.
    pub replies: Arc<dyn ReplyLog>,
    /// Who is there and what they offer.
    pub registry: Arc<dyn Registry>,
    /// Calls that go on after their reply.
    pub tasks: Arc<dyn TaskStore>,
}

/// How much the stores keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of the event log.
    pub log: LogLimits,
    /// Of replies.
    pub replies: ReplyLimits,
    /// Of tasks.
    pub tasks: TaskLimits,
}

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store cannot be reached, refused, or did not answer in time; the same request may succeed later.
    #[error("the state store is away")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),

    /// What the store holds cannot be read.
    #[error("the record `{key}` cannot be read")]
    Record {
        /// Where it is.
        key: String,
        /// What is wrong with it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// The store was set up wrongly. Only connecting says so.
    #[error("the store option `{option}` {reason}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// What is wrong with it, without its value, which may be secret.
        reason: String,
    },
}

/// No time is longer, so that none overflows when it is added to the time now.
const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// A new name for one life of the log: 128 random bits in hexadecimal.
fn random_epoch() -> String {
    let bytes: [u8; 16] = rand::random();
    bytes.iter().fold(String::with_capacity(32), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written to it");
        text
    })
}

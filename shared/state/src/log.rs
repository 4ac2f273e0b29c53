//! The event log: one total order of small facts for the whole cluster.
//!
//! Offsets grow, but not by one: they follow the clock, in microseconds, so that a log which fell back to an older
//! copy of itself never gives one out twice. Every entry knows the one before it, so a reader is told when it lost
//! its place.

use std::{
    num::{NonZeroU64, NonZeroUsize},
    time::Duration,
};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::StoreError;

/// How much of the log is kept. A reader that falls further behind is told that it lost its place.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct LogLimits {
    /// The most entries that are kept; Redis may keep a hundred more.
    pub max_entries: NonZeroUsize,

    /// How long an entry is kept, in seconds.
    pub max_age_secs: NonZeroU64,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            max_entries: NonZeroUsize::new(65_536).expect("not zero"),
            max_age_secs: NonZeroU64::new(60 * 60).expect("not zero"),
        }
    }
}

impl LogLimits {
    pub(crate) fn max_age(&self) -> Duration {
        Duration::from_secs(self.max_age_secs.get())
    }
}

/// How long a producer's id is remembered.
pub(crate) const REPEATS: Duration = Duration::from_secs(60);

/// A place in the log: an entry's, or the one before the first entry of an epoch, which is 0. Offsets grow with
/// every entry, stay below 2^53, and compare only within one epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Offset(pub u64);

/// The end of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Names this life of the log; a log that lost its data begins a new one.
    pub epoch: String,
    /// The newest entry's offset, or the one before the first to come.
    pub last: Offset,
}

/// What an entry became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Where the entry is.
    pub offset: Offset,
    /// Its producer had appended it before; nothing was added.
    pub repeated: bool,
}

/// An entry and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Where it is.
    pub offset: Offset,
    /// What was appended, unchanged.
    pub bytes: Vec<u8>,
}

/// What follows an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The log's epoch now.
    pub epoch: String,
    /// In order of their offsets, at most as many as were asked for.
    pub entries: Vec<LogEntry>,
    /// Entries after the offset asked for were trimmed, or this epoch's log never gave that offset out: the reader
    /// lost its place and must take everything as changed. `entries` is empty then and `resume` is the log's end.
    pub lost: bool,
    /// Where to read on: the last entry's offset, else the offset asked for, else (after `lost`) the log's end.
    pub resume: Offset,
}

/// One totally ordered log of facts.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Appends an entry and returns once it is durable. A `producer_id` that was appended within the last minute
    /// adds nothing and returns the first one's offset; an empty one is never a repeat.
    async fn append(&self, bytes: &[u8], producer_id: &str) -> Result<Appended, StoreError>;

    /// The end of the log.
    async fn position(&self) -> Result<Position, StoreError>;

    /// At most `limit` (at least 1) entries after `after`, an offset that the log of `epoch` gave out. Waits up to
    /// `wait` for the first one to come. Dropping the future ends the wait.
    async fn read(&self, epoch: &str, after: Offset, limit: usize, wait: Duration) -> Result<Batch, StoreError>;
}

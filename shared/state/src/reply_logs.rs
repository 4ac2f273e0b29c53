//! Reply logs: what the stream of one call of a legacy session carried, so that any node can go on with it.
//!
//! An event's number may go to the client only after its append. A log is bounded: notices that came first leave it
//! first, and a reader sees that by the numbers; the newest event always stays, for it may be the result.
//!
//! Logs belong to their session: they are removed with it, and it has a bounded number of them.

use std::{
    num::{NonZeroU64, NonZeroUsize},
    time::Duration,
};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{NodeId, SessionId, StoreError};

/// How much is kept of the replies that a legacy client may resume.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ReplyLimits {
    /// The most events that are kept of one reply.
    pub max_events: NonZeroUsize,

    /// The most bytes that are kept of one reply; only its last event alone may be larger.
    pub max_bytes: NonZeroUsize,

    /// The most replies that are kept of one session. When one more begins, the ended one that began first is
    /// forgotten, or without any, the one that began first.
    pub max_replies: NonZeroUsize,

    /// How long a reply is kept after it has ended, in seconds.
    pub keep_secs: NonZeroU64,
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self {
            max_events: NonZeroUsize::new(256).expect("not zero"),
            max_bytes: NonZeroUsize::new(1024 * 1024).expect("not zero"),
            max_replies: NonZeroUsize::new(64).expect("not zero"),
            keep_secs: NonZeroU64::new(5 * 60).expect("not zero"),
        }
    }
}

impl ReplyLimits {
    pub(crate) fn keep(&self) -> Duration {
        Duration::from_secs(self.keep_secs.get())
    }
}

/// Names the reply to one call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyId {
    /// Whose call it is.
    pub session: SessionId,
    /// Names the stream within the session. May come from a client, as part of its `Last-Event-ID`.
    pub stream: String,
}

/// What follows an event of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyBatch {
    /// Numbers and messages, in order; a gap in the numbers was dropped.
    pub events: Vec<(u64, Vec<u8>)>,
    /// The call has ended: after `events` nothing comes.
    pub closed: bool,
    /// The node that runs the call, or ran it.
    pub node: NodeId,
    /// The ids of the requests that the stream answers, as the log was opened with.
    pub requests: String,
}

/// The logs of replies, kept where any gateway can find them.
#[async_trait]
pub trait ReplyLog: Send + Sync {
    /// Notes that `node` runs the calls of these request ids, a JSON array. The log is gone `ttl` after it was last
    /// opened or appended to. Opened again, it keeps what it has, so a call that is silent for long keeps its log by
    /// opening it now and then.
    async fn open(&self, id: &ReplyId, node: &NodeId, requests: &str, ttl: Duration) -> Result<(), StoreError>;

    /// Appends an event and returns its number: 1, 2, 3 and so on. `None` when there is no such log, or it is closed.
    async fn append(&self, id: &ReplyId, message: &[u8]) -> Result<Option<u64>, StoreError>;

    /// Notes that the call has ended. Its log is kept for [`ReplyLimits::keep_secs`] from then on.
    async fn close(&self, id: &ReplyId) -> Result<(), StoreError>;

    /// What follows event number `after`, 0 being the place before the first; a number that the log never gave out,
    /// as after a failover that lost some, counts as 0. Waits up to `wait` for an event or the end of the call.
    /// `None` when there is no such log; one that is removed meanwhile is noticed when the wait is over. Dropping the
    /// future ends the wait.
    async fn read(&self, id: &ReplyId, after: u64, wait: Duration) -> Result<Option<ReplyBatch>, StoreError>;
}

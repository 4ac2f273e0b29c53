//! Legacy sessions: one record each, which any gateway reads and changes.
//!
//! Every change that other gateways must see is written together with its entry of the event log, so the log's
//! order is the order of the changes. A record is gone when it was not touched for its time to live.

use std::{collections::BTreeMap, fmt, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{NodeId, Offset, StoreError};

/// Names a session; unguessable, visible ASCII.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub String);

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What the cluster knows of a legacy client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Names it.
    pub id: SessionId,
    /// The negotiated revision, such as `2025-06-18`.
    pub revision: String,
    /// Whose it is; empty for anonymous.
    pub principal: String,
    /// The client's capabilities as it declared them: one JSON object.
    pub client_capabilities: String,
    /// The client's `name/version`, for the log.
    pub client: String,
    /// The client has sent `notifications/initialized`.
    pub ready: bool,
    /// The least severe level of log messages that it wants, once it has set one.
    pub log_level: Option<String>,
    /// The URIs it subscribed to, each with the offset after which it hears of them.
    pub subscriptions: BTreeMap<String, Offset>,
    /// The stream on which its facts leave.
    pub floor: Option<Floor>,
    /// The offset up to which its facts have left, as far as is known: at creation, whenever the floor changes,
    /// and when its holder ends cleanly.
    pub left: Offset,
    /// The log's epoch in which `left` and the floor's offset count. A subscription may date from an earlier one;
    /// its offset is then below all later ones.
    pub epoch: String,
}

/// The right to carry a session's facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// The stream that holds it.
    pub stream: String,
    /// The gateway that has this stream.
    pub node: NodeId,
    /// It carries what comes after this offset.
    pub at: Offset,
}

/// How the floor changed hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloorChange {
    /// The new holder carries what comes after this offset.
    pub at: Offset,
    /// Who held it until then.
    pub before: Option<Floor>,
    /// The record's `left` before the change.
    pub left: Offset,
}

/// Sessions, kept where any gateway can find them.
///
/// Whatever takes an `entry` appends it to the event log in the same step, and does neither when there is nothing
/// to change.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Saves a new session, which is gone `ttl` after it was last touched. Its `left` and `epoch` become the
    /// end of the log; the rest is kept as given.
    async fn create(&self, session: &Session, ttl: Duration) -> Result<(), StoreError>;

    /// The session, or `None` when it never was, was removed, or has expired. Touches it.
    async fn load(&self, id: &SessionId, ttl: Duration) -> Result<Option<Session>, StoreError>;

    /// Touches sessions whose streams are open; unknown ones are left out of the answer.
    async fn touch(&self, ids: &[SessionId], ttl: Duration) -> Result<Vec<SessionId>, StoreError>;

    /// Notes that the client is ready. `false` when there is no such session.
    async fn set_ready(&self, id: &SessionId, entry: &[u8]) -> Result<bool, StoreError>;

    /// Sets the log level. `false` when there is no such session.
    async fn set_log_level(&self, id: &SessionId, level: &str) -> Result<bool, StoreError>;

    /// Subscribes to `uri` from the entry's offset on, which is returned; a repeated subscription keeps its
    /// first offset, and returns that. `None` when there is no such session.
    async fn subscribe(&self, id: &SessionId, uri: &str, entry: &[u8]) -> Result<Option<Offset>, StoreError>;

    /// Ends a subscription. `false` when there is no such session or subscription.
    async fn unsubscribe(&self, id: &SessionId, uri: &str, entry: &[u8]) -> Result<bool, StoreError>;

    /// Gives the floor to a stream, from the entry's offset on, and sets `left` to that offset, and `epoch` to the
    /// log's. `None` when there is no such session.
    async fn take_floor(
        &self,
        id: &SessionId,
        stream: &str,
        node: &NodeId,
        entry: &[u8],
    ) -> Result<Option<FloorChange>, StoreError>;

    /// Ends a stream's hold of the floor, if it still has it, and notes that facts up to `left` have left.
    /// `false` when it had it no more; nothing is noted then.
    async fn release_floor(&self, id: &SessionId, stream: &str, left: Offset) -> Result<bool, StoreError>;

    /// Removes a session. `false` when there was none.
    async fn remove(&self, id: &SessionId, entry: &[u8]) -> Result<bool, StoreError>;
}

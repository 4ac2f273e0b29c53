//! The node registry: who is there, where, and what they offer; and what they must have in common, leases and secrets.
//!
//! Entries of one name may differ between nodes, as they do while a new version is rolled out: the digest that
//! most live nodes have is the listed one, on a tie the one announced last. The catalogue's *version* grows only
//! when something listed changed; the *generation* grows with every change of the set of nodes or their entries.
//!
//! The numbers only grow, and not always by one; after the store lost its data they begin above the old ones.
//!
//! A node that sends no heartbeat for [`EXPIRY`] is removed by the next announcement, heartbeat or leave of any
//! other. After an outage of the store itself, seen by nobody having sent a sign of life for two heartbeats,
//! none is removed for another [`EXPIRY`], so that all had the time to send some.

use std::{collections::BTreeMap, fmt, time::Duration};

use async_trait::async_trait;
use rand::{TryRng, rngs::SysRng};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// Names a node; unique even for nodes started in the same instant from one image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub String);

impl fmt::Display for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a node announces of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRecord {
    /// Names it.
    pub id: NodeId,
    /// Where its bus listens, such as `10.0.0.7:3100`; empty when it can only be reached in process.
    pub address: String,
    /// The version of its program.
    pub version: String,
    /// The contracts it serves, such as `tools`.
    pub roles: Vec<String>,
    /// What it offers under them.
    pub entries: Vec<Entry>,
}

/// The kinds of things that nodes offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EntryKind {
    /// A tool, named by its name.
    Tool,
    /// A prompt, named by its name.
    Prompt,
    /// A resource template, named by its URI template.
    Template,
    /// A provider of resources, named by its configured name; its `prefix` says which URIs it owns.
    Provider,
}

/// One thing that a node offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Names it within its kind.
    pub name: String,
    /// Its definition in the newest revision's shape: one JSON object.
    pub definition: String,
    /// A hash of the definition and everything else that must agree between nodes, such as a provider's root.
    pub digest: String,
    /// Client capabilities without which it cannot be used, in the shape of a client's capabilities; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub needs: String,
    /// The URIs that a provider owns all begin with this.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// A call may be repeated when nobody knows whether the first one ran.
    #[serde(default)]
    pub repeatable: bool,
    /// How long one call may go without a sign of life, in milliseconds; 0 for the gateway's default.
    #[serde(default)]
    pub timeout_ms: u64,
    /// Whether a call may go on as a task.
    #[serde(default, skip_serializing_if = "TaskSupport::is_never")]
    pub tasks: TaskSupport,
}

/// Whether a call may go on as a task, for clients that can follow one. For all others it runs until it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskSupport {
    /// It never does.
    #[default]
    Never,
    /// It may, when it takes long.
    Optional,
    /// It always does; a stateless client that cannot follow tasks is refused.
    Required,
}

impl TaskSupport {
    /// Whether a call is never a task.
    pub const fn is_never(&self) -> bool {
        matches!(self, Self::Never)
    }
}

/// What an announcement, a leave or an expiry did to the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// The catalogue's version now.
    pub version: u64,
    /// The registry's generation now.
    pub generation: u64,
    /// The kinds whose listed entries changed. Whoever is told so announces it, once the live gateways have
    /// caught up with `version`; nobody else is told.
    pub changed: Vec<EntryKind>,
}

/// The answer to a sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The registry knows this node. `false` asks it to announce itself again.
    pub known: bool,
    /// Nodes that were found dead were removed on this occasion, and this is what it did; also without any,
    /// the version and generation as they are.
    pub now: Announced,
}

/// Every live node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The catalogue's version that these nodes make.
    pub version: u64,
    /// The registry's generation.
    pub generation: u64,
    /// Ordered by id.
    pub nodes: Vec<NodeRecord>,
    /// The digest that is listed under each name: gateways serve exactly these.
    pub listed: BTreeMap<(EntryKind, String), String>,
}

/// Who is there and what they offer.
#[async_trait]
pub trait Registry: Send + Sync {
    /// Makes a node known, or changes what is known of it. Counts as a heartbeat. What it offers unchanged keeps
    /// its place among what was announced before.
    async fn announce(&self, node: &NodeRecord) -> Result<Announced, StoreError>;

    /// A sign of life, at least every [`HEARTBEAT`]; `seen` is the catalogue version that a gateway serves from,
    /// `None` from other nodes.
    async fn heartbeat(&self, node: &NodeId, seen: Option<u64>) -> Result<Heartbeat, StoreError>;

    /// Takes a node out, because it is about to stop. Unknown ones change nothing.
    async fn leave(&self, node: &NodeId) -> Result<Announced, StoreError>;

    /// Every live node.
    async fn nodes(&self) -> Result<Snapshot, StoreError>;

    /// Whether every live gateway, which is a node with the role `gateway`, has reported `version` or a later one.
    async fn caught_up(&self, version: u64) -> Result<bool, StoreError>;

    /// Takes, or keeps, the lease called `name` for `ttl`. `false` while another node has it.
    async fn lease(&self, name: &str, node: &NodeId, ttl: Duration) -> Result<bool, StoreError>;

    /// Gives a lease back, if this node has it.
    async fn release(&self, name: &str, node: &NodeId) -> Result<(), StoreError>;

    /// The keys of the secret called `name`, the newest first, which whoever asks first makes: random, and the same
    /// for all nodes. Whoever keeps them asks anew every hour or so, and when something was made with a key that it
    /// does not know: a secret that nobody asks for is forgotten after a day.
    async fn secret(&self, name: &str) -> Result<Vec<Secret>, StoreError>;

    /// Makes a new key of that secret the newest one, and keeps those that there are for `keep`; of many only the
    /// newest ones.
    async fn rotate(&self, name: &str, keep: Duration) -> Result<(), StoreError>;
}

/// A key that the nodes share. Never printed.
pub type Secret = [u8; 32];

/// A new key, as random as the system can.
pub(crate) fn random_secret() -> Result<Secret, StoreError> {
    let mut secret = Secret::default();
    SysRng.try_fill_bytes(&mut secret).map_err(|error| StoreError::Away(error.into()))?;
    Ok(secret)
}

/// The most keys that a secret has.
pub(crate) const MAX_SECRETS: usize = 16;

/// How often a node sends a sign of life.
pub const HEARTBEAT: Duration = Duration::from_millis(500);

/// How long a node without a sign of life is still taken for alive.
pub const EXPIRY: Duration = Duration::from_secs(2);

/// When nobody sent a sign of life for this long, the store was away rather than every node dead.
pub(crate) const SILENCE: Duration = Duration::from_secs(1);

/// The role of the nodes whose reports [`Registry::caught_up`] compares.
pub(crate) const GATEWAY: &str = "gateway";

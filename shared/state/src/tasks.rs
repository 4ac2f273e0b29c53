//! Tasks: calls that go on after their reply, and that any gateway answers for.
//!
//! A task runs at one node, which gives a sign of life at least every [`HEARTBEAT`](crate::HEARTBEAT). It may ask the
//! client for input; it runs nowhere then, and once all answers are there, one node claims it and runs it on. A task
//! that has ended changes no more. Its time to live runs from its creation; after that it is gone for whoever asks, and
//! [`TaskStore::expire`] gives it out one last time, to exactly one caller.
//!
//! Nobody watches over silent nodes: whoever loads a task learns whether it is an orphan, and may fail it. A silence of
//! [`EXPIRY`](crate::EXPIRY) only makes the first who loads it doubt; when another [`EXPIRY`](crate::EXPIRY) brought no
//! sign of life either, the task is one. So nobody is taken for dead because the store was away.

use std::{collections::BTreeMap, fmt, num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NodeId, StoreError};

/// How many tasks are kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TaskLimits {
    /// The most tasks that one principal has at a time, ended ones included until their time to live is over. All
    /// anonymous clients are one principal.
    pub max_per_principal: NonZeroUsize,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self { max_per_principal: NonZeroUsize::new(1_000).expect("not zero") }
    }
}

/// Names a task; unguessable, visible ASCII.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId(pub String);

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The call that became a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCall {
    /// Whose it is; empty for anonymous. Nobody else may hear of it.
    pub principal: String,
    /// The tool that it calls.
    pub tool: String,
    /// One JSON object, as it was sent.
    pub arguments: Vec<u8>,
    /// What else the call came with, as its node encodes it.
    pub context: Vec<u8>,
    /// How long the client should leave between two polls, in milliseconds.
    pub poll_interval_ms: u64,
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// It runs, or waits for a node that runs it on.
    Working,
    /// It waits for the client's answers.
    InputRequired,
    /// It has ended with a result.
    Completed,
    /// It has ended with an error.
    Failed,
    /// It has ended because somebody wanted it to.
    Cancelled,
}

impl TaskStatus {
    /// Whether the task has ended, and changes no more.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// How a task ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The call's result, which may say that the tool failed: JSON, or as its node encodes it.
    Result(Vec<u8>),
    /// Why there is no result, likewise.
    Error(Vec<u8>),
}

/// What the cluster knows of a task. Times are the store's, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Names it.
    pub id: TaskId,
    /// What it does.
    pub call: TaskCall,
    /// Where it is.
    pub status: TaskStatus,
    /// A word about that for a person; empty for none.
    pub message: String,
    /// When it was created.
    pub created_ms: u64,
    /// When it last changed; signs of life are no change.
    pub updated_ms: u64,
    /// How long it is kept from its creation on.
    pub ttl_ms: u64,
    /// The node that runs it, or ran it when it ended. `None` while it waits for answers or for a node.
    pub node: Option<NodeId>,
    /// How often it has asked for input.
    pub round: u64,
    /// The questions of the last round, each one JSON object, under their keys; none once it has ended.
    pub requests: BTreeMap<String, Vec<u8>>,
    /// The answers to them that have come, each one JSON value.
    pub answers: BTreeMap<String, Vec<u8>>,
    /// What its handler wants to know when it runs on.
    pub state: Vec<u8>,
    /// How it ended; `None` before, and for a cancelled one.
    pub outcome: Option<Outcome>,
    /// It should run, but the node that runs it is dead, or none came to run it on: whoever sees that calls
    /// [`TaskStore::fail_orphan`].
    pub orphan: bool,
}

/// Tasks, kept where any node can find them.
///
/// Whatever changes a task returns it as it is then, and `None` when it changed nothing, because there is no such task,
/// or it is not in a state for that.
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// Saves a new task, which `node` runs, and returns once it is durable. `None` when its principal has as many as it
    /// may have. One that is there already is left as it is.
    async fn create(
        &self,
        id: &TaskId,
        call: &TaskCall,
        node: &NodeId,
        ttl: Duration,
    ) -> Result<Option<Task>, StoreError>;

    /// The task, or `None` when it never was, or its time to live is over.
    async fn load(&self, id: &TaskId) -> Result<Option<Task>, StoreError>;

    /// A sign of life for tasks that `node` runs. Returns those that it should go on with: the others have ended, or
    /// are another node's now.
    async fn heartbeat(&self, node: &NodeId, ids: &[TaskId]) -> Result<Vec<TaskId>, StoreError>;

    /// Sets the message of a task that `node` runs.
    async fn report(&self, id: &TaskId, node: &NodeId, message: &str) -> Result<Option<Task>, StoreError>;

    /// Has a task that `node` runs wait for answers to `requests`, which take the place of earlier ones. A key should
    /// not come twice in one task; [`Task::round`] helps with that. Without requests it waits for a node at once.
    async fn need_input(
        &self,
        id: &TaskId,
        node: &NodeId,
        requests: &BTreeMap<String, Vec<u8>>,
        state: &[u8],
    ) -> Result<Option<Task>, StoreError>;

    /// Notes answers to a task that waits for some. Keys that it did not ask for, or has the answer to, are ignored.
    /// The one caller who brings the last answer gets a task that is working, and sees to it that a node claims it.
    async fn answer(&self, id: &TaskId, answers: &BTreeMap<String, Vec<u8>>) -> Result<Option<Task>, StoreError>;

    /// Lets `node` run on a task that has all answers. Of several nodes one gets it.
    async fn claim(&self, id: &TaskId, node: &NodeId) -> Result<Option<Task>, StoreError>;

    /// Ends a task that `node` runs: it is completed, or failed.
    async fn finish(&self, id: &TaskId, node: &NodeId, outcome: &Outcome) -> Result<Option<Task>, StoreError>;

    /// Ends a task that has not ended. Its node, if it has one, is the one to be told.
    async fn cancel(&self, id: &TaskId) -> Result<Option<Task>, StoreError>;

    /// Fails a task that is an orphan.
    async fn fail_orphan(&self, id: &TaskId, error: &[u8]) -> Result<Option<Task>, StoreError>;

    /// Removes at most `limit` (at least 1) tasks whose time to live is over, and returns them as they were. Each is
    /// returned once. One whose status is not final may still run at its node.
    async fn expire(&self, limit: usize) -> Result<Vec<Task>, StoreError>;
}

/// How long a task stays in memory after its time to live when nobody calls [`TaskStore::expire`].
pub(crate) const LINGER: Duration = Duration::from_secs(60 * 60);

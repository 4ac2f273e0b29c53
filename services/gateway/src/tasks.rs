//! Tasks: calls that went on after their reply, and that this gateway answers for, whichever node runs them.
//!
//! What is known of a task is in the store. Nobody watches over it: whoever looks at one fails an orphan, finds a node
//! for one that waits for it, and refuses questions that its client cannot answer. A task is its principal's; nobody else
//! learns that it is there.

mod expiry;
mod followed;
mod shown;

use std::{collections::BTreeMap, time::Duration};

use prost::Message;
use serde_json::Value;
use switchyard_mcp::{Method, Refusal, RpcError, questions, results, tasks};
use switchyard_proto::v1::{CallToolRequest, TaskFailure, TaskTerms};
use switchyard_state::{Entry, StoreError, Task, TaskId, TaskStatus, TaskSupport};
use tokio::time::timeout;
use tonic::Status;
use tracing::{debug, info};

use crate::{
    dispatch::{Asked, Dispatch, Reply},
    facts,
    failure::{self, refuse},
};

pub use expiry::expire;
pub use followed::Followed;
pub use shown::created;

/// The most tasks that one stream of notifications follows.
const MAX_FOLLOWED: usize = 100;

/// How long a node may take to act on what it is told of a task.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a call of this tool may become a task: not at all where its client could not follow it.
///
/// # Errors
/// -32021 when a stateless client cannot follow a task, and the tool runs as nothing else.
pub fn terms(asked: &Asked<'_>, entry: &Entry, idle: Duration) -> Result<Option<TaskTerms>, RpcError> {
    if entry.tasks.is_never() || asked.revision.has_sessions() {
        return Ok(None);
    }
    let at_once = entry.tasks == TaskSupport::Required;
    if !tasks::is_declared(asked.capabilities) {
        let needed = at_once.then(|| tasks::undeclared(&format!("`{}` runs as a task, which", entry.name)));
        return needed.map_or(Ok(None), Err);
    }
    Ok(Some(TaskTerms { at_once, idle_ms: idle.as_millis().try_into().unwrap_or(u64::MAX) }))
}

impl Dispatch {
    /// Answers a request about one task.
    ///
    /// # Errors
    /// -32021 for a client that does not declare the extension, -32602 where it has no such task.
    pub(crate) async fn task(&self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let checked = |error| refuse(error, asked.revision);
        if !tasks::is_declared(asked.capabilities) {
            return Err(checked(tasks::undeclared(&format!("`{}`", asked.method.name()))));
        }
        let id = TaskId(asked.params.name_for(asked.method).map_err(checked)?.into_owned());
        let answers = match asked.method {
            Method::TasksUpdate => asked.params.task_answers().map_err(checked)?,
            _ => BTreeMap::new(),
        };

        let task = self.look_at(&id).await.map_err(|error| failure::store(&error))?;
        let task = task
            .filter(|task| task.call.principal == asked.principal)
            .ok_or_else(|| checked(RpcError::invalid_params("there is no such task, or its time to live is over")))?;
        let done = match asked.method {
            Method::TasksUpdate => self.answer_task(&id, &answers).await,
            Method::TasksCancel => self.cancel_task(&id).await,
            _ => return Ok(Reply::Result(tasks::looked_at(&shown::task(&task, asked.revision), asked.revision))),
        };
        done.map_err(|error| failure::store(&error))?;
        Ok(Reply::Result(results::empty(asked.revision)))
    }

    /// Those of the tasks that this client may follow.
    ///
    /// # Errors
    /// -32021 for a client that wants to follow any without declaring the extension, -32602 for too many.
    pub(crate) async fn followable(&self, asked: &Asked<'_>, wanted: Vec<String>) -> Result<Vec<String>, Refusal> {
        let checked = |error| refuse(error, asked.revision);
        if !wanted.is_empty() && !tasks::is_declared(asked.capabilities) {
            return Err(checked(tasks::undeclared("`taskIds`")));
        }
        if wanted.len() > MAX_FOLLOWED {
            let message = format!("one stream follows at most {MAX_FOLLOWED} tasks");
            return Err(checked(RpcError::invalid_params(message)));
        }
        let mut followable = Vec::with_capacity(wanted.len());
        for id in wanted {
            let task = self.gateway.tasks.load(&TaskId(id.clone())).await.map_err(|error| failure::store(&error))?;
            if task.is_some_and(|task| task.call.principal == asked.principal) && !followable.contains(&id) {
                followable.push(id);
            }
        }
        Ok(followable)
    }

    /// A task as it is, once what could be done for it was.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn look_at(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let store = &self.gateway.tasks;
        let Some(task) = store.load(id).await? else { return Ok(None) };
        match task.status {
            TaskStatus::Working if task.orphan => {
                // One that no node had yet may have found one meanwhile.
                if task.node.is_none() {
                    self.run_on(&task).await;
                    if let Some(taken) = store.load(id).await?.filter(|task| task.node.is_some()) {
                        return Ok(Some(taken));
                    }
                }
                let lost = TaskFailure::from(&Status::unavailable("the node that ran the task is gone"));
                let Some(failed) = store.fail_orphan(id, &lost.encode_to_vec()).await? else {
                    return store.load(id).await;
                };
                info!(task = %id, tool = %failed.call.tool, node = ?failed.node, "a task was lost with its node");
                self.announce(id).await;
                Ok(Some(failed))
            }
            // Whoever brought the last answer found no node for it.
            TaskStatus::Working if task.node.is_none() => {
                self.run_on(&task).await;
                Ok(Some(task))
            }
            TaskStatus::InputRequired => self.refuse_questions(task).await.map(Some),
            _ => Ok(Some(task)),
        }
    }

    /// Answers for the client what it cannot be asked.
    async fn refuse_questions(&self, task: Task) -> Result<Task, StoreError> {
        let call = CallToolRequest::decode(&task.call.context[..]).unwrap_or_default();
        let capabilities = call.context.unwrap_or_default().client_capabilities_json;
        let capabilities: Value = serde_json::from_slice(&capabilities).unwrap_or_default();
        let open = task.requests.iter().filter(|(key, _)| !task.answers.contains_key(*key));
        let refusals: BTreeMap<String, Vec<u8>> = open
            .filter_map(|(key, question)| Some((key.clone(), questions::unanswerable(question, &capabilities)?)))
            .map(|(key, refusal)| (key, refusal.to_string().into_bytes()))
            .collect();
        if refusals.is_empty() {
            return Ok(task);
        }
        debug!(task = %task.id, questions = refusals.len(), "a task asked what its client cannot answer");
        self.answer_task(&task.id, &refusals).await.map(|answered| answered.unwrap_or(task))
    }

    /// Hands answers to a task, and has a node run it on when they were the last ones.
    async fn answer_task(&self, id: &TaskId, answers: &BTreeMap<String, Vec<u8>>) -> Result<Option<Task>, StoreError> {
        let Some(answered) = self.gateway.tasks.answer(id, answers).await? else { return Ok(None) };
        self.announce(id).await;
        if answered.status == TaskStatus::Working {
            self.run_on(&answered).await;
        }
        Ok(Some(answered))
    }

    async fn cancel_task(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let Some(cancelled) = self.gateway.tasks.cancel(id).await? else { return Ok(None) };
        info!(task = %id, tool = %cancelled.call.tool, "a task was cancelled");
        self.announce(id).await;
        if let Some(node) = &cancelled.node {
            // A node that cannot be told finds out by its next sign of life.
            _ = timeout(PATIENCE, self.bus.tasks.stop(node, &id.0)).await;
        }
        Ok(Some(cancelled))
    }

    /// Has a node that offers its tool run a task on. When none does now, whoever looks at it next tries again.
    async fn run_on(&self, task: &Task) {
        let nodes = self.nodes_now(&task.call.tool, |catalog| &catalog.tools);
        match timeout(PATIENCE, self.bus.tasks.run_on(&nodes, &task.id.0)).await {
            Ok(Ok(_)) => {}
            Ok(Err(status)) => debug!(task = %task.id, reason = status.message(), "no node runs a task on"),
            Err(_) => debug!(task = %task.id, "no node runs a task on in time"),
        }
    }

    /// Tells whoever follows a task that it is not what it was. Where that fails, they look again by themselves.
    async fn announce(&self, id: &TaskId) {
        if let Err(error) = self.gateway.log.append(&facts::task_changed(id), "").await {
            debug!(task = %id, error = &error as &dyn std::error::Error, "a task's change could not be told");
        }
    }
}

//! The tasks of a cluster: a hash each, and sets that tell whose time to live is over. Times are Redis' own.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use redis::{Script, ScriptInvocation};
use tracing::warn;

use super::{
    keys::{Keys, millis},
    link::Link,
    task_record::{self, Fields},
};
use crate::{EXPIRY, NodeId, Outcome, StoreError, Task, TaskCall, TaskId, TaskLimits, TaskStore, tasks::LINGER};

/// The most signs of life that are sent in one round trip.
const HEARTBEATS: usize = 1_000;

/// Tasks that every node of a cluster sees.
pub struct RedisTasks {
    limits: TaskLimits,
    keys: Arc<Keys>,
    link: Arc<Link>,
    create: Script,
    load: Script,
    heartbeat: Script,
    report: Script,
    need_input: Script,
    answer: Script,
    claim: Script,
    finish: Script,
    cancel: Script,
    fail_orphan: Script,
    expire: Script,
}

impl RedisTasks {
    pub fn new(limits: &TaskLimits, keys: Arc<Keys>, link: Arc<Link>) -> Self {
        Self {
            limits: limits.clone(),
            keys,
            link,
            create: script(include_str!("task_create.lua")),
            load: script(include_str!("task_load.lua")),
            heartbeat: Script::new(include_str!("tasks_heartbeat.lua")),
            report: script(include_str!("task_report.lua")),
            need_input: script(include_str!("task_need_input.lua")),
            answer: script(include_str!("task_answer.lua")),
            claim: script(include_str!("task_claim.lua")),
            finish: script(include_str!("task_finish.lua")),
            cancel: script(include_str!("task_cancel.lua")),
            fail_orphan: script(include_str!("task_fail_orphan.lua")),
            expire: Script::new(include_str!("tasks_expire.lua")),
        }
    }

    /// A call of a script that [`script`] made, with what `task_head.lua` takes.
    fn call<'a>(&self, script: &'a Script, id: &TaskId) -> ScriptInvocation<'a> {
        let mut call = script.key(self.keys.task(id));
        call.arg(millis(EXPIRY));
        call
    }

    /// Runs a script that returns a task or nothing.
    async fn run(&self, id: &TaskId, call: &ScriptInvocation<'_>) -> Result<Option<Task>, StoreError> {
        let key = self.keys.task(id);
        let Some((orphan, fields)) = self.link.script::<Option<(bool, Fields)>>(&key, call).await? else {
            return Ok(None);
        };
        let task = task_record::task(id.clone(), orphan, fields);
        task.map(Some).map_err(|error| StoreError::Record { key, source: error.into() })
    }
}

#[async_trait]
impl TaskStore for RedisTasks {
    async fn create(
        &self,
        id: &TaskId,
        call: &TaskCall,
        node: &NodeId,
        ttl: Duration,
    ) -> Result<Option<Task>, StoreError> {
        let ttl = millis(ttl);
        let mut create = self.call(&self.create, id);
        create
            .key(self.keys.tasks_of(&call.principal))
            .key(&self.keys.tasks)
            .arg(&id.0)
            .arg(ttl)
            .arg(millis(LINGER))
            .arg(self.limits.max_per_principal.get())
            .arg(task_record::fields(call, node, ttl.unsigned_abs()));
        self.run(id, &create).await
    }

    async fn load(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        self.run(id, &self.call(&self.load, id)).await
    }

    async fn heartbeat(&self, node: &NodeId, ids: &[TaskId]) -> Result<Vec<TaskId>, StoreError> {
        let mut running = Vec::with_capacity(ids.len());
        for some in ids.chunks(HEARTBEATS) {
            let keys: Vec<_> = some.iter().map(|id| self.keys.task(id)).collect();
            let runs: Vec<bool> = self.link.script("task", self.heartbeat.key(&keys[..]).arg(&node.0)).await?;
            running.extend(some.iter().zip(runs).filter(|(_, runs)| *runs).map(|(id, _)| id.clone()));
        }
        Ok(running)
    }

    async fn report(&self, id: &TaskId, node: &NodeId, message: &str) -> Result<Option<Task>, StoreError> {
        self.run(id, self.call(&self.report, id).arg(&node.0).arg(message)).await
    }

    async fn need_input(
        &self,
        id: &TaskId,
        node: &NodeId,
        requests: &BTreeMap<String, Vec<u8>>,
        state: &[u8],
    ) -> Result<Option<Task>, StoreError> {
        let mut call = self.call(&self.need_input, id);
        call.arg(&node.0).arg(state);
        for (key, request) in requests {
            call.arg(task_record::question(key)).arg(request);
        }
        self.run(id, &call).await
    }

    async fn answer(&self, id: &TaskId, answers: &BTreeMap<String, Vec<u8>>) -> Result<Option<Task>, StoreError> {
        let mut call = self.call(&self.answer, id);
        for (key, answer) in answers {
            call.arg(key).arg(answer);
        }
        self.run(id, &call).await
    }

    async fn claim(&self, id: &TaskId, node: &NodeId) -> Result<Option<Task>, StoreError> {
        self.run(id, self.call(&self.claim, id).arg(&node.0)).await
    }

    async fn finish(&self, id: &TaskId, node: &NodeId, outcome: &Outcome) -> Result<Option<Task>, StoreError> {
        let (status, field, bytes) = match outcome {
            Outcome::Result(bytes) => ("completed", "result", bytes),
            Outcome::Error(bytes) => ("failed", "error", bytes),
        };
        self.run(id, self.call(&self.finish, id).arg(&node.0).arg(status).arg(field).arg(bytes)).await
    }

    async fn cancel(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        self.run(id, &self.call(&self.cancel, id)).await
    }

    async fn fail_orphan(&self, id: &TaskId, error: &[u8]) -> Result<Option<Task>, StoreError> {
        self.run(id, self.call(&self.fail_orphan, id).arg(error)).await
    }

    async fn expire(&self, limit: usize) -> Result<Vec<Task>, StoreError> {
        let mut call = self.expire.key(&self.keys.tasks);
        call.arg(self.keys.task_prefix()).arg(limit.max(1));
        let (names, records): (Vec<String>, Vec<Fields>) = self.link.script(&self.keys.tasks, &call).await?;
        Ok(names.into_iter().zip(records).filter_map(|(name, fields)| readable(TaskId(name), fields)).collect())
    }
}

/// A script that begins with `task_head.lua`.
fn script(body: &str) -> Script {
    Script::new(&format!("{}\n{body}", include_str!("task_head.lua")))
}

/// A task that has been removed. One that cannot be read costs no other.
fn readable(id: TaskId, fields: Fields) -> Option<Task> {
    let task = task_record::task(id.clone(), false, fields);
    if let Err(error) = &task {
        warn!(task = %id, error = error as &dyn std::error::Error, "removed a task whose record cannot be read");
    }
    task.ok()
}

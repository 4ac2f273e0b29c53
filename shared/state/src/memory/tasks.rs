//! The tasks of one process.
//!
//! Expired ones are skipped at once. Those that nobody asks to expire are removed by a sweep, which any call makes when
//! the last one was a while ago.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{SWEEP, expiry};
use crate::{
    CENTURY, EXPIRY, NodeId, Outcome, StoreError, Task, TaskCall, TaskId, TaskLimits, TaskStatus, TaskStore,
    tasks::LINGER,
};

/// The table of tasks.
pub struct MemoryTasks {
    limits: TaskLimits,
    table: Mutex<Table>,
}

struct Table {
    rows: HashMap<TaskId, Row>,
    swept: Instant,
}

struct Row {
    task: Task,
    /// When its time to live is over.
    due: Instant,
    /// Its node's last sign of life.
    heard: Instant,
    /// When it was first found silent for too long, since then.
    doubted: Option<Instant>,
}

impl MemoryTasks {
    pub fn new(limits: TaskLimits) -> Self {
        Self { limits, table: Mutex::new(Table { rows: HashMap::new(), swept: Instant::now() }) }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        let mut table = self.table.lock().expect("nothing panics while holding it");
        table.sweep(Instant::now());
        table
    }

    /// Changes a task for which `fits` holds, and says what became of it.
    fn change(&self, id: &TaskId, fits: impl Fn(&Row) -> bool, change: impl FnOnce(&mut Row)) -> Option<Task> {
        let mut table = self.table();
        let row = table.row(id).filter(|row| fits(row))?;
        change(row);
        row.task.updated_ms = clock().max(row.task.updated_ms);
        Some(row.task.clone())
    }
}

impl Table {
    fn sweep(&mut self, now: Instant) {
        if now.duration_since(self.swept) >= SWEEP {
            self.swept = now;
            self.rows.retain(|_, row| row.due + LINGER > now);
        }
    }

    fn row(&mut self, id: &TaskId) -> Option<&mut Row> {
        let now = Instant::now();
        self.rows.get_mut(id).filter(|row| row.due > now)
    }
}

impl Row {
    fn new(id: &TaskId, call: &TaskCall, node: &NodeId, ttl: Duration) -> Self {
        let ttl_ms = u64::try_from(ttl.min(CENTURY).as_millis()).expect("a century fits");
        let now = clock();
        let task = Task {
            id: id.clone(),
            call: call.clone(),
            status: TaskStatus::Working,
            message: String::new(),
            created_ms: now,
            updated_ms: now,
            ttl_ms,
            node: Some(node.clone()),
            round: 0,
            requests: BTreeMap::new(),
            answers: BTreeMap::new(),
            state: Vec::new(),
            outcome: None,
            orphan: false,
        };
        Self { task, due: expiry(ttl), heard: Instant::now(), doubted: None }
    }

    fn runs_at(&self, node: &NodeId) -> bool {
        self.task.status == TaskStatus::Working && self.task.node.as_ref() == Some(node)
    }

    fn hear(&mut self) {
        self.heard = Instant::now();
        self.doubted = None;
    }

    /// Doubts a silent node, and knows whether that was long enough ago.
    fn doubt(&mut self) {
        let now = Instant::now();
        if self.task.status == TaskStatus::Working && now.duration_since(self.heard) > EXPIRY {
            self.doubted.get_or_insert(now);
        }
    }

    fn is_orphan(&self) -> bool {
        self.task.status == TaskStatus::Working && self.doubted.is_some_and(|since| since.elapsed() > EXPIRY)
    }

    fn wait_for_a_node_if_all_is_answered(&mut self) {
        if self.task.requests.keys().all(|key| self.task.answers.contains_key(key)) {
            self.task.status = TaskStatus::Working;
            self.hear();
        }
    }

    fn end(&mut self, status: TaskStatus, outcome: Option<Outcome>) {
        self.task.status = status;
        self.task.outcome = outcome;
        self.task.requests.clear();
        self.task.answers.clear();
        self.task.state.clear();
    }
}

#[async_trait]
impl TaskStore for MemoryTasks {
    async fn create(
        &self,
        id: &TaskId,
        call: &TaskCall,
        node: &NodeId,
        ttl: Duration,
    ) -> Result<Option<Task>, StoreError> {
        let now = Instant::now();
        let mut table = self.table();
        if let Some(row) = table.row(id) {
            return Ok(Some(row.task.clone()));
        }
        let rows = table.rows.values();
        let count = rows.filter(|row| row.due > now && row.task.call.principal == call.principal).count();
        if count >= self.limits.max_per_principal.get() {
            return Ok(None);
        }
        let row = Row::new(id, call, node, ttl);
        let task = row.task.clone();
        table.rows.insert(id.clone(), row);
        Ok(Some(task))
    }

    async fn load(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let mut table = self.table();
        let Some(row) = table.row(id) else { return Ok(None) };
        row.doubt();
        Ok(Some(Task { orphan: row.is_orphan(), ..row.task.clone() }))
    }

    async fn heartbeat(&self, node: &NodeId, ids: &[TaskId]) -> Result<Vec<TaskId>, StoreError> {
        let mut table = self.table();
        let mut running = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(row) = table.row(id).filter(|row| row.runs_at(node)) {
                row.hear();
                running.push(id.clone());
            }
        }
        Ok(running)
    }

    async fn report(&self, id: &TaskId, node: &NodeId, message: &str) -> Result<Option<Task>, StoreError> {
        Ok(self.change(id, |row| row.runs_at(node), |row| row.task.message = message.to_owned()))
    }

    async fn need_input(
        &self,
        id: &TaskId,
        node: &NodeId,
        requests: &BTreeMap<String, Vec<u8>>,
        state: &[u8],
    ) -> Result<Option<Task>, StoreError> {
        let change = |row: &mut Row| {
            row.task.status = TaskStatus::InputRequired;
            row.task.node = None;
            row.task.round += 1;
            row.task.requests = requests.clone();
            row.task.answers.clear();
            row.task.state = state.to_vec();
            row.wait_for_a_node_if_all_is_answered();
        };
        Ok(self.change(id, |row| row.runs_at(node), change))
    }

    async fn answer(&self, id: &TaskId, answers: &BTreeMap<String, Vec<u8>>) -> Result<Option<Task>, StoreError> {
        let change = |row: &mut Row| {
            for (key, answer) in answers.iter().filter(|(key, _)| row.task.requests.contains_key(*key)) {
                row.task.answers.entry(key.clone()).or_insert_with(|| answer.clone());
            }
            row.wait_for_a_node_if_all_is_answered();
        };
        Ok(self.change(id, |row| row.task.status == TaskStatus::InputRequired, change))
    }

    async fn claim(&self, id: &TaskId, node: &NodeId) -> Result<Option<Task>, StoreError> {
        let fits = |row: &Row| row.task.status == TaskStatus::Working && row.task.node.is_none();
        let change = |row: &mut Row| {
            row.task.node = Some(node.clone());
            row.hear();
        };
        Ok(self.change(id, fits, change))
    }

    async fn finish(&self, id: &TaskId, node: &NodeId, outcome: &Outcome) -> Result<Option<Task>, StoreError> {
        let status = match outcome {
            Outcome::Result(_) => TaskStatus::Completed,
            Outcome::Error(_) => TaskStatus::Failed,
        };
        Ok(self.change(id, |row| row.runs_at(node), |row| row.end(status, Some(outcome.clone()))))
    }

    async fn cancel(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        Ok(self.change(id, |row| !row.task.status.is_final(), |row| row.end(TaskStatus::Cancelled, None)))
    }

    async fn fail_orphan(&self, id: &TaskId, error: &[u8]) -> Result<Option<Task>, StoreError> {
        let outcome = Outcome::Error(error.to_vec());
        Ok(self.change(id, Row::is_orphan, |row| row.end(TaskStatus::Failed, Some(outcome))))
    }

    async fn expire(&self, limit: usize) -> Result<Vec<Task>, StoreError> {
        let now = Instant::now();
        let mut table = self.table();
        let over = table.rows.extract_if(|_, row| row.due <= now);
        Ok(over.take(limit.max(1)).map(|(_, row)| row.task).collect())
    }
}

/// Milliseconds since 1970.
fn clock() -> u64 {
    let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_expired_long_ago_is_removed_though_nobody_asked_for_it() {
        let tasks = MemoryTasks::new(TaskLimits::default());
        let [forgotten, expired] = ["forgotten", "expired"].map(|id| TaskId(id.into()));
        let call = TaskCall {
            principal: String::new(),
            tool: "tool".into(),
            arguments: Vec::new(),
            context: Vec::new(),
            poll_interval_ms: 0,
        };
        let node = NodeId("node".into());
        for id in [&forgotten, &expired] {
            tasks.create(id, &call, &node, Duration::ZERO).await.expect("memory is never away");
        }

        let mut table = tasks.table();
        table.rows.get_mut(&forgotten).expect("it is there").due -= LINGER;
        table.swept -= SWEEP;
        drop(table);

        assert_eq!(tasks.table().rows.keys().collect::<Vec<_>>(), [&expired]);
    }
}

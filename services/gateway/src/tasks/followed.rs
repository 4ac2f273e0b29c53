//! The tasks that one stream of notifications follows, and what it has told of each.

use std::collections::HashMap;

use switchyard_mcp::{
    Id, Revision, RpcError,
    tasks::{self, Detail, Shown},
};
use switchyard_state::{Task, TaskId, TaskStatus};
use tracing::debug;

use super::shown;
use crate::dispatch::Dispatch;

/// What a stream told of the tasks that it follows; at most as many as one stream may follow.
#[derive(Default)]
pub struct Followed(HashMap<String, Told>);

/// What was told last of a task.
#[derive(Clone, PartialEq, Eq)]
struct Told {
    status: TaskStatus,
    message: String,
    updated_ms: u64,
    answers: usize,
    created_ms: u64,
    ttl_ms: u64,
    poll_interval_ms: u64,
}

impl Told {
    fn of(task: &Task) -> Self {
        Self {
            status: task.status,
            message: task.message.clone(),
            updated_ms: task.updated_ms,
            answers: task.answers.len(),
            created_ms: task.created_ms,
            ttl_ms: task.ttl_ms,
            poll_interval_ms: task.call.poll_interval_ms,
        }
    }
}

impl Followed {
    /// The message about a task that its client has not heard yet, if there is any.
    pub async fn news(&mut self, dispatch: &Dispatch, id: String, subscription: &Id) -> Option<String> {
        if self.0.get(&id).is_some_and(|told| told.status.is_final()) {
            return None;
        }
        match dispatch.look_at(&TaskId(id.clone())).await {
            Ok(Some(task)) => self.seen(&task, subscription),
            Ok(None) => self.gone(&id, subscription),
            Err(error) => {
                // It is looked at again before long.
                debug!(task = %id, error = &error as &dyn std::error::Error, "a task could not be looked at");
                None
            }
        }
    }

    fn seen(&mut self, task: &Task, subscription: &Id) -> Option<String> {
        let now = Told::of(task);
        if self.0.get(&task.id.0) == Some(&now) {
            return None;
        }
        self.0.insert(task.id.0.clone(), now);
        Some(tasks::changed(&shown::task(task, Revision::V2026_07_28), subscription.as_json()))
    }

    /// A task that did not end has failed when it is there no more; one that ended needs no other word.
    fn gone(&mut self, id: &str, subscription: &Id) -> Option<String> {
        let told = self.0.remove(id).filter(|told| !told.status.is_final())?;
        let shown = Shown {
            id,
            status: "failed",
            message: &told.message,
            created_ms: told.created_ms,
            updated_ms: told.updated_ms.max(told.created_ms.saturating_add(told.ttl_ms)),
            ttl_ms: told.ttl_ms,
            poll_interval_ms: told.poll_interval_ms,
            detail: Detail::Error(RpcError::internal("the task did not end within its time to live")),
        };
        Some(tasks::changed(&shown, subscription.as_json()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use switchyard_state::{NodeId, Outcome, TaskCall, memory};

    use super::*;

    async fn started() -> Task {
        let call = TaskCall {
            principal: String::new(),
            tool: "t".into(),
            arguments: Vec::new(),
            context: Vec::new(),
            poll_interval_ms: 1,
        };
        let tasks = memory::stores().tasks;
        let created = tasks.create(&TaskId("id".into()), &call, &NodeId("n".into()), Duration::from_secs(60)).await;
        created.unwrap().unwrap()
    }

    fn subscription() -> Id {
        Id::from_json("7").unwrap()
    }

    #[tokio::test]
    async fn what_was_told_is_not_told_again() {
        let (mut followed, task) = (Followed::default(), started().await);

        assert!(followed.seen(&task, &subscription()).is_some());
        assert!(followed.seen(&task, &subscription()).is_none());

        let reported = Task { message: "half of it".into(), ..task };
        assert!(followed.seen(&reported, &subscription()).is_some());
    }

    #[tokio::test]
    async fn a_task_that_vanishes_before_its_end_has_failed_and_that_is_told_once() {
        let (mut followed, task) = (Followed::default(), started().await);
        followed.seen(&task, &subscription()).unwrap();

        let last = followed.gone("id", &subscription()).unwrap();

        assert!(last.contains(r#""status":"failed""#) && last.contains(r#""error""#), "{last}");
        assert!(followed.gone("id", &subscription()).is_none());
    }

    #[tokio::test]
    async fn a_task_that_ended_vanishes_without_a_word() {
        let (mut followed, task) = (Followed::default(), started().await);
        let ended = Task { status: TaskStatus::Completed, outcome: Some(Outcome::Result(Vec::new())), ..task };
        followed.seen(&ended, &subscription()).unwrap();

        assert!(followed.gone("id", &subscription()).is_none());
    }
}

//! Tasks as their clients see them.

use std::collections::BTreeMap;

use prost::Message;
use serde_json::value::RawValue;
use switchyard_mcp::{
    Method, Refusal, Revision, RpcError, results,
    tasks::{self, Detail, Shown},
};
use switchyard_proto::v1::{TaskCreated, TaskFailure, ToolResult};
use switchyard_state::{Outcome, Task, TaskStatus};
use tonic::{Code, Status};

use crate::failure::{Target, refuse};

/// The result of a call that became a task.
///
/// # Errors
/// -32603 when nobody had said that it might.
pub fn created(created: &TaskCreated, revision: Revision) -> Result<String, Refusal> {
    if revision.has_sessions() {
        let error = RpcError::internal("the service made a task of a call whose client cannot follow one");
        return Err(refuse(error, revision));
    }
    let shown = Shown {
        id: &created.task,
        status: "working",
        message: "",
        created_ms: created.created_ms,
        updated_ms: created.created_ms,
        ttl_ms: created.ttl_ms,
        poll_interval_ms: created.poll_interval_ms,
        detail: Detail::None,
    };
    Ok(tasks::created(&shown, revision))
}

/// A task as a look at it shows it.
pub fn task(task: &Task, revision: Revision) -> Shown<'_> {
    let detail = match (&task.status, &task.outcome) {
        (TaskStatus::InputRequired, _) => Detail::Questions(questions(task)),
        (TaskStatus::Completed, Some(Outcome::Result(result))) => {
            let said = ToolResult::decode(&result[..]).unwrap_or_default();
            Detail::Result(results::tool(&said, revision))
        }
        (TaskStatus::Failed, Some(Outcome::Error(failure))) => Detail::Error(error(task, failure, revision)),
        (TaskStatus::Completed | TaskStatus::Failed, _) => {
            Detail::Error(RpcError::internal("how the task ended cannot be read"))
        }
        (TaskStatus::Working | TaskStatus::Cancelled, _) => Detail::None,
    };
    Shown {
        id: &task.id.0,
        status: status(task.status),
        message: &task.message,
        created_ms: task.created_ms,
        updated_ms: task.updated_ms,
        ttl_ms: task.ttl_ms,
        poll_interval_ms: task.call.poll_interval_ms,
        detail,
    }
}

const fn status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Working => "working",
        TaskStatus::InputRequired => "input_required",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
    }
}

/// The questions that have no answer yet.
fn questions(task: &Task) -> String {
    let open = task.requests.iter().filter(|(key, _)| !task.answers.contains_key(*key));
    let open: BTreeMap<&str, &RawValue> =
        open.filter_map(|(key, question)| Some((key.as_str(), serde_json::from_slice(question).ok()?))).collect();
    serde_json::to_string(&open).expect("JSON is JSON")
}

fn error(task: &Task, failure: &[u8], revision: Revision) -> RpcError {
    let status = Status::from(TaskFailure::decode(failure).unwrap_or_default());
    let target = Target { method: Method::ToolsCall, name: &task.call.tool, revision };
    let means = target.means(&status, true).error;
    // Who lost it may be told.
    if status.code() == Code::Unavailable {
        RpcError { message: status.message().to_owned().into(), ..means }
    } else {
        means
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};
    use switchyard_state::{TaskCall, TaskId};

    use super::*;

    fn some(status: TaskStatus, outcome: Option<Outcome>) -> Task {
        let call = TaskCall {
            principal: String::new(),
            tool: "t".into(),
            arguments: b"{}".to_vec(),
            context: Vec::new(),
            poll_interval_ms: 1_000,
        };
        let messages = |keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), br#"{"n":1.0}"#.to_vec())).collect();
        Task {
            id: TaskId("id".into()),
            call,
            status,
            message: String::new(),
            created_ms: 0,
            updated_ms: 0,
            ttl_ms: 1,
            node: None,
            round: 1,
            requests: messages(&["1.a", "1.b"]),
            answers: messages(&["1.a"]),
            state: Vec::new(),
            outcome,
            orphan: false,
        }
    }

    fn looked_at(some: &Task) -> Value {
        let revision = Revision::V2026_07_28;
        serde_json::from_str(&tasks::looked_at(&task(some, revision), revision)).unwrap()
    }

    #[test]
    fn only_questions_without_an_answer_are_open_and_come_as_they_were_asked() {
        let shown = looked_at(&some(TaskStatus::InputRequired, None));

        assert_eq!(shown["inputRequests"].to_string(), r#"{"1.b":{"n":1.0}}"#);
    }

    #[test]
    fn a_tool_that_failed_has_completed_its_task() {
        let said = ToolResult { content_json: "[]".into(), is_error: true, ..ToolResult::default() };

        let shown = looked_at(&some(TaskStatus::Completed, Some(Outcome::Result(said.encode_to_vec()))));

        assert_eq!((&shown["status"], &shown["result"]["isError"]), (&json!("completed"), &json!(true)));
        assert_eq!(shown.get("error"), None);
    }

    #[test]
    fn a_call_that_failed_shows_the_error_that_its_reply_would_have_been() {
        let failed = |status: Status| {
            let failure = TaskFailure::from(&status).encode_to_vec();
            looked_at(&some(TaskStatus::Failed, Some(Outcome::Error(failure))))["error"].clone()
        };

        assert_eq!(failed(Status::invalid_argument("no"))["code"], RpcError::INVALID_PARAMS);
        assert_eq!(failed(Status::internal("secret"))["data"], json!({ "outcome": "unknown" }));
        assert!(!failed(Status::internal("secret")).to_string().contains("secret"));
        assert_eq!(failed(Status::unavailable("the node is gone"))["message"], "the node is gone");
    }
}

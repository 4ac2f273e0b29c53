//! The extension `io.modelcontextprotocol/tasks` of the stateless revision: calls that go on after their reply.
//!
//! A client says with each request whether it knows the extension, and nothing of it is shown to one that did not.

use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    Revision, RpcError,
    jsonrpc::{notification, push_string},
    results::{SUBSCRIPTION_ID, Writer},
};

/// The extension's name.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Whether a client declared the extension; `capabilities` is the JSON text of what it can do.
pub fn is_declared(capabilities: &str) -> bool {
    let capabilities: Value = serde_json::from_str(capabilities).unwrap_or_default();
    capabilities["extensions"].get(EXTENSION).is_some()
}

/// -32021: this takes a client that knows the extension.
pub fn undeclared(what: &str) -> RpcError {
    let message = format!("{what} takes a client that declares the extension `{EXTENSION}`");
    let needed = json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } });
    RpcError::new(RpcError::MISSING_CAPABILITY, message).with_data(needed)
}

/// A task as its client sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown<'a> {
    /// Names it.
    pub id: &'a str,
    /// `working`, `input_required`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// A word about that; empty for none. Of one that failed its error is told instead.
    pub message: &'a str,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last changed, likewise.
    pub updated_ms: u64,
    /// How long it is kept from its creation on, in milliseconds.
    pub ttl_ms: u64,
    /// How long its client should leave between two looks, in milliseconds.
    pub poll_interval_ms: u64,
    /// What else there is to tell.
    pub detail: Detail,
}

/// What is told of a task beside its status.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// Nothing.
    None,
    /// The JSON text of its open questions by key.
    Questions(String),
    /// The JSON text of its result.
    Result(String),
    /// Why it has none.
    Error(RpcError),
}

/// The result of a call that became a task.
pub fn created(task: &Shown<'_>, revision: Revision) -> String {
    let mut result = Writer { json: String::from(r#"{"resultType":"task""#) };
    task.write(&mut result);
    result.end("", revision)
}

/// The result of `tasks/get`.
pub fn looked_at(task: &Shown<'_>, revision: Revision) -> String {
    let mut result = Writer::begin(revision, 300);
    task.write(&mut result);
    result.end("", revision)
}

/// A task is not what it was. `subscription` is the JSON text of the listen request's id.
pub fn changed(task: &Shown<'_>, subscription: &str) -> String {
    let mut params = Writer { json: String::from("{") };
    task.write(&mut params);
    params.raw("_meta", &format!(r#"{{"{SUBSCRIPTION_ID}":{subscription}}}"#));
    params.json.push('}');
    notification("notifications/tasks", Some(&params.json))
}

impl Shown<'_> {
    fn write(&self, to: &mut Writer) {
        to.text("taskId", self.id);
        to.text("status", self.status);
        let message = match &self.detail {
            Detail::Error(error) => &error.message,
            _ => self.message,
        };
        if !message.is_empty() {
            to.text("statusMessage", message);
        }
        to.text("createdAt", &rfc3339(self.created_ms));
        to.text("lastUpdatedAt", &rfc3339(self.updated_ms));
        to.raw("ttlMs", &self.ttl_ms.to_string());
        if self.poll_interval_ms > 0 {
            to.raw("pollIntervalMs", &self.poll_interval_ms.to_string());
        }
        match &self.detail {
            Detail::None => {}
            Detail::Questions(questions) => to.raw("inputRequests", questions),
            Detail::Result(result) => to.raw("result", result),
            Detail::Error(error) => to.raw("error", &error_text(error)),
        }
    }
}

fn error_text(error: &RpcError) -> String {
    let mut json = format!(r#"{{"code":{},"message":"#, error.code);
    push_string(&mut json, &error.message);
    if let Some(data) = &error.data {
        json.push_str(r#","data":"#);
        json.push_str(&data.to_string());
    }
    json.push('}');
    json
}

/// A time in UTC, to the millisecond.
fn rfc3339(since_1970_ms: u64) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(since_1970_ms) * 1_000_000);
    let time = time.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MODERN: Revision = Revision::V2026_07_28;

    fn shown(status: &'static str, detail: Detail) -> Shown<'static> {
        let (created_ms, updated_ms) = (1_764_547_200_123, 1_764_547_201_000);
        let (message, ttl_ms, poll_interval_ms) = ("half \"of\" it", 60_000, 1_000);
        Shown { id: "t1", status, message, created_ms, updated_ms, ttl_ms, poll_interval_ms, detail }
    }

    fn parsed(json: &str) -> Value {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}"))
    }

    #[test]
    fn a_client_declares_the_extension_by_its_name() {
        assert!(is_declared(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#));
        for other in ["", "{}", r#"{"tasks":{}}"#, r#"{"extensions":{"tasks":{}}}"#, r#"{"extensions":[]}"#] {
            assert!(!is_declared(other), "{other}");
        }
    }

    #[test]
    fn a_new_task_is_flat_and_says_when_and_for_how_long() {
        let result = parsed(&created(&shown("working", Detail::None), MODERN));

        assert_eq!((&result["resultType"], &result["taskId"]), (&json!("task"), &json!("t1")));
        assert_eq!(result["createdAt"], "2025-12-01T00:00:00.123Z");
        assert_eq!(result["lastUpdatedAt"], "2025-12-01T00:00:01Z");
        assert_eq!((&result["ttlMs"], &result["pollIntervalMs"]), (&json!(60_000), &json!(1_000)));
        assert_eq!(result["statusMessage"], "half \"of\" it");
        for absent in ["task", "result", "error", "inputRequests", "requestState"] {
            assert_eq!(result.get(absent), None, "{absent}");
        }
    }

    #[test]
    fn a_look_at_a_task_is_complete_whatever_became_of_it() {
        let failed = Detail::Error(RpcError::internal("no").with_data(json!({ "outcome": "unknown" })));

        let result = parsed(&looked_at(&shown("failed", failed), MODERN));

        assert_eq!((&result["resultType"], &result["status"]), (&json!("complete"), &json!("failed")));
        assert_eq!(result["error"], json!({ "code": -32603, "message": "no", "data": { "outcome": "unknown" } }));
        assert_eq!(result["statusMessage"], "no");
    }

    #[test]
    fn a_notice_holds_all_that_a_look_would_show_and_names_its_stream() {
        let questions = Detail::Questions(r#"{"1.a":{"method":"roots/list"}}"#.into());

        let message = parsed(&changed(&shown("input_required", questions), "7"));

        assert_eq!(message["method"], "notifications/tasks");
        assert_eq!(message["params"]["_meta"][SUBSCRIPTION_ID], 7);
        assert_eq!(message["params"]["inputRequests"]["1.a"]["method"], "roots/list");
        assert_eq!(message["params"].get("resultType"), None);
    }
}

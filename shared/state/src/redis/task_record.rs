//! A task as a Redis hash.
//!
//! | field          | what                                                                      |
//! |----------------|---------------------------------------------------------------------------|
//! | `v`            | [`VERSION`]                                                               |
//! | `about`        | what never changes, but for the next two: one JSON object                 |
//! | `arguments`, `context` | the call's, as they came                                          |
//! | `status`       | `working`, `input_required`, `completed`, `failed` or `cancelled`         |
//! | `message`      | a word about that, once there is one                                      |
//! | `created`, `updated`, `due` | when it was created and changed, and when its time to live is over, in ms |
//! | `node`         | who runs it, or ran it when it ended                                      |
//! | `heard`, `doubted` | that node's last sign of life, and since when it is doubted, in ms    |
//! | `round`        | how often it asked                                                        |
//! | `ask:KEY`, `answer:KEY` | the questions of this round, and the answers that have come      |
//! | `state`        | what its handler wants to know after them                                 |
//! | `result`, `error` | how it ended                                                           |
//!
//! Nodes of neighbouring versions share these records as they do sessions.

use std::{
    collections::{BTreeMap, HashMap},
    num::ParseIntError,
    string::FromUtf8Error,
};

use serde::{Deserialize, Serialize};

use crate::{NodeId, Outcome, Task, TaskCall, TaskId, TaskStatus};

/// The newest shape that is understood here.
const VERSION: u64 = 1;

const QUESTION: &str = "ask:";
const ANSWER: &str = "answer:";

/// The fields of a hash.
pub type Fields = HashMap<String, Vec<u8>>;

/// What never changes of a task.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    principal: String,
    tool: String,
    poll_interval_ms: u64,
    ttl_ms: u64,
}

/// Why a record cannot be read. Nothing here tells what is in it.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("its field `{0}` is missing")]
    Missing(&'static str),
    #[error("its field `{0}` is no text")]
    Text(&'static str, #[source] FromUtf8Error),
    #[error("its field `{0}` is no number")]
    Number(&'static str, #[source] ParseIntError),
    #[error("its shape is number {0}, which only newer versions of this program know")]
    Newer(u64),
    #[error("its field `about` is not what it should be")]
    About(#[source] serde_json::Error),
    #[error("its status `{0}` is not known")]
    Status(String),
}

/// The fields of a new task, but for its times.
pub fn fields(call: &TaskCall, node: &NodeId, ttl_ms: u64) -> Vec<(&'static str, Vec<u8>)> {
    let about = About {
        principal: call.principal.clone(),
        tool: call.tool.clone(),
        poll_interval_ms: call.poll_interval_ms,
        ttl_ms,
    };
    vec![
        ("v", VERSION.to_string().into_bytes()),
        ("about", serde_json::to_vec(&about).expect("strings and numbers are always JSON")),
        ("arguments", call.arguments.clone()),
        ("context", call.context.clone()),
        ("node", node.0.clone().into_bytes()),
    ]
}

/// The name of a question's field.
pub fn question(key: &str) -> String {
    format!("{QUESTION}{key}")
}

/// The task in a hash that is not empty.
pub fn task(id: TaskId, orphan: bool, mut fields: Fields) -> Result<Task, RecordError> {
    let version = number(&mut fields, "v")?;
    if version > VERSION {
        return Err(RecordError::Newer(version));
    }
    let about: About = serde_json::from_slice(&take(&mut fields, "about")?).map_err(RecordError::About)?;
    let outcome = match (fields.remove("result"), fields.remove("error")) {
        (Some(result), _) => Some(Outcome::Result(result)),
        (None, Some(error)) => Some(Outcome::Error(error)),
        (None, None) => None,
    };
    Ok(Task {
        id,
        call: TaskCall {
            principal: about.principal,
            tool: about.tool,
            arguments: take(&mut fields, "arguments")?,
            context: take(&mut fields, "context")?,
            poll_interval_ms: about.poll_interval_ms,
        },
        status: status(text(&mut fields, "status")?)?,
        message: optional(&mut fields, "message")?.unwrap_or_default(),
        created_ms: number(&mut fields, "created")?,
        updated_ms: number(&mut fields, "updated")?,
        ttl_ms: about.ttl_ms,
        node: optional(&mut fields, "node")?.map(NodeId),
        round: if fields.contains_key("round") { number(&mut fields, "round")? } else { 0 },
        state: fields.remove("state").unwrap_or_default(),
        outcome,
        orphan,
        requests: under(QUESTION, &mut fields),
        answers: under(ANSWER, &mut fields),
    })
}

fn status(name: String) -> Result<TaskStatus, RecordError> {
    match name.as_str() {
        "working" => Ok(TaskStatus::Working),
        "input_required" => Ok(TaskStatus::InputRequired),
        "completed" => Ok(TaskStatus::Completed),
        "failed" => Ok(TaskStatus::Failed),
        "cancelled" => Ok(TaskStatus::Cancelled),
        _ => Err(RecordError::Status(name)),
    }
}

/// The fields whose names begin with `prefix`, by the rest of their names.
fn under(prefix: &str, fields: &mut Fields) -> BTreeMap<String, Vec<u8>> {
    let found = fields.iter_mut().filter_map(|(field, value)| {
        let key = field.strip_prefix(prefix)?;
        Some((key.to_owned(), std::mem::take(value)))
    });
    found.collect()
}

fn take(fields: &mut Fields, field: &'static str) -> Result<Vec<u8>, RecordError> {
    fields.remove(field).ok_or(RecordError::Missing(field))
}

fn text(fields: &mut Fields, field: &'static str) -> Result<String, RecordError> {
    String::from_utf8(take(fields, field)?).map_err(|error| RecordError::Text(field, error))
}

fn optional(fields: &mut Fields, field: &'static str) -> Result<Option<String>, RecordError> {
    if fields.contains_key(field) { text(fields, field).map(Some) } else { Ok(None) }
}

fn number(fields: &mut Fields, field: &'static str) -> Result<u64, RecordError> {
    text(fields, field)?.parse().map_err(|error| RecordError::Number(field, error))
}

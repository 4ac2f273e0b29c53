//! Questions of a task on their way into the store, and answers on their way back to its tool.
//!
//! Tools name their questions as they like, round for round; in the store no key comes twice in one task, so the round
//! stands before it.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;
use serde_json::value::RawValue;
use switchyard_proto::v1::CallToolRequest;
use switchyard_state::{Task, TaskCall};
use tonic::Status;

/// The most that a tool may want to know again in a later round, in bytes.
const MAX_STATE: usize = 64 * 1024;

/// The call as the store keeps it.
pub(crate) fn kept(call: &CallToolRequest, poll_interval_ms: u64) -> TaskCall {
    let rest = CallToolRequest { context: call.context.clone(), task: call.task, ..CallToolRequest::default() };
    let principal = call.context.as_ref().and_then(|context| context.principal.as_ref());
    TaskCall {
        principal: principal.map(|principal| principal.id.clone()).unwrap_or_default(),
        tool: call.name.clone(),
        arguments: call.arguments_json.to_vec(),
        context: rest.encode_to_vec(),
        poll_interval_ms,
    }
}

/// The call of a task's next round.
///
/// # Errors
/// `INTERNAL` when the store holds what is none.
pub(crate) fn next(task: &Task) -> Result<CallToolRequest, Status> {
    let unreadable = || Status::internal("the call of the task cannot be read");
    let mut call = CallToolRequest::decode(&task.call.context[..]).map_err(|_| unreadable())?;
    call.name.clone_from(&task.call.tool);
    call.arguments_json = Bytes::copy_from_slice(&task.call.arguments);
    call.state = Bytes::copy_from_slice(&task.state);
    let mut answers: BTreeMap<&str, &RawValue> = BTreeMap::new();
    for (key, answer) in &task.answers {
        let own = key.split_once('.').map_or(key.as_str(), |(_, own)| own);
        answers.insert(own, serde_json::from_slice(answer).map_err(|_| unreadable())?);
    }
    call.input_responses_json = serde_json::to_vec(&answers).expect("JSON is JSON").into();
    Ok(call)
}

/// The questions of a round, by the keys that the store knows them under; `before` is how many rounds there were.
///
/// # Errors
/// `INTERNAL` when the tool asks in a form that nobody knows, or wants to keep too much.
pub(crate) fn questions(requests_json: &[u8], state: &[u8], before: u64) -> Result<BTreeMap<String, Vec<u8>>, Status> {
    if state.len() > MAX_STATE {
        return Err(Status::internal("the tool wants to keep more than 64 KiB between two rounds"));
    }
    if requests_json.is_empty() {
        return Ok(BTreeMap::new());
    }
    let asked: BTreeMap<String, &RawValue> = serde_json::from_slice(requests_json)
        .map_err(|_| Status::internal("the tool asked its client in a form that nobody can answer"))?;
    let round = before + 1;
    Ok(asked.into_iter().map(|(key, question)| (format!("{round}.{key}"), question.get().into())).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use switchyard_state::{TaskId, TaskStatus};

    use super::*;

    fn task(answers: &[(&str, &str)]) -> Task {
        let call = CallToolRequest { name: "t".into(), arguments_json: r#"{"n":1}"#.into(), ..Default::default() };
        Task {
            id: TaskId("id".into()),
            call: kept(&call, 1),
            status: TaskStatus::Working,
            message: String::new(),
            created_ms: 0,
            updated_ms: 0,
            ttl_ms: 1,
            node: None,
            round: 2,
            requests: BTreeMap::new(),
            answers: answers.iter().map(|(key, json)| ((*key).to_owned(), json.as_bytes().to_vec())).collect(),
            state: b"state".to_vec(),
            outcome: None,
            orphan: false,
        }
    }

    #[test]
    fn a_tool_finds_the_answers_under_its_own_keys() {
        let call = next(&task(&[("2.a.b", r#"{"x":12345678901234567890}"#), ("2.", "{}")])).unwrap();

        assert_eq!(call.input_responses_json, r#"{"":{},"a.b":{"x":12345678901234567890}}"#);
        assert_eq!(
            (call.name.as_str(), &call.arguments_json[..], &call.state[..]),
            ("t", &br#"{"n":1}"#[..], &b"state"[..])
        );
    }

    #[test]
    fn a_key_that_a_tool_uses_twice_is_two_keys_in_the_store() {
        let first = questions(br#"{"a":{}}"#, b"", 0).unwrap();
        let second = questions(br#"{"a":{}}"#, b"", 1).unwrap();

        assert_eq!((first.keys().next().unwrap().as_str(), second.keys().next().unwrap().as_str()), ("1.a", "2.a"));
    }

    #[test]
    fn what_nobody_can_answer_or_keep_is_refused() {
        assert!(questions(b"[]", b"", 0).is_err());
        assert!(questions(b"", &[0; MAX_STATE + 1], 0).is_err());
        assert_eq!(questions(b"", b"", 0).unwrap(), BTreeMap::new());
    }
}

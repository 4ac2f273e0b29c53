//! What services answer, in whatever language they are written: whatever comes, the client is told JSON.

use bytes::Bytes;
use serde_json::{Value, value::RawValue};
use switchyard_mcp::{
    CacheScope, Id, Revision, definitions, jsonrpc, notifications,
    questions::{self, Questions},
    results,
};
use switchyard_proto::v1::{LogMessage, PromptResult, ResourceContents, ResourceResult, ToolResult};

/// Bytes where a service has JSON to say: two parts with a zero byte between them.
///
/// # Panics
/// When a client would be told something that is no JSON.
pub fn answers(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0).map(Bytes::copy_from_slice);
    let (one, other) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let text = String::from_utf8_lossy(&one);

    let log =
        LogMessage { level: text.clone().into_owned(), logger: text.clone().into_owned(), data_json: one.clone() };
    is_json(&notifications::message(&log));
    for revision in Revision::ALL {
        for (content, meta) in [(&one, &other), (&other, &one)] {
            let said = ToolResult {
                content_json: content.clone(),
                structured_content_json: meta.clone(),
                is_error: false,
                meta_json: meta.clone(),
            };
            is_result(&results::tool(&said, revision));
        }
        let prompt = PromptResult { description: text.clone().into_owned(), messages_json: one.clone() };
        is_result(&results::prompt(&prompt, revision));
        let contents =
            ResourceContents { uri: text.clone().into_owned(), meta_json: other.clone(), ..Default::default() };
        let read = ResourceResult { contents: vec![contents] };
        is_result(&results::resource(&read, CacheScope::Private, revision));
        is_result(&results::tool_failure(&text, revision));

        is_object(&definitions::tool(&text, revision));
        is_object(&definitions::prompt(&text, revision));
        is_object(&definitions::template(&text, revision));
        are_questions(&one, &text, revision);
    }
}

fn are_questions(json: &[u8], state: &str, revision: Revision) {
    let Ok(asked) = Questions::read(json) else { return };
    is_result(&results::input_required(&asked.json(), state, revision));
    for (id, question) in asked.iter() {
        if let Some(request) = questions::request(id, question, revision) {
            let read = jsonrpc::decode(request.as_bytes());
            assert!(matches!(read, Ok(switchyard_mcp::Message::Request(_))), "{request}");
        }
    }
    for able in [Value::Null, serde_json::json!({ "elicitation": { "url": {} }, "sampling": {}, "roots": {} })] {
        let missing = asked.missing(&able);
        assert!(missing.is_none_or(|missing| missing.as_object().is_some_and(|missing| !missing.is_empty())));
    }
}

fn is_result(json: &str) {
    is_object(json);
    let id = Id::from_json("1").expect("it is an id");
    is_json(&jsonrpc::success(&id, json));
}

fn is_object(json: &str) {
    is_json(json);
    assert!(json.starts_with('{'), "{json}");
}

fn is_json(json: &str) {
    if let Err(error) = serde_json::from_str::<&RawValue>(json) {
        panic!("{error} in {json}");
    }
}

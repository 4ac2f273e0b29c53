//! Cases that were found wrong once, each in the smallest form that shows it.

use serde_json::json;
use switchyard_mcp::{Revision, questions, results};
use switchyard_proto::v1::{PromptResult, ToolResult};

use crate::{judged, judged_result};

fn asked(question: &serde_json::Value) {
    for revision in Revision::ALL.into_iter().filter(|revision| revision.has_sessions()) {
        if let Some(message) = questions::request("q", question, revision) {
            judged(revision, None, &message).unwrap();
        }
    }
}

#[test]
fn a_link_took_its_icons_to_a_revision_without_them() {
    let link = json!({ "type": "resource_link", "uri": "file:///", "name": "a", "icons": [] });
    let said = ToolResult { content_json: json!([link]).to_string().into(), ..ToolResult::default() };
    let messages = json!([{ "role": "user", "content": link }]);
    let rendered = PromptResult { messages_json: messages.to_string().into(), ..PromptResult::default() };

    for revision in Revision::ALL {
        judged_result(revision, "tools/call", &results::tool(&said, revision)).unwrap();
        judged_result(revision, "prompts/get", &results::prompt(&rendered, revision)).unwrap();
    }
}

#[test]
fn a_model_was_asked_in_words_that_its_revision_does_not_have() {
    let text = json!({ "type": "text", "text": "" });
    let structured = json!({ "type": "tool_result", "toolUseId": "", "content": [], "structuredContent": 1 });
    for (content, more) in [
        (text.clone(), json!({ "toolChoice": { "mode": "auto" } })),
        (
            text.clone(),
            json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object", "properties": { "": true } } }] }),
        ),
        (json!([text]), json!({})),
        (json!([]), json!({})),
        (structured, json!({})),
        (json!({ "type": "audio", "data": "", "mimeType": "audio/wav", "_meta": {} }), json!({})),
    ] {
        let mut params = json!({ "messages": [{ "role": "user", "content": content, "_meta": {} }], "maxTokens": 1 });
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        asked(&json!({ "method": "sampling/createMessage", "params": params }));
    }
}

#[test]
fn a_form_went_out_in_words_that_its_revision_does_not_have() {
    for field in [
        json!({ "type": "string", "default": "" }),
        json!({ "type": "number", "default": 1 }),
        json!({ "type": "string", "oneOf": [{ "const": "", "title": "" }] }),
        json!({ "type": "array", "items": { "type": "string", "enum": [""] } }),
    ] {
        let schema = json!({ "$schema": "", "type": "object", "properties": { "a": field } });
        asked(&json!({ "method": "elicitation/create", "params": { "message": "", "requestedSchema": schema } }));
    }
}

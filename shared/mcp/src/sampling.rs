//! Questions to a client's model, as older revisions know them.

use serde_json::{Map, Value, json};

use crate::{Revision, content, definitions};

/// Puts the parameters of a question to a model in the words of `revision`. `false` where they cannot be put so:
/// before there were tools, nothing could be asked with them, nor about what they had been used for.
pub(crate) fn adapt(params: &mut Map<String, Value>, revision: Revision) -> bool {
    if revision.has_result_type() {
        return true;
    }
    if revision.has_sampling_tools() {
        adapt_tools(params, revision);
        return true;
    }
    let has_tools = params.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    params.shift_remove("tools");
    params.shift_remove("toolChoice");
    let Some(Value::Array(messages)) = params.get_mut("messages") else { return !has_tools };
    let mut adapted = Vec::with_capacity(messages.len());
    for mut message in messages.drain(..) {
        let role = message["role"].take();
        // What is now one message with several parts were several messages.
        let blocks = match message["content"].take() {
            Value::Array(blocks) => blocks,
            block => vec![block],
        };
        for block in blocks {
            if !matches!(block["type"].as_str(), Some("text" | "image" | "audio")) {
                return false;
            }
            adapted.push(json!({ "role": role, "content": content::block_for(block, revision) }));
        }
    }
    *messages = adapted;
    !has_tools
}

/// Tools are listed as they would be by the server, and what they said is structured as an object or not at all.
fn adapt_tools(params: &mut Map<String, Value>, revision: Revision) {
    if let Some(Value::Array(tools)) = params.get_mut("tools") {
        for tool in tools {
            *tool = serde_json::from_str(&definitions::tool(&tool.to_string(), revision)).unwrap_or_default();
        }
    }
    let Some(Value::Array(messages)) = params.get_mut("messages") else { return };
    for message in messages {
        let blocks = match message.get_mut("content") {
            Some(Value::Array(blocks)) => blocks.as_mut_slice(),
            Some(block) => std::slice::from_mut(block),
            None => continue,
        };
        for block in blocks.iter_mut().filter_map(Value::as_object_mut) {
            if block.get("structuredContent").is_some_and(|structured| !structured.is_object()) {
                block.shift_remove("structuredContent");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn adapted(mut params: Value, revision: Revision) -> Option<Value> {
        adapt(params.as_object_mut().unwrap(), revision).then_some(params)
    }

    #[test]
    fn an_older_model_is_asked_without_tools_or_not_at_all() {
        let said = json!([{ "role": "user", "content": { "type": "tool_use", "id": "1", "name": "t", "input": {} } }]);
        let tool = json!({ "name": "t", "inputSchema": { "type": "object" } });

        assert_eq!(
            adapted(json!({ "messages": [], "tools": [], "toolChoice": { "mode": "auto" } }), Revision::V2025_06_18),
            Some(json!({ "messages": [] }))
        );
        assert_eq!(adapted(json!({ "messages": [], "tools": [tool] }), Revision::V2025_06_18), None);
        assert_eq!(adapted(json!({ "messages": said }), Revision::V2025_06_18), None);
    }

    #[test]
    fn the_parts_of_a_message_were_messages() {
        let parts = json!([{ "type": "text", "text": "a" }, { "type": "audio", "data": "", "mimeType": "audio/wav" }]);
        let params = json!({ "messages": [{ "role": "user", "content": parts, "_meta": {} }] });

        let middle = adapted(params.clone(), Revision::V2025_06_18).unwrap();
        let oldest = adapted(params.clone(), Revision::V2024_11_05).unwrap();

        assert_eq!(
            middle["messages"],
            json!([{ "role": "user", "content": parts[0] }, { "role": "user", "content": parts[1] }])
        );
        assert_eq!(oldest["messages"][1]["content"]["type"], "text");
        assert_eq!(adapted(params.clone(), Revision::V2025_11_25), Some(params));
    }

    #[test]
    fn a_model_with_tools_is_shown_them_in_the_words_of_its_revision() {
        let tool = json!({ "name": "t", "inputSchema": { "type": "object", "properties": { "a": true } } });
        let said = json!({ "type": "tool_result", "toolUseId": "1", "content": [], "structuredContent": [1] });
        let params = json!({ "tools": [tool], "messages": [{ "role": "user", "content": [said] }] });

        let asked = adapted(params, Revision::V2025_11_25).unwrap();

        assert_eq!(asked["tools"][0]["inputSchema"]["properties"]["a"], json!({}));
        assert_eq!(asked["messages"][0]["content"][0].get("structuredContent"), None);
    }
}

//! Results, as each revision wants them. Each function returns the JSON text of one `result` object.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::value::RawValue;
use switchyard_proto::v1::{CompleteReply, PromptResult, ResourceResult, ToolResult, resource_contents::Body};

use crate::{CacheScope, Method, Revision, content, identity, jsonrpc::push_string, legacy::capabilities};

/// An object being written, member by member.
pub(crate) struct Writer {
    pub(crate) json: String,
}

impl Writer {
    /// Begins a result of `revision` with what all of its results have.
    pub(crate) fn begin(revision: Revision, capacity: usize) -> Self {
        let mut writer = Self { json: String::with_capacity(capacity + 180) };
        writer.json.push('{');
        if revision.has_result_type() {
            writer.json.push_str(r#""resultType":"complete""#);
        }
        writer
    }

    fn key(&mut self, key: &str) -> &mut String {
        if self.json.len() > 1 {
            self.json.push(',');
        }
        self.json.push('"');
        self.json.push_str(key);
        self.json.push_str("\":");
        &mut self.json
    }

    pub(crate) fn raw(&mut self, key: &str, json: &str) {
        self.key(key).push_str(json);
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) {
        push_string(self.key(key), text);
    }

    /// How long the answer may be kept, and by whom.
    fn caching(&mut self, method: Method, scope: CacheScope, revision: Revision) {
        if let (true, Some(ttl)) = (revision.has_result_type(), method.ttl_ms()) {
            self.raw("ttlMs", &ttl.to_string());
            self.text("cacheScope", scope.name());
        }
    }

    /// Ends the result; `meta` is the JSON text of its `_meta`, or empty.
    pub(crate) fn end(mut self, meta: &str, revision: Revision) -> String {
        let own = meta.trim().strip_prefix('{').and_then(|meta| meta.strip_suffix('}')).unwrap_or_default().trim();
        if revision.has_result_type() {
            let json = self.key("_meta");
            json.push('{');
            json.push_str(identity::meta_member());
            if !own.is_empty() {
                json.push(',');
                json.push_str(own);
            }
            json.push('}');
        } else if !own.is_empty() {
            self.raw("_meta", meta);
        }
        self.json.push('}');
        self.json
    }
}

/// The result of a request that has nothing to tell.
pub fn empty(revision: Revision) -> String {
    if !revision.has_result_type() {
        return "{}".to_owned();
    }
    Writer::begin(revision, 0).end("", revision)
}

/// The result of `server/discover`.
pub fn discover(revision: Revision, instructions: &str, scope: CacheScope) -> String {
    let mut result = Writer::begin(revision, 400);
    let versions: Vec<_> = Revision::ALL.into_iter().map(|revision| format!("\"{revision}\"")).collect();
    result.raw("supportedVersions", &format!("[{}]", versions.join(",")));
    result.raw("capabilities", capabilities(revision));
    if !instructions.is_empty() {
        result.text("instructions", instructions);
    }
    result.caching(Method::Discover, scope, revision);
    result.end("", revision)
}

/// One page of a list: `items` are JSON texts, `next` the cursor to the page after it.
pub fn list<'a>(
    method: Method,
    items: impl Iterator<Item = &'a str>,
    next: Option<&str>,
    scope: CacheScope,
    revision: Revision,
) -> String {
    let mut result = Writer::begin(revision, 1024);
    let json = result.key(list_key(method));
    json.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(item);
    }
    json.push(']');
    if let Some(next) = next {
        result.text("nextCursor", next);
    }
    result.caching(method, scope, revision);
    result.end("", revision)
}

const fn list_key(method: Method) -> &'static str {
    match method {
        Method::PromptsList => "prompts",
        Method::ResourcesList => "resources",
        Method::ResourceTemplatesList => "resourceTemplates",
        _ => "tools",
    }
}

/// What a tool said.
pub fn tool(said: &ToolResult, revision: Revision) -> String {
    let mut result = Writer::begin(revision, said.content_json.len() + said.structured_content_json.len());
    result.raw("content", &content::blocks(&said.content_json, revision));
    let structured = serde_json::from_slice::<&RawValue>(&said.structured_content_json).ok();
    let is_known = |text: &&str| revision.structures_anything() || (revision.has_titles() && text.starts_with('{'));
    if let Some(structured) = structured.map(RawValue::get).filter(is_known) {
        result.raw("structuredContent", structured);
    }
    result.raw("isError", if said.is_error { "true" } else { "false" });
    result.end(&meta(&said.meta_json, revision), revision)
}

/// A failed run that says why in one text, for a model to read and mend.
pub fn tool_failure(message: &str, revision: Revision) -> String {
    let mut result = Writer::begin(revision, message.len());
    let json = result.key("content");
    json.push_str(r#"[{"type":"text","text":"#);
    push_string(json, message);
    json.push_str("}]");
    result.raw("isError", "true");
    result.end("", revision)
}

/// What a resource holds.
pub fn resource(read: &ResourceResult, scope: CacheScope, revision: Revision) -> String {
    let mut result = Writer::begin(revision, read.contents.iter().map(body_len).sum());
    let json = result.key("contents");
    json.push('[');
    for (index, contents) in read.contents.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(r#"{"uri":"#);
        push_string(json, &contents.uri);
        if !contents.mime_type.is_empty() {
            json.push_str(r#","mimeType":"#);
            push_string(json, &contents.mime_type);
        }
        match &contents.body {
            Some(Body::Blob(blob)) => {
                json.push_str(r#","blob":""#);
                STANDARD.encode_string(blob, json);
                json.push('"');
            }
            Some(Body::Text(text)) => {
                json.push_str(r#","text":"#);
                push_string(json, text);
            }
            None => json.push_str(r#","text":"""#),
        }
        let meta = meta(&contents.meta_json, revision);
        if revision.has_titles() && !meta.is_empty() {
            json.push_str(r#","_meta":"#);
            json.push_str(&meta);
        }
        json.push('}');
    }
    json.push(']');
    result.caching(Method::ResourcesRead, scope, revision);
    result.end("", revision)
}

fn body_len(contents: &switchyard_proto::v1::ResourceContents) -> usize {
    80 + contents.uri.len()
        + match &contents.body {
            Some(Body::Blob(blob)) => blob.len() / 3 * 4 + 4,
            Some(Body::Text(text)) => text.len() + text.len() / 8,
            None => 0,
        }
}

/// A rendered prompt.
pub fn prompt(rendered: &PromptResult, revision: Revision) -> String {
    let mut result = Writer::begin(revision, rendered.messages_json.len());
    if !rendered.description.is_empty() {
        result.text("description", &rendered.description);
    }
    result.raw("messages", &content::messages(&rendered.messages_json, revision));
    result.end("", revision)
}

/// Proposals for the value of an argument.
pub fn completion(proposed: &CompleteReply, revision: Revision) -> String {
    let mut result = Writer::begin(revision, 200);
    let values: Vec<_> = proposed.values.iter().take(MAX_PROPOSALS).collect();
    let more = proposed.has_more || proposed.values.len() > MAX_PROPOSALS;
    let mut completion = serde_json::json!({ "values": values, "hasMore": more });
    if let Some(total) = proposed.total {
        completion["total"] = total.into();
    }
    result.raw("completion", &completion.to_string());
    result.end("", revision)
}

/// The most proposals that an answer may have.
const MAX_PROPOSALS: usize = 100;

/// The request is over, and its client is to send it again with answers. `requests` is the JSON text of an object of
/// questions by key, or empty; `state` what has to come back with them.
pub fn input_required(requests: &str, state: &str, revision: Revision) -> String {
    let mut result = Writer { json: String::from(r#"{"resultType":"input_required""#) };
    if !requests.is_empty() {
        result.raw("inputRequests", requests);
    }
    result.text("requestState", state);
    result.end("", revision)
}

/// The last word on a `subscriptions/listen` stream that the server ends.
pub fn listen_ended(subscription: &str, revision: Revision) -> String {
    let meta = format!(r#"{{"{SUBSCRIPTION_ID}":{subscription}}}"#);
    Writer::begin(revision, 80).end(&meta, revision)
}

/// The `_meta` member that names the listen request a message belongs to.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// A service's `_meta` as text: nothing where it is no object, or where it would name the server for us.
fn meta(json: &[u8], revision: Revision) -> String {
    let text = std::str::from_utf8(json).unwrap_or_default();
    if text.is_empty() {
        return String::new();
    }
    let Ok(mut meta) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) else {
        return String::new();
    };
    if revision.has_result_type() {
        meta.remove("io.modelcontextprotocol/serverInfo");
    }
    serde_json::Value::Object(meta).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};
    use switchyard_proto::v1::ResourceContents;

    use super::*;

    fn parsed(json: &str) -> Value {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}"))
    }

    #[test]
    fn an_empty_result_has_no_member_before_the_stateless_revision_and_a_type_in_it() {
        assert_eq!(empty(Revision::V2025_11_25), "{}");
        assert_eq!(parsed(&empty(Revision::V2026_07_28))["resultType"], "complete");
    }

    #[test]
    fn lists_say_how_long_they_may_be_kept_in_the_stateless_revision_only() {
        let of = |revision| {
            parsed(&list(Method::ToolsList, [r#"{"name":"a"}"#].into_iter(), Some("c"), CacheScope::Public, revision))
        };

        let modern = of(Revision::V2026_07_28);
        assert_eq!(modern["cacheScope"], "public");
        assert!(modern["ttlMs"].is_u64());
        assert_eq!(modern["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "switchyard");
        assert_eq!(of(Revision::V2025_11_25), json!({ "tools": [{ "name": "a" }], "nextCursor": "c" }));
    }

    #[test]
    fn structured_output_goes_to_those_whose_revision_can_hold_it() {
        let said = |structured: &'static str| ToolResult {
            content_json: "[]".into(),
            structured_content_json: structured.into(),
            meta_json: r#"{"a":1}"#.into(),
            ..ToolResult::default()
        };
        let has = |structured, revision| parsed(&tool(&said(structured), revision)).get("structuredContent").is_some();

        assert!(has("[1]", Revision::V2026_07_28));
        assert!(!has("[1]", Revision::V2025_11_25));
        assert!(!has("[1", Revision::V2026_07_28) && !has("", Revision::V2026_07_28), "it is no JSON");
        assert!(has(r#" {"n":1} "#, Revision::V2025_06_18));
        assert!(!has(r#"{"n":1}"#, Revision::V2025_03_26));
        assert_eq!(parsed(&tool(&said("[1]"), Revision::V2026_07_28))["_meta"]["a"], 1);
        assert_eq!(parsed(&tool(&said("[1]"), Revision::V2025_11_25))["_meta"], json!({ "a": 1 }));
    }

    #[test]
    fn bytes_come_as_base64_and_text_as_text() {
        let contents = |body| ResourceContents { uri: "file:///a".into(), body: Some(body), ..Default::default() };
        let read = ResourceResult {
            contents: vec![contents(Body::Blob(vec![0xff, 0].into())), contents(Body::Text("\u{0}\"é".into()))],
        };

        let result = parsed(&resource(&read, CacheScope::Public, Revision::V2026_07_28));

        assert_eq!(result["contents"][0]["blob"], "/wA=");
        assert_eq!(result["contents"][1]["text"], "\u{0}\"é");
        assert_eq!(result["ttlMs"], 0);
    }

    #[test]
    fn the_end_of_a_subscription_names_it_with_its_json_type() {
        let last = parsed(&listen_ended("7", Revision::V2026_07_28));

        assert_eq!(last["_meta"][SUBSCRIPTION_ID], 7);
        assert_eq!(last["resultType"], "complete");
    }

    #[test]
    fn discovery_lists_every_revision() {
        let result = parsed(&discover(Revision::V2026_07_28, "hello", CacheScope::Public));

        assert_eq!(result["supportedVersions"].as_array().unwrap().len(), 5);
        assert_eq!(result["instructions"], "hello");
        assert!(result.get("serverInfo").is_none());
    }
}

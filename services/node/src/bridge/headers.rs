//! The headers that repeat what a message says: a client that speaks to a pipe does not write them.

use std::{borrow::Cow, collections::HashMap, sync::Mutex};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use switchyard_mcp::{Request, header_params::HeaderParam, headers::encoded, meta::Meta};

/// The parameters that a header repeats.
#[derive(Deserialize)]
struct Routed<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "taskId")]
    task_id: Option<Cow<'a, str>>,
}

/// Which arguments of which tools are repeated in headers: what the server's lists of tools said that passed by.
#[derive(Default)]
pub struct ToolHeaders(Mutex<HashMap<String, Vec<HeaderParam>>>);

/// The headers of a stateless request, or notification where `request` is `None`.
pub fn modern(meta: &Meta<'_>, request: Option<&Request<'_>>, tools: &ToolHeaders) -> HeaderMap {
    let mut headers = HeaderMap::new();
    insert(&mut headers, "mcp-protocol-version", &meta.protocol_version().unwrap_or_default());
    let Some(request) = request else { return headers };
    insert(&mut headers, "mcp-method", &request.method);
    let params = request.params.map(|params| params.get()).unwrap_or("{}");
    let Ok(routed) = serde_json::from_str::<Routed<'_>>(params) else { return headers };
    let name = match request.method.as_ref() {
        "tools/call" | "prompts/get" => routed.name.as_deref(),
        "resources/read" => routed.uri.as_deref(),
        method if method.starts_with("tasks/") => routed.task_id.as_deref(),
        _ => None,
    };
    if let Some(name) = name {
        insert(&mut headers, "mcp-name", name);
    }
    if let (Some(tool), "tools/call") = (name, request.method.as_ref()) {
        tools.repeat(tool, params, &mut headers);
    }
    headers
}

impl ToolHeaders {
    /// Notes what the answer to `tools/list` says.
    pub fn learn(&self, answer: &str) {
        let answer: Value = serde_json::from_str(answer).unwrap_or_default();
        let tools = answer["result"]["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut known = self.0.lock().expect("nothing panics while holding it");
        for tool in tools {
            let Some(name) = tool["name"].as_str() else { continue };
            match HeaderParam::of_tool(&tool.to_string()) {
                repeated if repeated.is_empty() => known.remove(name),
                repeated => known.insert(name.to_owned(), repeated),
            };
        }
    }

    fn repeat(&self, tool: &str, params: &str, headers: &mut HeaderMap) {
        let known = self.0.lock().expect("nothing panics while holding it");
        let Some(repeated) = known.get(tool) else { return };
        let params: Value = serde_json::from_str(params).unwrap_or_default();
        for param in repeated {
            if let Some(text) = param.text(&params["arguments"]) {
                insert(headers, &param.header, &text);
            }
        }
    }
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    // A name that is none was a tool's mistake, and its header is left out.
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(encoded(value).as_ref())) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;
    use switchyard_mcp::{Message, Params, jsonrpc};

    use super::*;

    fn headers(method: &str, params: Value, tools: &ToolHeaders) -> Vec<(String, String)> {
        let mut params = params;
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let Ok(Message::Request(request)) = jsonrpc::decode(message.as_bytes()) else { panic!("it is a request") };
        let meta = Meta::read(Params::read(request.params).unwrap().meta);
        let headers = modern(&meta, Some(&request), tools);
        let mut headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        headers.sort();
        headers
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_request_is_repeated_in_its_headers() {
        let version = ("mcp-protocol-version", "2026-07-28");
        let none = ToolHeaders::default();

        for (method, params, name) in [
            ("tools/call", json!({ "name": "search" }), Some("search")),
            ("prompts/get", json!({ "name": " greet" }), Some("=?base64?IGdyZWV0?=")),
            ("resources/read", json!({ "uri": "file:///天" }), Some("=?base64?ZmlsZTovLy/lpKk=?=")),
            ("tasks/get", json!({ "taskId": "t1" }), Some("t1")),
            ("tools/call", json!({ "name": "=?base64?eA==?=" }), Some("=?base64?PT9iYXNlNjQ/ZUE9PT89?=")),
            ("tools/list", json!({}), None),
        ] {
            let mut expected = pairs(&[("mcp-method", method)]);
            expected.extend(name.map(|name| ("mcp-name".to_owned(), name.to_owned())));
            expected.extend(pairs(&[version]));
            assert_eq!(headers(method, params, &none), expected);
        }
    }

    #[test]
    fn arguments_that_a_tools_schema_marks_are_repeated_once_the_tool_was_listed() {
        let tools = ToolHeaders::default();
        let schema = json!({ "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
        tools.learn(&json!({ "result": { "tools": [{ "name": "deploy", "inputSchema": schema }] } }).to_string());

        let with = headers("tools/call", json!({ "name": "deploy", "arguments": { "region": "eu" } }), &tools);
        let without = headers("tools/call", json!({ "name": "deploy", "arguments": { "region": null } }), &tools);

        assert!(with.contains(&("mcp-param-region".into(), "eu".into())), "{with:?}");
        assert_eq!(without.len(), 3, "{without:?}");
    }
}

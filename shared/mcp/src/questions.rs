//! Questions to a client in the middle of a call: what it can be asked, and how each era asks it.
//!
//! Services ask in the newest revision's shape. A stateless client finds the questions in a result; one with a session
//! gets each as a request on the call's own stream.

use serde_json::{Map, Value, json};

use crate::{Revision, RpcError, forms, jsonrpc::push_string, sampling};

/// Questions by key, as a service asked them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Questions(Map<String, Value>);

impl Questions {
    /// Reads what a service asked: a JSON object of `{"method": …, "params": …}`.
    ///
    /// # Errors
    /// It is something else, or asks what nobody can be asked.
    pub fn read(json: &[u8]) -> Result<Self, RpcError> {
        let wrong = || RpcError::internal("the service asked its client in a form that nobody can answer");
        if json.is_empty() {
            return Ok(Self::default());
        }
        let questions: Map<String, Value> = serde_json::from_slice(json).map_err(|_| wrong())?;
        if questions.values().all(is_known) { Ok(Self(questions)) } else { Err(wrong()) }
    }

    /// The questions as a stateless client finds them.
    pub fn json(&self) -> String {
        if self.0.is_empty() { String::new() } else { Value::Object(self.0.clone()).to_string() }
    }

    /// Each question with its key.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter()
    }

    /// The abilities that these questions need and `capabilities`, a client's, lack; in the shape of capabilities.
    pub fn missing(&self, capabilities: &Value) -> Option<Value> {
        let missing: Vec<_> = self.0.values().filter_map(|question| missing(question, capabilities)).collect();
        missing.into_iter().reduce(merged)
    }
}

/// Whether it is a question that clients can be asked at all.
fn is_known(question: &Value) -> bool {
    let method = question.get("method").and_then(Value::as_str);
    matches!(method, Some("elicitation/create" | "sampling/createMessage" | "roots/list"))
}

/// What a handler finds in place of an answer when its question, a JSON text, cannot be asked a client with these
/// capabilities. `None` when it can.
pub fn unanswerable(question: &[u8], capabilities: &Value) -> Option<Value> {
    match serde_json::from_slice(question) {
        Ok(question) if is_known(&question) => missing(&question, capabilities)
            .map(|_| refused(RpcError::METHOD_NOT_FOUND, "the client did not declare that it can be asked this")),
        _ => Some(refused(RpcError::INTERNAL, "nobody can be asked this")),
    }
}

/// The ability that one question needs and a client lacks.
pub fn missing(question: &Value, capabilities: &Value) -> Option<Value> {
    let params = question.get("params");
    let has = |path: &str| capabilities.pointer(path).is_some();
    let (there, needed) = match question.get("method").and_then(Value::as_str) {
        Some("elicitation/create") if params.and_then(|params| params.get("mode")) == Some(&json!("url")) => {
            (has("/elicitation/url"), json!({ "elicitation": { "url": {} } }))
        }
        // A client that names no mode means forms.
        Some("elicitation/create") => {
            let forms = has("/elicitation/form") || (has("/elicitation") && !has("/elicitation/url"));
            (forms, json!({ "elicitation": {} }))
        }
        Some("sampling/createMessage") if params.is_some_and(|params| params.get("tools").is_some()) => {
            (has("/sampling/tools"), json!({ "sampling": { "tools": {} } }))
        }
        Some("sampling/createMessage") => (has("/sampling"), json!({ "sampling": {} })),
        _ => (has("/roots"), json!({ "roots": {} })),
    };
    (!there).then_some(needed)
}

/// What `needed` has that `capabilities` lack, both in the shape of a client's capabilities.
pub fn lacking(needed: &Value, capabilities: &Value) -> Option<Value> {
    let Value::Object(needed) = needed else { return None };
    let mut lacking = Map::new();
    for (key, inner) in needed {
        match capabilities.get(key) {
            None => _ = lacking.insert(key.clone(), inner.clone()),
            Some(declared) => {
                if let Some(inner) = self::lacking(inner, declared) {
                    lacking.insert(key.clone(), inner);
                }
            }
        }
    }
    (!lacking.is_empty()).then_some(Value::Object(lacking))
}

fn merged(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            for (key, value) in other {
                let merged = match one.remove(&key) {
                    Some(before) => merged(before, value),
                    None => value,
                };
                one.insert(key, merged);
            }
            Value::Object(one)
        }
        (one, _) => one,
    }
}

/// A question as a request to a client with a session, under `id`, which becomes a JSON string. `None` where its revision
/// has no such question, or has no words for something in it.
pub fn request(id: &str, question: &Value, revision: Revision) -> Option<String> {
    let method = question.get("method")?.as_str()?;
    let mut params = question.get("params").cloned().unwrap_or_else(|| json!({}));
    if method == "elicitation/create" {
        let by_url = params.get("mode") == Some(&json!("url"));
        if !revision.has_elicitation() || (by_url && !revision.has_url_elicitation()) {
            return None;
        }
        let fields = params.as_object_mut()?;
        if by_url {
            fields.entry("elicitationId").or_insert_with(|| json!(id));
        } else if !forms::adapt(fields, revision) {
            return None;
        }
    }
    if method == "sampling/createMessage" && !sampling::adapt(params.as_object_mut()?, revision) {
        return None;
    }
    let mut message = String::from(r#"{"jsonrpc":"2.0","id":"#);
    push_string(&mut message, id);
    message.push_str(r#","method":"#);
    push_string(&mut message, method);
    if method != "roots/list" || params.as_object().is_some_and(|params| !params.is_empty()) {
        message.push_str(r#","params":"#);
        message.push_str(&params.to_string());
    }
    message.push('}');
    Some(message)
}

/// What a handler finds in place of an answer that cannot be had.
pub fn refused(code: i32, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message } })
}

/// A client's answer as a handler finds it: the result, or an object with the error.
pub fn answered(message: &[u8]) -> Value {
    let mut message: Value = serde_json::from_slice(message).unwrap_or_default();
    match (message.get_mut("result").map(Value::take), message.get_mut("error").map(Value::take)) {
        (Some(result @ Value::Object(_)), _) => result,
        (_, Some(error)) => json!({ "error": error }),
        _ => refused(RpcError::INVALID_REQUEST, "the client's answer is no object"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn question(method: &str, params: Value) -> Value {
        json!({ "method": method, "params": params })
    }

    #[test]
    fn each_kind_of_question_needs_its_own_ability() {
        let form = question("elicitation/create", json!({ "message": "?" }));
        let url = question("elicitation/create", json!({ "mode": "url" }));
        let tools = question("sampling/createMessage", json!({ "tools": [] }));

        assert_eq!(missing(&form, &json!({ "elicitation": {} })), None);
        assert_eq!(missing(&form, &json!({ "elicitation": { "form": {}, "url": {} } })), None);
        assert!(missing(&form, &json!({ "elicitation": { "url": {} } })).is_some());
        assert_eq!(missing(&url, &json!({ "elicitation": {} })), Some(json!({ "elicitation": { "url": {} } })));
        assert_eq!(missing(&tools, &json!({ "sampling": {} })), Some(json!({ "sampling": { "tools": {} } })));
        assert_eq!(missing(&question("roots/list", json!({})), &json!({})), Some(json!({ "roots": {} })));
    }

    #[test]
    fn a_question_that_its_client_cannot_answer_is_refused_for_it() {
        let form = question("elicitation/create", json!({ "message": "?" })).to_string();
        let refused = |question: &str, capabilities| unanswerable(question.as_bytes(), &capabilities);

        assert_eq!(refused(&form, json!({ "elicitation": {} })), None);
        assert_eq!(refused(&form, json!({})).unwrap()["error"]["code"], RpcError::METHOD_NOT_FOUND);
        for unknown in [r#"{"method":"tools/call"}"#, "{}", "7", ""] {
            assert_eq!(refused(unknown, json!({})).unwrap()["error"]["code"], RpcError::INTERNAL, "{unknown}");
        }
    }

    #[test]
    fn what_several_questions_miss_is_told_together() {
        let questions = json!({
            "a": question("elicitation/create", json!({ "mode": "url" })),
            "b": question("roots/list", json!({})),
        });
        let questions = Questions::read(questions.to_string().as_bytes()).unwrap();

        let missing = questions.missing(&json!({ "elicitation": {} })).unwrap();

        assert_eq!(missing, json!({ "elicitation": { "url": {} }, "roots": {} }));
    }

    #[test]
    fn older_clients_are_asked_in_their_own_words_or_not_at_all() {
        let url = question("elicitation/create", json!({ "mode": "url", "url": "https://a" }));
        let form = question("elicitation/create", json!({ "mode": "form", "message": "?" }));

        assert_eq!(request("q", &form, Revision::V2025_03_26), None);
        assert_eq!(request("q", &url, Revision::V2025_06_18), None);
        assert!(!request("q", &form, Revision::V2025_06_18).unwrap().contains("mode"));
        assert!(request("q", &url, Revision::V2025_11_25).unwrap().contains(r#""elicitationId":"q""#));
        assert_eq!(
            request("q", &question("roots/list", json!({})), Revision::V2024_11_05).unwrap(),
            r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#
        );
    }

    #[test]
    fn an_answer_is_its_result_or_its_error() {
        assert_eq!(answered(br#"{"id":1,"result":{"a":1}}"#), json!({ "a": 1 }));
        assert_eq!(answered(br#"{"id":1,"error":{"code":-1,"message":"no"}}"#)["error"]["code"], -1);
        assert_eq!(answered(br#"{"id":1,"result":5}"#)["error"]["code"], RpcError::INVALID_REQUEST);
    }

    #[test]
    fn needs_are_compared_level_by_level() {
        let needed = json!({ "sampling": { "tools": {} }, "roots": {} });

        assert_eq!(
            lacking(&needed, &json!({ "sampling": {}, "roots": {} })),
            Some(json!({ "sampling": { "tools": {} } }))
        );
        assert_eq!(lacking(&needed, &json!({ "sampling": { "tools": {} }, "roots": { "listChanged": true } })), None);
    }
}

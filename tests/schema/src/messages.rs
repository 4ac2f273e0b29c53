//! Whole messages: which definition each is held against, and the rules that no definition states.

use serde_json::Value;

use crate::{Fault, Schema, exceptions::allows_missing_id};

/// Errors that the stateless revision numbers anew, and must not send any more.
const RETIRED_ERRORS: [i64; 2] = [-32002, -32042];
/// Errors of the stateless revision that no request of a session can meet.
const STATELESS_ERRORS: [i64; 2] = [-32020, -32021];

impl Schema {
    /// What is wrong with a message that a server sent. `asked` is the method of the request that it answers, if it
    /// answers one whose method is known.
    pub fn message(&self, message: &Value, asked: Option<&str>) -> Vec<Fault> {
        let has = |member| message.get(member).is_some();
        match message {
            Value::Array(_) => self.batch(message, asked),
            Value::Object(_) if has("method") && has("id") => self.question(message),
            Value::Object(_) if has("method") => self.notification(message),
            Value::Object(_) if has("result") => self.response(message, asked),
            Value::Object(_) if has("error") => self.error(message),
            _ => vec![Fault::new("", "is neither a request nor a notification, a result or an error")],
        }
    }

    /// Whether several messages may leave as one array.
    pub fn has_batches(&self) -> bool {
        self.has("JSONRPCBatchResponse")
    }

    /// What is wrong with the result of a request.
    pub fn result(&self, method: &str, result: &Value) -> Vec<Fault> {
        let Some(request) = self.named("ClientRequest", method) else {
            return vec![Fault::new("", format!("`{method}` has no result, for there is no such request"))];
        };
        if self.is_stateless() {
            match result.get("resultType").and_then(Value::as_str) {
                Some("complete") | None => {}
                Some("input_required") => return self.input_required(request, method, result),
                Some("task") if method == "tools/call" => return self.check("CreateTaskResult", result),
                Some(other) => {
                    return vec![Fault::new("/resultType", format!("`{method}` has no result of type `{other}`"))];
                }
            }
        }
        let own = request.replace("Request", "Result");
        self.check(if self.has(&own) { &own } else { "EmptyResult" }, result)
    }

    fn input_required(&self, request: &str, method: &str, result: &Value) -> Vec<Fault> {
        let response = self.official.get(&request.replace("Request", "ResultResponse"));
        let results = response.and_then(|response| response.pointer("/properties/result/anyOf"));
        if !results.is_some_and(|results| results.to_string().contains("/InputRequiredResult\"")) {
            return vec![Fault::new("/resultType", format!("`{method}` asks for no input"))];
        }
        if result.get("inputRequests").is_none() && result.get("requestState").is_none() {
            return vec![Fault::new("", "has neither `inputRequests` nor `requestState`")];
        }
        self.check("InputRequiredResult", result)
    }

    fn batch(&self, message: &Value, asked: Option<&str>) -> Vec<Fault> {
        match message {
            Value::Array(messages) if self.has_batches() && !messages.is_empty() => {
                let each = messages.iter().enumerate();
                each.flat_map(|(index, message)| {
                    self.message(message, asked).into_iter().map(move |fault| fault.below(&format!("/{index}")))
                })
                .collect()
            }
            _ => vec![Fault::new("", "is an array, and this revision has no batches, and none an empty one")],
        }
    }

    fn question(&self, message: &Value) -> Vec<Fault> {
        let method = message["method"].as_str().unwrap_or_default();
        let Some(definition) = self.named("ServerRequest", method) else {
            return vec![Fault::new("/method", format!("no server asks `{method}`"))];
        };
        let envelope = self.faults("JSONRPCRequest", crate::Strictness::Official, message);
        if envelope.is_empty() { self.check(definition, message) } else { envelope }
    }

    fn notification(&self, message: &Value) -> Vec<Fault> {
        let method = message["method"].as_str().unwrap_or_default();
        let Some(definition) = self.named("ServerNotification", method) else {
            return vec![Fault::new("/method", format!("no server notifies of `{method}`"))];
        };
        let envelope = self.faults("JSONRPCNotification", crate::Strictness::Official, message);
        if envelope.is_empty() { self.check(definition, message) } else { envelope }
    }

    fn response(&self, message: &Value, asked: Option<&str>) -> Vec<Fault> {
        let envelope = if self.has("JSONRPCResultResponse") { "JSONRPCResultResponse" } else { "JSONRPCResponse" };
        let mut faults = only(message, &["jsonrpc", "id", "result"]);
        faults.extend(self.faults(envelope, crate::Strictness::Official, message));
        match asked {
            Some(method) => {
                let of_result = self.result(method, &message["result"]);
                faults.extend(of_result.into_iter().map(|fault| fault.below("/result")));
            }
            None => faults.push(Fault::new("/id", "is the id of no request")),
        }
        faults
    }

    fn error(&self, message: &Value) -> Vec<Fault> {
        let envelope = if self.has("JSONRPCErrorResponse") { "JSONRPCErrorResponse" } else { "JSONRPCError" };
        let mut faults = only(message, &["jsonrpc", "id", "error"]);
        faults.extend(
            only(&message["error"], &["code", "message", "data"]).into_iter().map(|fault| fault.below("/error")),
        );
        let mut judged = message.clone();
        if allows_missing_id(self.revision, message) && matches!(message.get("id"), None | Some(Value::Null)) {
            judged["id"] = 0.into();
        }
        let code = message.pointer("/error/code").and_then(Value::as_i64);
        let definition = code.and_then(|code| self.error_of(code)).unwrap_or(envelope);
        faults.extend(self.faults(definition, crate::Strictness::Official, &judged));
        let foreign = if self.is_stateless() { RETIRED_ERRORS } else { STATELESS_ERRORS };
        if let Some(code) = code.filter(|code| foreign.contains(code)) {
            faults.push(Fault::new("/error/code", format!("{code} is no error of this revision")));
        }
        faults
    }

    /// The definition of the messages with this error, where it has one of its own.
    fn error_of(&self, code: i64) -> Option<&str> {
        let is_it = |definition: &Value| {
            definition.pointer("/properties/error/allOf/1/properties/code/const").and_then(Value::as_i64) == Some(code)
        };
        self.official.iter().find(|(_, definition)| is_it(definition)).map(|(name, _)| name.as_str())
    }

    /// The definition with this method, among the alternatives of another.
    fn named(&self, union: &str, method: &str) -> Option<&str> {
        let alternatives = self.official.get(union)?["anyOf"].as_array()?;
        let names = alternatives.iter().filter_map(|alternative| alternative["$ref"].as_str()?.rsplit('/').next());
        let is_it = |name: &&str| {
            self.official[*name].pointer("/properties/method/const").and_then(Value::as_str) == Some(method)
        };
        names.into_iter().find(is_it)
    }

    /// Whether results say their type, and nothing is asked but in results.
    fn is_stateless(&self) -> bool {
        !self.has("ServerRequest")
    }
}

/// Members that are not among these.
fn only(object: &Value, members: &[&str]) -> Vec<Fault> {
    let Value::Object(object) = object else { return Vec::new() };
    let others = object.keys().filter(|member| !members.contains(&member.as_str()));
    others.map(|member| Fault::new("", format!("has a member `{member}`, which does not belong there"))).collect()
}

//! The extension for long calls, `io.modelcontextprotocol/tasks`. It adds to the newest revision and is described apart
//! from its file, so what a server says of tasks is described here.

use serde_json::{Map, Value, json};

/// What the members of every task are, but for its status.
fn task() -> Value {
    json!({
        "taskId": { "type": "string" },
        "statusMessage": { "type": "string" },
        "createdAt": { "type": "string", "format": "date-time" },
        "lastUpdatedAt": { "type": "string", "format": "date-time" },
        "ttlMs": { "type": ["integer", "null"] },
        "pollIntervalMs": { "type": "integer" },
    })
}

/// A task in one of these states, with `more` that belongs to it there and in the message that tells of it.
fn in_state(states: &[&str], inlined: &[(&str, Value)], message: &[(&str, Value)]) -> Value {
    let mut members = task();
    members["status"] = json!({ "enum": states });
    let mut required = vec!["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"];
    for (name, schema) in inlined {
        members[*name] = schema.clone();
        required.push(name);
    }
    for (name, schema) in message {
        members[*name] = schema.clone();
    }
    required.extend(message.iter().map(|(name, _)| *name).filter(|name| *name == "resultType"));
    json!({ "type": "object", "properties": members, "required": required })
}

/// A task with what is known of its outcome.
fn detailed(message: &[(&str, Value)]) -> Value {
    let questions = json!({ "$ref": "#/$defs/InputRequests" });
    let states = [
        in_state(&["working", "cancelled"], &[], message),
        in_state(&["input_required"], &[("inputRequests", questions)], message),
        in_state(&["completed"], &[("result", json!({ "type": "object" }))], message),
        in_state(&["failed"], &[("error", json!({ "$ref": "#/$defs/Error" }))], message),
    ];
    json!({ "anyOf": states })
}

/// Adds to the definitions of the newest revision.
pub fn add(definitions: &mut Map<String, Value>) {
    let tags = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let of_result = |kind: &str| [("resultType", json!({ "const": kind })), ("_meta", tags("ResultMetaObject"))];
    let states = ["working", "input_required", "completed", "failed", "cancelled"];
    definitions.insert("CreateTaskResult".into(), in_state(&states, &[], &of_result("task")));
    definitions.insert("GetTaskResult".into(), detailed(&of_result("complete")));
    definitions.insert("TaskParams".into(), detailed(&[("_meta", tags("NotificationMetaObject"))]));
    for (union, name, method) in [
        ("ClientRequest", "GetTaskRequest", "tasks/get"),
        ("ClientRequest", "UpdateTaskRequest", "tasks/update"),
        ("ClientRequest", "CancelTaskRequest", "tasks/cancel"),
        ("ServerNotification", "TaskNotification", "notifications/tasks"),
    ] {
        let members = json!({ "jsonrpc": {}, "method": { "const": method }, "params": tags("TaskParams") });
        definitions.insert(name.into(), json!({ "type": "object", "properties": members, "required": ["params"] }));
        if let Some(alternatives) = definitions[union]["anyOf"].as_array_mut() {
            alternatives.push(tags(name));
        }
    }
    definitions["SubscriptionFilter"]["properties"]["taskIds"] =
        json!({ "type": "array", "items": { "type": "string" } });
}

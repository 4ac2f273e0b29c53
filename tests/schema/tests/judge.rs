//! The judge finds what is wrong, says where, and lets pass what is right.

use serde_json::{Value, json};
use switchyard_schemas::Schema;

/// What is wrong with a message of a revision, as a failing test would show it.
fn faults(revision: &str, asked: Option<&str>, message: Value) -> String {
    let schema = Schema::of(revision).expect("it is a revision");
    let faults: Vec<_> = schema.message(&message, asked).iter().map(ToString::to_string).collect();
    faults.join("; ")
}

fn answer(result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

fn error(code: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}})
}

/// A tool's result as the stateless revision has it.
fn modern() -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": "a"}], "isError": false,
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}, "com.example/any": [1.5, null]}})
}

fn tools(tool: Value) -> Value {
    answer(json!({"tools": [tool]}))
}

#[test]
fn every_definition_can_be_used() {
    for revision in Schema::revisions() {
        let schema = Schema::of(revision).expect("it is a revision");
        for definition in ["CallToolResult", "ListToolsResult", "CompleteResult", "Tool", "ServerNotification"] {
            assert!(!schema.check(definition, &json!(7)).is_empty(), "{revision} {definition}");
        }
    }
    assert!(Schema::of("2023-01-01").is_none());
}

#[test]
fn what_is_right_passes_in_each_revision() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": "t", "progress": 0.5, "total": 1}});
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let roots = json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"});

        assert_eq!(faults(revision, Some("ping"), answer(json!({}))), "");
        assert_eq!(faults(revision, Some("tools/list"), tools(json!({"name": "t", "inputSchema": schema}))), "");
        assert_eq!(faults(revision, Some("nobody/knows"), error(-32601)), "");
        for message in [progress, changed, roots] {
            assert_eq!(faults(revision, None, message), "", "{revision}");
        }
    }
    assert_eq!(faults("2026-07-28", Some("tools/call"), answer(modern())), "");
    assert_eq!(faults("2025-03-26", Some("ping"), json!([answer(json!({})), error(-32600)])), "");
}

#[test]
fn a_result_is_one_of_the_request_that_it_answers() {
    let listed = answer(json!({"prompts": []}));

    assert_eq!(faults("2025-06-18", Some("prompts/list"), listed.clone()), "");
    assert!(faults("2025-06-18", Some("tools/list"), listed.clone()).contains("at `/result`: \"tools\" is a required"));
    assert!(faults("2025-06-18", Some("server/discover"), listed.clone()).contains("there is no such request"));
    assert!(faults("2025-06-18", None, listed).contains("is the id of no request"));
}

#[test]
fn members_of_newer_revisions_leak_nowhere() {
    let tool = |member: &str, value: Value| {
        let mut tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        tool[member] = value;
        tools(tool)
    };
    for (member, value, since) in [
        ("annotations", json!({"readOnlyHint": true}), "2025-03-26"),
        ("title", json!("T"), "2025-06-18"),
        ("outputSchema", json!({"type": "object"}), "2025-06-18"),
        ("_meta", json!({"a": 1}), "2025-06-18"),
        ("icons", json!([{"src": "https://a/b.png"}]), "2025-11-25"),
    ] {
        for revision in Schema::revisions().filter(|revision| *revision != "2026-07-28") {
            let found = faults(revision, Some("tools/list"), tool(member, value.clone()));
            assert_eq!(found.contains("at `/result/tools/0`"), revision < since, "{revision} {member}: {found}");
        }
    }
    let sized = answer(json!({"resultType": "complete"}));
    assert!(faults("2025-11-25", Some("ping"), sized).contains("resultType"));
}

#[test]
fn content_is_held_against_the_kind_that_it_says_it_is() {
    let block = |block: Value| answer(json!({"content": [block]}));
    let audio = json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"});
    let broken = json!({"type": "image", "data": "no base64", "mimeType": "image/png"});

    assert!(faults("2024-11-05", Some("tools/call"), block(audio.clone())).contains("/result/content/0"));
    assert_eq!(faults("2025-03-26", Some("tools/call"), block(audio)), "");
    assert!(faults("2025-11-25", Some("tools/call"), block(broken)).contains("at `/result/content/0/data`"));
}

#[test]
fn a_stateless_result_says_its_type_and_only_one_that_it_can_have() {
    let without = {
        let mut result = modern();
        result.as_object_mut().expect("it is one").remove("resultType");
        result
    };
    let asking = json!({"resultType": "input_required", "requestState": "s"});
    let question = json!({"method": "roots/list"});
    let enveloped = json!({"method": "roots/list", "jsonrpc": "2.0", "id": 1});
    let with = |question: &Value| json!({"resultType": "input_required", "inputRequests": {"a": question}});

    assert!(faults("2026-07-28", Some("tools/call"), answer(without)).contains("\"resultType\" is a required"));
    assert_eq!(faults("2026-07-28", Some("tools/call"), answer(asking.clone())), "");
    assert_eq!(faults("2026-07-28", Some("tools/call"), answer(with(&question))), "");
    assert!(faults("2026-07-28", Some("tools/call"), answer(with(&enveloped))).contains("/inputRequests/a"));
    assert!(faults("2026-07-28", Some("tools/list"), answer(asking)).contains("asks for no input"));
    let nothing = answer(json!({"resultType": "input_required"}));
    assert!(faults("2026-07-28", Some("tools/call"), nothing).contains("neither `inputRequests` nor"));
    let unhinted = answer(json!({"resultType": "complete", "tools": []}));
    assert!(faults("2026-07-28", Some("tools/list"), unhinted).contains("ttlMs"));
}

#[test]
fn the_envelope_is_checked() {
    let null_id = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}});
    let fraction = json!({"jsonrpc": "2.0", "id": 1.5, "result": {}});
    let older = json!({"jsonrpc": "1.0", "id": 1, "result": {}});
    let both = json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": null});

    assert!(faults("2025-11-25", None, null_id.clone()).contains("at `/id`"));
    assert!(faults("2026-07-28", None, null_id.clone()).contains("at `/id`"));
    assert_eq!(faults("2024-11-05", None, null_id), "", "there is no other way to say it");
    assert!(faults("2025-11-25", Some("ping"), fraction).contains("at `/id`"));
    assert!(faults("2025-11-25", Some("ping"), older).contains("at `/jsonrpc`"));
    assert!(faults("2025-11-25", Some("ping"), both).contains("`error`"));
    assert!(faults("2025-11-25", None, json!({"jsonrpc": "2.0", "id": 1})).contains("neither"));
    assert!(faults("2025-06-18", Some("ping"), json!([answer(json!({}))])).contains("no batches"));
    assert!(faults("2025-03-26", None, json!([])).contains("empty"));
}

#[test]
fn errors_belong_to_their_era_and_bring_their_data() {
    assert_eq!(faults("2025-11-25", Some("resources/read"), error(-32002)), "");
    assert!(faults("2026-07-28", Some("resources/read"), error(-32002)).contains("no error of this revision"));
    assert!(faults("2025-11-25", Some("tools/call"), error(-32021)).contains("no error of this revision"));
    assert!(faults("2026-07-28", Some("tools/call"), error(-32021)).contains("\"data\" is a required"));
    assert_eq!(faults("2026-07-28", Some("tools/call"), error(-32020)), "");
}

#[test]
fn only_known_notifications_and_questions_leave_a_server() {
    let message = |method: &str| json!({"jsonrpc": "2.0", "method": method, "params": {}});
    let question =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": params});
    let form = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}});

    assert!(faults("2025-11-25", None, message("notifications/nobody")).contains("no server notifies"));
    assert!(faults("2025-11-25", None, message("notifications/initialized")).contains("no server notifies"));
    assert!(faults("2025-11-25", None, message("notifications/progress")).contains("/params"));
    assert_eq!(faults("2025-06-18", None, question("elicitation/create", form.clone())), "");
    assert!(faults("2025-03-26", None, question("elicitation/create", form.clone())).contains("no server asks"));
    assert!(faults("2026-07-28", None, question("elicitation/create", form)).contains("no server asks"));
    let mode = json!({"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}});
    assert!(faults("2025-06-18", None, question("elicitation/create", mode)).contains("mode"));
}

#[test]
fn a_task_says_all_that_its_state_has() {
    let task = |kind: &str, state: &str| {
        json!({"resultType": kind, "taskId": "t", "status": state, "createdAt": "2026-01-02T03:04:05Z",
            "lastUpdatedAt": "2026-01-02T03:04:05Z", "ttlMs": null, "pollIntervalMs": 500})
    };
    let with = |state: &str, name: &str, value: Value| {
        let mut task = task("complete", state);
        task[name] = value;
        answer(task)
    };
    let of = |asked: &str, message: Value| faults("2026-07-28", Some(asked), message);

    assert_eq!(of("tools/call", answer(task("task", "working"))), "");
    assert!(of("prompts/get", answer(task("task", "working"))).contains("no result of type `task`"));
    assert_eq!(of("tasks/get", answer(task("complete", "working"))), "");
    assert_eq!(of("tasks/get", with("completed", "result", json!({}))), "");
    assert!(of("tasks/get", answer(task("complete", "completed"))).contains("\"result\" is a required"));
    assert!(of("tasks/get", answer(task("task", "working"))).contains("no result of type `task`"));
    assert!(of("tasks/get", with("failed", "error", json!({"code": 1}))).contains("\"message\" is a required"));
    assert_eq!(of("tasks/cancel", answer(json!({"resultType": "complete"}))), "");
    assert!(of("tasks/list", answer(json!({"resultType": "complete"}))).contains("no such request"));
}

//! What clients see of a task, and who sees none.

use serde_json::json;
use switchyard_tests::{LegacyClient, ModernClient, Revision, Talker, WebSocketClient, eventually};
use tonic::Status;

use crate::{
    Beside, TASKS, assert_empty, begin, cancel, declaring, following, get, needed, started, task_in, until, update,
    worker::{filled_in, form},
};

#[tokio::test]
async fn the_extension_is_told_by_discovery_and_to_no_session() {
    let beside = Beside::start().await;

    let discovered = beside.modern().request("server/discover", json!({})).await.result().clone();

    assert_eq!(discovered["capabilities"]["extensions"], json!({TASKS: {}}));
    assert_eq!(discovered["capabilities"].get("tasks"), None);
    for revision in Revision::ALL {
        let params = json!({
            "protocolVersion": revision.date(),
            "capabilities": {"extensions": {TASKS: {}}, "tasks": {}},
            "clientInfo": {"name": "t", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let request = beside.node.mcp().request("POST").header("Accept", "application/json, text/event-stream");
        let opened = request.json(&body).send().await.json().await;
        let capabilities = opened["result"]["capabilities"].as_object().unwrap().clone();
        assert!(!capabilities.contains_key("extensions") && !capabilities.contains_key("tasks"), "{opened}");
    }
}

#[tokio::test]
async fn a_call_becomes_a_task_that_is_looked_at_until_it_has_its_result() {
    let beside = Beside::start().await;
    let client = beside.modern();

    let (call, run) = tokio::join!(begin(&client, "slow"), async { beside.worker.next_run().await.into_task() });
    let created = call.finish().await;

    let result = created.result();
    let task = task_in(&created);
    assert_eq!((&result["status"], &result["createdAt"]), (&json!("working"), &result["lastUpdatedAt"]));
    assert_eq!((result["ttlMs"].as_u64(), result["pollIntervalMs"].as_u64()), (Some(3_600_000), Some(1_000)));
    for absent in ["task", "result", "error", "inputRequests", "requestState", "ttl", "pollInterval"] {
        assert_eq!(result.get(absent), None, "{absent}");
    }
    let working = get(&client, &task).await;
    assert_eq!((&working["resultType"], &working["status"]), (&json!("complete"), &json!("working")));
    run.say("done").await;
    let completed = until(&client, &task, "completed").await;
    assert_eq!(completed["result"]["content"][0]["text"], "done");
    assert_eq!((completed["result"]["isError"].as_bool(), completed.get("error")), (Some(false), None));
    assert_eq!(get(&client, &task).await, completed, "it changes no more");
}

#[tokio::test]
async fn a_quick_call_has_its_result_in_its_own_reply() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let params = following(json!({"name": "plain", "task": {"ttl": 1}}));

    let (reply, ()) = tokio::join!(client.request("tools/call", params), async {
        let run = beside.worker.next_run().await;
        assert!(!run.may_be_task());
        run.say("at once").await;
    });

    assert_eq!(reply.result()["resultType"], "complete");
    assert_eq!(reply.result()["content"][0]["text"], "at once");
}

#[tokio::test]
async fn a_client_that_follows_no_tasks_waits_for_its_result() {
    let beside = Beside::start().await;
    let modern = beside.modern();

    let call = modern.start("tools/call", json!({"name": "slow"}));
    let (call, ()) = tokio::join!(call, async {
        let run = beside.worker.next_run().await;
        assert!(!run.may_be_task());
        run.say("modern").await;
    });
    assert_eq!(call.finish().await.result()["content"][0]["text"], "modern");

    for revision in Revision::ALL {
        let client = LegacyClient::connect(&beside.node.mcp(), revision).await;
        for tool in ["slow", "job"] {
            let call = client.start("tools/call", json!({"name": tool, "task": {"ttl": 60_000}}));
            let (call, ()) = tokio::join!(call, async { beside.worker.next_run().await.say("legacy").await });
            assert_eq!(call.finish().await.result()["content"][0]["text"], "legacy", "{revision:?} {tool}");
        }
        assert_eq!(client.request("tasks/get", json!({"taskId": "t"})).await.error().code, -32601);
    }
}

#[tokio::test]
async fn what_takes_the_extension_is_refused_without_it_request_by_request() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, run) = started(&client, &beside.worker).await;

    for (method, params) in [
        ("tools/call", json!({"name": "job"})),
        ("tasks/get", json!({"taskId": task})),
        ("tasks/update", json!({"taskId": task, "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": task})),
        ("subscriptions/listen", json!({"notifications": {"taskIds": [task]}})),
    ] {
        for capabilities in [json!({}), json!({"tasks": {}, "elicitation": {}})] {
            let reply = client.request(method, declaring(params.clone(), capabilities)).await;
            assert_eq!((reply.refusal(), reply.error().data), ((400, -32021), needed()), "{method}");
        }
    }

    assert_eq!(get(&client, &task).await["status"], "working");
    run.say("done").await;
    until(&client, &task, "completed").await;
}

#[tokio::test]
async fn a_task_that_is_not_there_is_refused_and_so_is_what_older_tasks_had() {
    let beside = Beside::start().await;
    let client = beside.modern();

    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for task in ["no-such-task", "", "*"] {
            let params = following(json!({"taskId": task, "inputResponses": {}}));
            assert_eq!(client.request(method, params).await.refusal(), (200, -32602), "{method} {task}");
        }
        let params = following(json!({"taskId": 7, "inputResponses": {}}));
        assert_eq!(client.request(method, params).await.error().code, -32602);
    }
    for method in ["tasks/result", "tasks/list"] {
        let reply = client.request(method, following(json!({"taskId": "t"}))).await;
        assert_eq!(reply.refusal(), (404, -32601), "{method}");
    }
}

#[tokio::test]
async fn the_name_header_repeats_the_task() {
    let beside = Beside::start().await;
    let params = ModernClient::params(following(json!({"taskId": "a", "inputResponses": {}})));
    let body = json!({"jsonrpc": "2.0", "id": 1, "params": params});

    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for name in [None, Some("b")] {
            let mut body = body.clone();
            body["method"] = json!(method);
            let request = beside.node.mcp().request("POST").header("Accept", "application/json, text/event-stream");
            let request = request.json(&body).header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", method);
            let request = name.into_iter().fold(request, |request, name| request.header("Mcp-Name", name));
            let answer = request.send().await;
            assert_eq!(
                (answer.status, &answer.json().await["error"]["code"]),
                (400, &json!(-32020)),
                "{method} {name:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_tool_that_failed_completes_its_task_and_a_call_that_failed_fails_it() {
    let beside = Beside::start().await;
    let client = beside.modern();

    let (complained, run) = started(&client, &beside.worker).await;
    run.complain("cannot be done").await;
    let completed = until(&client, &complained, "completed").await;
    assert_eq!((&completed["result"]["isError"], completed.get("error")), (&json!(true), None));

    let (broken, run) = started(&client, &beside.worker).await;
    run.break_off(Status::internal("a secret")).await;
    let failed = until(&client, &broken, "failed").await;
    assert_eq!((&failed["error"]["code"], failed.get("result")), (&json!(-32603), None));
    assert!(!failed.to_string().contains("secret"), "{failed}");
}

#[tokio::test]
async fn a_cancelled_task_gives_up_its_tool_and_cancelling_again_does_no_harm() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, run) = started(&client, &beside.worker).await;

    assert_empty(&cancel(&client, &task).await);

    run.given_up().await;
    assert_eq!(get(&client, &task).await["status"], "cancelled");
    assert_empty(&cancel(&client, &task).await);
    assert_empty(&update(&client, &task, json!({"1.name": filled_in("Ada")})).await);
    assert_eq!(get(&client, &task).await["status"], "cancelled");
}

#[tokio::test]
async fn a_cancelled_notification_does_not_cancel_a_task() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let call = client.post(&json!("call"), "tools/call", following(json!({"name": "job"}))).send().await;
    let created = call.json().await;
    let task = created["result"]["taskId"].as_str().unwrap().to_owned();
    let run = beside.worker.next_run().await;

    let params = ModernClient::params(following(json!({"requestId": "call"})));
    let body = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    let request = beside.node.mcp().request("POST").header("Accept", "application/json, text/event-stream");
    let noted = request.json(&body).header("MCP-Protocol-Version", "2026-07-28").send().await;

    assert_eq!(noted.status, 202);
    run.say("done").await;
    until(&client, &task, "completed").await;
}

#[tokio::test]
async fn a_client_that_hangs_up_before_it_has_a_task_cancels_its_call() {
    let beside = Beside::start().await;
    let request = beside.modern().post(&json!(1), "tools/call", following(json!({"name": "slow"})));
    // In a task of its own, for it is to break off.
    let sending = tokio::spawn(request.try_send());
    let run = beside.worker.next_run().await;

    sending.abort();

    run.given_up().await;
}

#[tokio::test]
async fn what_a_call_asks_before_it_is_a_task_is_asked_by_its_result() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (reply, ()) = tokio::join!(async { begin(&client, "slow").await.finish().await }, async {
        beside.worker.next_run().await.ask(&json!({"name": form("Who?")}), "asked").await;
    });
    let asked = reply.result();
    assert_eq!((&asked["resultType"], asked.get("taskId")), (&json!("input_required"), None));

    let params = json!({
        "name": "slow",
        "arguments": {"n": 1},
        "inputResponses": {"name": filled_in("Ada")},
        "requestState": asked["requestState"],
    });
    let call = client.start("tools/call", following(params));
    let (call, run) = tokio::join!(call, async { beside.worker.next_run().await.into_task() });

    let created = call.finish().await;
    assert_eq!(created.result().get("requestState"), None);
    assert_eq!((&run.answers, run.state.as_str()), (&json!({"name": filled_in("Ada")}), "asked"));
    run.say("hello").await;
    until(&client, &task_in(&created), "completed").await;
}

#[tokio::test]
async fn how_far_a_task_has_come_is_told_with_its_status() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, run) = started(&client, &beside.worker).await;

    run.progress("half of it").await;

    eventually("the message of a task", async || {
        (get(&client, &task).await["statusMessage"] == "half of it").then_some(())
    })
    .await;
}

#[tokio::test]
async fn tasks_are_served_on_connections_too() {
    let beside = Beside::start().await;
    let mut client = WebSocketClient::connect(beside.node.mcp().address, "/ws").await;

    let created = client.ask_modern("tools/call", following(json!({"name": "job"}))).await;
    let task = created["result"]["taskId"].as_str().unwrap();
    beside.worker.next_run().await.say("done").await;
    until(&beside.modern(), task, "completed").await;

    let looked_at = client.ask_modern("tasks/get", following(json!({"taskId": task}))).await;
    assert_eq!(looked_at["result"]["status"], "completed");
}

//! The program as people start it: its own tools, and nothing but memory.

use serde_json::{Value, json};
use switchyard_tests::{Backend, Folder, ModernClient, Node, NodeOptions};

use crate::{cancel, following, get, task_in, until};

/// The parameters of a call that lasts until the backend answers.
fn held_by(backend: &Backend) -> Value {
    following(json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}}))
}

async fn serve(folder: &Folder, tasks: Value) -> (Node, ModernClient) {
    let mut config = folder.config();
    config["tasks"] = tasks;
    let node = NodeOptions::serve(folder).config(&config).start().await;
    let client = ModernClient::new(&node.mcp());
    (node, client)
}

#[tokio::test]
async fn a_tool_that_takes_long_becomes_a_task_by_itself() {
    let (folder, backend) = (Folder::sample(), Backend::start().await);
    let (_node, client) = serve(&folder, json!({"after": "0s", "ttl": "10m", "pollInterval": "2s"})).await;

    let (created, held) = tokio::join!(client.request("tools/call", held_by(&backend)), backend.next_request());

    assert_eq!((&created.result()["ttlMs"], &created.result()["pollIntervalMs"]), (&json!(600_000), &json!(2_000)));
    let task = task_in(&created);
    assert_eq!(get(&client, &task).await["status"], "working");
    held.answer().await;
    assert_eq!(until(&client, &task, "completed").await["result"]["structuredContent"]["statusCode"], 200);
}

#[tokio::test]
async fn cancelling_a_task_ends_its_work() {
    let (folder, backend) = (Folder::sample(), Backend::start().await);
    let (_node, client) = serve(&folder, json!({"after": "0s"})).await;
    let (created, held) = tokio::join!(client.request("tools/call", held_by(&backend)), backend.next_request());

    cancel(&client, &task_in(&created)).await;

    held.given_up().await;
}

#[tokio::test]
async fn a_task_that_takes_longer_than_it_is_kept_ends() {
    let (folder, backend) = (Folder::sample(), Backend::start().await);
    let (node, client) = serve(&folder, json!({"after": "0s", "ttl": "1s"})).await;
    let (created, held) = tokio::join!(client.request("tools/call", held_by(&backend)), backend.next_request());
    let task = task_in(&created);

    held.given_up().await;

    let looked_at = client.request("tasks/get", following(json!({"taskId": task}))).await;
    assert_eq!(looked_at.error().code, -32602);
    switchyard_tests::eventually("the count of expired tasks", async || {
        let metrics = node.admin("/metrics").await.text().await;
        metrics.lines().any(|line| line == "switchyard_tasks_expired_total 1").then_some(())
    })
    .await;
}

#[tokio::test]
async fn beyond_the_limit_calls_are_answered_in_their_own_reply() {
    let (folder, backend) = (Folder::sample(), Backend::start().await);
    let (_node, client) = serve(&folder, json!({"after": "0s", "maxRunning": 1})).await;
    let (created, held) = tokio::join!(client.request("tools/call", held_by(&backend)), backend.next_request());
    let task = task_in(&created);

    let (second, ()) = tokio::join!(client.request("tools/call", held_by(&backend)), async {
        backend.next_request().await.answer().await;
    });

    assert_eq!(second.result()["resultType"], "complete");
    held.answer().await;
    until(&client, &task, "completed").await;
}

//! Calls that go on after their reply: in one process, and across a cluster whose nodes come and go.

#![allow(clippy::unwrap_used)]

mod cluster;
mod field_cases;
mod following;
mod input;
mod losses;
mod one_process;
mod wire;
mod worker;

use serde_json::{Value, json};
use switchyard_state::testing::RedisServer;
use switchyard_tests::{Call, Folder, ModernClient, Node, NodeOptions, Reply, eventually, meta};

use worker::{Run, Worker};

/// The extension's name.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What is missing in a request that lacks the extension.
fn needed() -> Value {
    json!({"requiredCapabilities": {"extensions": {TASKS: {}}}})
}

/// `params` of a client that follows tasks and can be asked by forms.
fn following(params: Value) -> Value {
    declaring(params, json!({"elicitation": {}, "extensions": {TASKS: {}}}))
}

/// `params` of a client that declares these capabilities.
fn declaring(mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({meta("clientCapabilities"): capabilities});
    params
}

/// Begins a call of a client that follows tasks.
async fn begin(client: &ModernClient, tool: &str) -> Call {
    client.start("tools/call", following(json!({"name": tool, "arguments": {"n": 1}}))).await
}

/// A task of the tool that is never anything else, and its run.
async fn started(client: &ModernClient, worker: &Worker) -> (String, Run) {
    let task = task_in(&begin(client, "job").await.finish().await);
    (task, worker.next_run().await)
}

/// The task in a result.
fn task_in(reply: &Reply) -> String {
    assert_eq!(reply.result()["resultType"], "task", "{}", reply.message);
    reply.result()["taskId"].as_str().unwrap().to_owned()
}

async fn get(client: &ModernClient, task: &str) -> Value {
    client.request("tasks/get", following(json!({"taskId": task}))).await.result().clone()
}

async fn cancel(client: &ModernClient, task: &str) -> Value {
    client.request("tasks/cancel", following(json!({"taskId": task}))).await.result().clone()
}

async fn update(client: &ModernClient, task: &str, responses: Value) -> Value {
    let params = following(json!({"taskId": task, "inputResponses": responses}));
    client.request("tasks/update", params).await.result().clone()
}

/// A task once it has this status.
async fn until(client: &ModernClient, task: &str, status: &str) -> Value {
    let what = format!("a task to be {status}");
    eventually(&what, async || Some(get(client, task).await).filter(|task| task["status"] == status)).await
}

/// What acknowledges a request has nothing else to say.
fn assert_empty(result: &Value) {
    let members: Vec<_> = result.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((members, &result["resultType"]), (vec!["resultType", "_meta"], &json!("complete")));
}

/// A process with all roles, and beside it a node whose tools do what the test says.
struct Beside {
    node: Node,
    worker: Worker,
    _redis: RedisServer,
    _folder: Folder,
}

impl Beside {
    async fn start() -> Self {
        let (folder, redis) = (Folder::sample(), RedisServer::start().await);
        let options = NodeOptions::serve(&folder).config(&folder.config());
        let node = options.arguments(&["--redis", &redis.url(), "--bus-listen", "127.0.0.1:0"]).start().await;
        let worker = Worker::start(&redis, "worker").await;
        worker.known_to(&ModernClient::new(&node.mcp())).await;
        Self { node, worker, _redis: redis, _folder: folder }
    }

    fn modern(&self) -> ModernClient {
        ModernClient::new(&self.node.mcp())
    }
}

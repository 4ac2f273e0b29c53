//! What the death of a node means to tasks: nothing for those that ran elsewhere, a clear word for its own.

use rustix::process::Signal;
use serde_json::{Value, json};
use switchyard_tests::{Backend, Cluster, ModernClient, Shape, eventually};

use crate::{
    Worker, cancel, following,
    following::{follow, told},
    get, started, task_in, until, update,
    worker::{filled_in, form},
};

/// The parameters of a call that lasts until the backend answers.
fn held_by(backend: &Backend) -> Value {
    following(json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}}))
}

#[tokio::test]
async fn a_task_outlives_the_gateway_that_it_was_made_at() {
    let mut cluster = Cluster::start(Shape { gateways: 2, tools: 1 }).await;
    let backend = Backend::start().await;
    let dying = cluster.modern(1);
    let (created, held) = tokio::join!(dying.request("tools/call", held_by(&backend)), backend.next_request());
    let task = task_in(&created);

    cluster.gateways.pop().unwrap().kill().await;

    let client = cluster.modern(0);
    assert_eq!(get(&client, &task).await["status"], "working");
    held.answer().await;
    assert_eq!(until(&client, &task, "completed").await["result"]["structuredContent"]["statusCode"], 200);
}

#[tokio::test]
async fn a_task_whose_node_is_killed_fails_clearly_for_whoever_looks_and_whoever_listens() {
    let mut cluster = Cluster::start(Shape { gateways: 2, tools: 1 }).await;
    let backend = Backend::start().await;
    let client = cluster.modern(0);
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let (created, held) = tokio::join!(client.request("tools/call", held_by(&backend)), backend.next_request());
        tasks.push((task_in(&created), held));
    }
    let [(looked_at, _held), (followed, _other)] = &tasks[..] else { panic!("two tasks") };
    let mut listener = follow(&cluster.modern(1), &[followed]).await;
    told(&mut listener, "working").await;

    cluster.tools.pop().unwrap().kill().await;

    for failed in [told(&mut listener, "failed").await, until(&client, looked_at, "failed").await] {
        assert_eq!(failed["error"]["code"], -32603, "{failed}");
        assert_eq!(failed["error"]["data"], json!({"outcome": "unknown"}));
        assert_eq!(failed.get("result"), None);
    }
    // It has ended, and that is that.
    cancel(&client, looked_at).await;
    assert_eq!(get(&client, looked_at).await["status"], "failed");
}

#[tokio::test]
async fn a_task_that_waits_for_its_client_outlives_the_node_that_asked() {
    let cluster = Cluster::start(Shape { gateways: 1, tools: 1 }).await;
    let client = cluster.modern(0);
    let asking = Worker::start(&cluster.redis, "asking").await;
    asking.known_to(&client).await;
    let (task, run) = started(&client, &asking).await;
    run.ask(&json!({"name": form("Who?")}), "kept").await;
    let asked = until(&client, &task, "input_required").await;
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();

    drop(asking);
    // Nobody is there to go on now, and the answer waits for somebody.
    update(&client, &task, json!({&key: filled_in("Ada")})).await;
    let other = Worker::start(&cluster.redis, "other").await;
    let (run, ()) = tokio::join!(other.next_run(), async {
        eventually("somebody to go on", async || {
            assert_eq!(get(&client, &task).await["status"], "working");
            other.took_another().then_some(())
        })
        .await;
    });

    assert_eq!((&run.answers, run.state.as_str()), (&json!({"name": filled_in("Ada")}), "kept"));
    run.say("hello").await;
    until(&client, &task, "completed").await;
}

#[tokio::test]
async fn a_node_that_is_told_to_stop_fails_the_tasks_that_it_cannot_finish() {
    let environment = [("SWITCHYARD_DRAIN_DELAY", "0s"), ("SWITCHYARD_DRAIN_GRACE", "1s")];
    let mut cluster = Cluster::start_with(Shape { gateways: 1, tools: 1 }, &environment).await;
    let backend = Backend::start().await;
    let client = ModernClient::new(&cluster.gateway(0));
    let (created, _held) = tokio::join!(client.request("tools/call", held_by(&backend)), backend.next_request());
    let task = task_in(&created);

    let stopping = cluster.tools.pop().unwrap();
    stopping.signal(Signal::TERM);

    assert_eq!(stopping.finished().await.code, Some(0));
    // Nobody needs to doubt for long: it said so itself.
    let failed = get(&client, &task).await;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!(-32603)), "{failed}");
}

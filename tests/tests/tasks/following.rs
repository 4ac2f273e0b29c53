//! Streams that follow tasks: every change is told, with all that a look would show.

use serde_json::{Value, json};
use switchyard_tests::{Listener, ModernClient};

use crate::{
    Beside, cancel, following, get, started, until, update,
    worker::{filled_in, form},
};

/// A stream that follows these tasks.
pub async fn follow(client: &ModernClient, tasks: &[&str]) -> Listener {
    let params = following(json!({"notifications": {"taskIds": tasks}}));
    Listener::open(client, json!(client.next_id()), params).await
}

/// What is told next of a task with this status; other statuses before it are passed over.
pub async fn told(listener: &mut Listener, status: &str) -> Value {
    loop {
        let message = listener.next().await;
        assert_eq!(message["method"], "notifications/tasks");
        if message["params"]["status"] == status {
            let mut params = message["params"].clone();
            params.as_object_mut().unwrap().remove("_meta");
            return params;
        }
    }
}

/// What a look at a task shows, without what belongs to the look alone.
fn bare(mut looked_at: Value) -> Value {
    let members = looked_at.as_object_mut().unwrap();
    members.remove("_meta");
    members.remove("resultType");
    looked_at
}

#[tokio::test]
async fn a_stream_tells_where_a_task_stands_and_every_change_of_it() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, run) = started(&client, &beside.worker).await;
    let mut listener = follow(&client, &[&task]).await;
    assert_eq!(listener.acknowledged, json!({"taskIds": [task]}));

    assert_eq!(told(&mut listener, "working").await, bare(get(&client, &task).await));
    run.ask(&json!({"name": form("Who?")}), "").await;
    let asking = told(&mut listener, "input_required").await;
    assert_eq!(asking, bare(get(&client, &task).await));
    let key = asking["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    update(&client, &task, json!({&key: filled_in("Ada")})).await;
    let run = beside.worker.next_run().await;
    told(&mut listener, "working").await;
    run.say("done").await;
    assert_eq!(told(&mut listener, "completed").await, bare(get(&client, &task).await));
}

#[tokio::test]
async fn a_task_that_has_ended_is_told_as_it_is() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, run) = started(&client, &beside.worker).await;
    run.say("done").await;
    until(&client, &task, "completed").await;

    let mut listener = follow(&client, &[&task]).await;

    assert_eq!(told(&mut listener, "completed").await["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn only_tasks_that_are_there_are_followed_and_only_those_that_were_asked_for_told() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (followed, _run) = started(&client, &beside.worker).await;
    let (other, _other_run) = started(&client, &beside.worker).await;
    let mut listener = follow(&client, &["no-such-task", &followed, &followed]).await;
    assert_eq!(listener.acknowledged, json!({"taskIds": [followed]}));

    cancel(&client, &other).await;
    cancel(&client, &followed).await;

    assert_eq!(told(&mut listener, "cancelled").await["taskId"], json!(followed));
}

#[tokio::test]
async fn one_stream_follows_a_bounded_number_of_tasks() {
    let beside = Beside::start().await;
    let tasks: Vec<_> = (0..=100).map(|number| number.to_string()).collect();

    let params = following(json!({"notifications": {"taskIds": tasks}}));

    assert_eq!(beside.modern().request("subscriptions/listen", params).await.error().code, -32602);
}

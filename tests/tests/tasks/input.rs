//! Questions of a task: several at once, answered one by one, and never asked for nothing.

use serde_json::{Value, json};

use crate::{
    Beside, TASKS, assert_empty, declaring, get, started, task_in, until, update,
    worker::{Run, filled_in, form},
};

fn keys(task: &Value) -> Vec<String> {
    task["inputRequests"].as_object().unwrap().keys().cloned().collect()
}

/// The open question that belongs to the tool's own key.
fn key_of(task: &Value, own: &str) -> String {
    keys(task).into_iter().find(|key| key.ends_with(own)).unwrap_or_else(|| panic!("{task} does not ask `{own}`"))
}

async fn asks(run: Run, questions: &[&str]) {
    let questions: serde_json::Map<_, _> = questions.iter().map(|key| ((*key).to_owned(), form(key))).collect();
    run.ask(&Value::Object(questions), "kept").await;
}

#[tokio::test]
async fn several_questions_are_open_at_once_and_an_answered_one_disappears() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, run) = started(&client, &beside.worker).await;
    asks(run, &["one", "two"]).await;
    let asking = until(&client, &task, "input_required").await;
    let (one, two) = (key_of(&asking, "one"), key_of(&asking, "two"));
    assert_eq!((keys(&asking).len(), &asking["inputRequests"][&one]), (2, &form("one")));

    assert_empty(&update(&client, &task, json!({&two: filled_in("Ada"), "unknown": filled_in("nobody")})).await);

    let waiting = get(&client, &task).await;
    assert_eq!((&waiting["status"], keys(&waiting)), (&json!("input_required"), vec![one.clone()]));
    assert_empty(&update(&client, &task, json!({&two: filled_in("too late")})).await);
    assert_empty(&update(&client, &task, json!({&one: filled_in("Bob")})).await);
    let run = beside.worker.next_run().await;
    assert_eq!(run.answers, json!({"one": filled_in("Bob"), "two": filled_in("Ada")}));
    assert_eq!(run.state, "kept");
    assert_eq!(get(&client, &task).await["status"], "working");
    run.say("two answers").await;
    assert_eq!(until(&client, &task, "completed").await["result"]["content"][0]["text"], "two answers");
}

#[tokio::test]
async fn no_key_comes_twice_in_one_task() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, mut run) = started(&client, &beside.worker).await;
    let mut seen = Vec::new();

    for _ in 0..3 {
        asks(run, &["name"]).await;
        let key = key_of(&until(&client, &task, "input_required").await, "name");
        assert!(!seen.contains(&key), "{key} after {seen:?}");
        update(&client, &task, json!({&key: filled_in("Ada")})).await;
        run = beside.worker.next_run().await;
        assert_eq!(run.answers, json!({"name": filled_in("Ada")}));
        seen.push(key);
    }

    run.say("done").await;
    until(&client, &task, "completed").await;
}

#[tokio::test]
async fn what_a_client_cannot_be_asked_is_refused_to_the_tool_rather_than_waited_for() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let params = declaring(json!({"name": "job"}), json!({"extensions": {TASKS: {}}}));
    let task = task_in(&client.request("tools/call", params).await);

    asks(beside.worker.next_run().await, &["name"]).await;

    beside.worker.took_another();
    // Somebody looks, and does not find what they could not answer.
    let (run, ()) = tokio::join!(beside.worker.next_run(), async {
        loop {
            let seen = get(&client, &task).await;
            assert_eq!(seen.get("inputRequests"), None, "{seen}");
            if beside.worker.took_another() {
                return;
            }
        }
    });
    assert_eq!(run.answers["name"]["error"]["code"], -32601);
    run.say("went on without").await;
    until(&client, &task, "completed").await;
}

#[tokio::test]
async fn answers_of_the_wrong_form_are_refused_and_change_nothing() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, run) = started(&client, &beside.worker).await;
    asks(run, &["name"]).await;
    let asking = until(&client, &task, "input_required").await;
    let key = key_of(&asking, "name");

    for responses in [json!(null), json!(7), json!([]), json!({&key: 7})] {
        let params = crate::following(json!({"taskId": task, "inputResponses": responses}));
        assert_eq!(client.request("tasks/update", params).await.error().code, -32602);
    }
    let params = crate::following(json!({"taskId": task}));
    assert_eq!(client.request("tasks/update", params).await.error().code, -32602);

    assert_eq!(get(&client, &task).await, asking);
}

#[tokio::test]
async fn a_question_in_a_form_that_nobody_knows_fails_the_task() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, run) = started(&client, &beside.worker).await;

    run.ask(&json!("what?"), "").await;

    let failed = until(&client, &task, "failed").await;
    assert_eq!(failed["error"]["code"], -32603);
}

#[tokio::test]
async fn a_task_that_waits_for_its_client_can_be_cancelled() {
    let beside = Beside::start().await;
    let client = beside.modern();
    let (task, run) = started(&client, &beside.worker).await;
    asks(run, &["name"]).await;
    let key = key_of(&until(&client, &task, "input_required").await, "name");

    crate::cancel(&client, &task).await;
    assert_empty(&update(&client, &task, json!({&key: filled_in("too late")})).await);

    let cancelled = get(&client, &task).await;
    assert_eq!((&cancelled["status"], cancelled.get("inputRequests")), (&json!("cancelled"), None));
}

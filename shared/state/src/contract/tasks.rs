//! What every task store does with a task from its creation to its end.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::sleep};

use super::{Fresh, fresh_stores, tasks_input, tasks_life};
use crate::{NodeId, Outcome, Task, TaskCall, TaskId, TaskStatus, TaskStore};

pub type Tasks = Arc<dyn TaskStore>;

/// Longer than any test runs.
pub const LONG: Duration = Duration::from_secs(600);

/// What every [`TaskStore`] does.
pub async fn task_store(fresh: Fresh<'_>) {
    let tasks = || fresh_stores(fresh).tasks;
    a_task_is_loaded_as_it_was_created(tasks()).await;
    a_task_that_is_there_is_not_created_again(tasks()).await;
    a_task_that_never_was_is_none_and_cannot_be_changed(tasks()).await;
    a_message_is_set_by_the_node_that_runs_the_task(tasks()).await;
    a_task_is_finished_by_the_node_that_runs_it(tasks()).await;
    a_task_that_has_ended_changes_no_more(tasks()).await;
    a_cancelled_task_names_the_node_that_ran_it(tasks()).await;
    of_a_finish_and_many_cancels_at_once_one_ends_the_task(tasks()).await;
    every_change_is_dated(tasks()).await;
    tasks_input::all(fresh).await;
    tasks_life::all(fresh).await;
}

async fn a_task_is_loaded_as_it_was_created(tasks: Tasks) {
    let (id, call) = (TaskId("{a} task *".into()), call("ann"));

    let created = tasks.create(&id, &call, &node("one"), LONG).await.unwrap().unwrap();

    let expected = Task {
        id: id.clone(),
        call,
        status: TaskStatus::Working,
        message: String::new(),
        created_ms: created.created_ms,
        updated_ms: created.created_ms,
        ttl_ms: 600_000,
        node: Some(node("one")),
        round: 0,
        requests: Default::default(),
        answers: Default::default(),
        state: Vec::new(),
        outcome: None,
        orphan: false,
    };
    assert_eq!(created, expected);
    assert_eq!(tasks.load(&id).await.unwrap(), Some(expected));
}

async fn a_task_that_is_there_is_not_created_again(tasks: Tasks) {
    let id = started(&tasks, "task").await;
    let finished = tasks.finish(&id, &node("one"), &result()).await.unwrap();

    let again = tasks.create(&id, &call("bob"), &node("two"), Duration::ZERO).await.unwrap();

    assert_eq!(again, finished);
    assert_eq!(tasks.load(&id).await.unwrap(), finished);
}

async fn a_task_that_never_was_is_none_and_cannot_be_changed(tasks: Tasks) {
    let id = TaskId("never".into());

    nothing_changes(&tasks, &id).await;

    assert_eq!(tasks.load(&id).await.unwrap(), None);
}

async fn a_message_is_set_by_the_node_that_runs_the_task(tasks: Tasks) {
    let id = started(&tasks, "task").await;

    assert_eq!(tasks.report(&id, &node("two"), "mine").await.unwrap(), None);
    let reported = tasks.report(&id, &node("one"), "half of it \u{0} ü").await.unwrap().unwrap();

    assert_eq!((reported.status, reported.message.as_str()), (TaskStatus::Working, "half of it \u{0} ü"));
    assert_eq!(tasks.load(&id).await.unwrap(), Some(reported));
}

async fn a_task_is_finished_by_the_node_that_runs_it(tasks: Tasks) {
    let error = Outcome::Error(br#"{"code":-32603}"#.to_vec());
    for (outcome, status) in [(result(), TaskStatus::Completed), (error, TaskStatus::Failed)] {
        let id = started(&tasks, &format!("{status:?}")).await;
        tasks.report(&id, &node("one"), "nearly").await.unwrap();

        assert_eq!(tasks.finish(&id, &node("two"), &outcome).await.unwrap(), None);
        let finished = tasks.finish(&id, &node("one"), &outcome).await.unwrap().unwrap();

        assert_eq!((finished.status, finished.outcome.as_ref()), (status, Some(&outcome)));
        assert_eq!((finished.message.as_str(), &finished.node), ("nearly", &Some(node("one"))));
        assert_eq!(tasks.load(&id).await.unwrap(), Some(finished));
    }
}

async fn a_task_that_has_ended_changes_no_more(tasks: Tasks) {
    let [completed, failed, cancelled] =
        [started(&tasks, "a").await, started(&tasks, "b").await, started(&tasks, "c").await];
    let error = Outcome::Error(b"{}".to_vec());
    let ended = [
        tasks.finish(&completed, &node("one"), &result()).await.unwrap().unwrap(),
        tasks.finish(&failed, &node("one"), &error).await.unwrap().unwrap(),
        tasks.cancel(&cancelled).await.unwrap().unwrap(),
    ];

    for task in ended {
        assert!(task.status.is_final());
        nothing_changes(&tasks, &task.id).await;
        assert_eq!(tasks.load(&task.id).await.unwrap(), Some(task));
    }
}

async fn a_cancelled_task_names_the_node_that_ran_it(tasks: Tasks) {
    let id = started(&tasks, "task").await;

    let cancelled = tasks.cancel(&id).await.unwrap().unwrap();

    assert_eq!((cancelled.status, cancelled.outcome), (TaskStatus::Cancelled, None));
    assert_eq!(cancelled.node, Some(node("one")));
}

async fn of_a_finish_and_many_cancels_at_once_one_ends_the_task(tasks: Tasks) {
    let id = started(&tasks, "task").await;
    let mut ending = JoinSet::new();
    for number in 0..20 {
        let (tasks, id) = (tasks.clone(), id.clone());
        ending.spawn(async move {
            let finish = number == 10;
            if finish { tasks.finish(&id, &node("one"), &result()).await } else { tasks.cancel(&id).await }.unwrap()
        });
    }

    let ended: Vec<_> = ending.join_all().await.into_iter().flatten().collect();

    assert_eq!(ended.len(), 1);
    assert_eq!(tasks.load(&id).await.unwrap().as_ref(), ended.first());
}

async fn every_change_is_dated(tasks: Tasks) {
    let id = started(&tasks, "task").await;
    let created = tasks.load(&id).await.unwrap().unwrap();

    sleep(Duration::from_millis(2)).await;
    let reported = tasks.report(&id, &node("one"), "half of it").await.unwrap().unwrap();
    tasks.heartbeat(&node("one"), std::slice::from_ref(&id)).await.unwrap();
    let loaded = tasks.load(&id).await.unwrap().unwrap();
    sleep(Duration::from_millis(2)).await;
    let ended = tasks.cancel(&id).await.unwrap().unwrap();

    assert!(created.updated_ms < reported.updated_ms && reported.updated_ms < ended.updated_ms);
    assert_eq!((loaded.updated_ms, loaded.created_ms), (reported.updated_ms, created.created_ms));
    assert_eq!(ended.created_ms, created.created_ms);
}

/// Tries everything that changes a task.
async fn nothing_changes(tasks: &Tasks, id: &TaskId) {
    let (one, some) = (node("one"), [("key".to_owned(), b"{}".to_vec())].into());
    assert_eq!(tasks.heartbeat(&one, std::slice::from_ref(id)).await.unwrap(), []);
    assert_eq!(tasks.report(id, &one, "late").await.unwrap(), None);
    assert_eq!(tasks.need_input(id, &one, &some, b"late").await.unwrap(), None);
    assert_eq!(tasks.answer(id, &some).await.unwrap(), None);
    assert_eq!(tasks.claim(id, &one).await.unwrap(), None);
    assert_eq!(tasks.finish(id, &one, &result()).await.unwrap(), None);
    assert_eq!(tasks.cancel(id).await.unwrap(), None);
    assert_eq!(tasks.fail_orphan(id, b"late").await.unwrap(), None);
}

/// A new task of Ann's at the node `one`.
pub async fn started(tasks: &Tasks, id: &str) -> TaskId {
    let id = TaskId(id.into());
    tasks.create(&id, &call("ann"), &node("one"), LONG).await.unwrap().unwrap();
    id
}

pub fn call(principal: &str) -> TaskCall {
    TaskCall {
        principal: principal.into(),
        tool: "a \"tool\" ü".into(),
        arguments: br#"{"big":12345678901234567890,"nul":"\u0000"}"#.to_vec(),
        context: b"\x00\xff\r\n".to_vec(),
        poll_interval_ms: 1_500,
    }
}

pub fn node(id: &str) -> NodeId {
    NodeId(id.into())
}

pub fn result() -> Outcome {
    Outcome::Result(b"\x00\xff{}".to_vec())
}

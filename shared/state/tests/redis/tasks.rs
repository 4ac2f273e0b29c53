//! Tasks that several nodes work on.

use std::{collections::BTreeMap, time::Duration};

use redis::{Value, from_redis_value};
use switchyard_state::{
    NodeId, Outcome, StoreError, TaskCall, TaskId, TaskStatus, TaskStore,
    testing::{RedisServer, eventually},
};

use super::{hasty_node, node};

const LONG: Duration = Duration::from_secs(600);
const TASK: &str = "{switchyard:test}:task:task";

#[tokio::test]
async fn a_task_begun_at_one_node_is_answered_at_another_and_finished_at_a_third() {
    let server = RedisServer::start().await;
    let [one, two, three] = [node(&server), node(&server), node(&server)].map(|stores| stores.tasks);
    let [first, third] = ["one", "three"].map(|id| NodeId(id.into()));
    let id = create(&*one, "task").await;
    let question: BTreeMap<_, _> = [("name".to_owned(), b"{}".to_vec())].into();
    let outcome = Outcome::Result(b"{}".to_vec());

    assert_eq!(two.load(&id).await.unwrap().unwrap().status, TaskStatus::Working);
    one.need_input(&id, &first, &question, b"state").await.unwrap().unwrap();
    assert_eq!(two.answer(&id, &question).await.unwrap().unwrap().status, TaskStatus::Working);
    let claimed = three.claim(&id, &third).await.unwrap().unwrap();
    assert_eq!((claimed.answers, claimed.state.as_slice()), (question, &b"state"[..]));
    three.finish(&id, &third, &outcome).await.unwrap().unwrap();

    assert_eq!(one.load(&id).await.unwrap().unwrap().outcome, Some(outcome));
}

#[tokio::test]
async fn a_task_cancelled_at_one_node_is_taken_from_the_node_that_runs_it() {
    let server = RedisServer::start().await;
    let (one, other) = (node(&server).tasks, node(&server).tasks);
    let id = create(&*one, "task").await;
    let ids = std::slice::from_ref(&id);
    assert_eq!(one.heartbeat(&NodeId("one".into()), ids).await.unwrap(), ids);

    other.cancel(&id).await.unwrap().unwrap();

    assert_eq!(one.heartbeat(&NodeId("one".into()), ids).await.unwrap(), []);
}

#[tokio::test]
async fn more_signs_of_life_than_fit_into_one_request_all_count() {
    let server = RedisServer::start().await;
    let tasks = node(&server).tasks;
    let last = create(&*tasks, "last").await;
    let ids: Vec<_> = (0..2_500).map(|number| TaskId(number.to_string())).chain([last.clone()]).collect();

    assert_eq!(tasks.heartbeat(&NodeId("one".into()), &ids).await.unwrap(), [last]);
}

#[tokio::test]
async fn many_questions_and_large_ones_come_back() {
    let server = RedisServer::start().await;
    let tasks = node(&server).tasks;
    let id = create(&*tasks, "task").await;
    let mut questions: BTreeMap<_, _> = (0..10_000).map(|number| (number.to_string(), b"{}".to_vec())).collect();
    questions.insert("large".into(), vec![b'x'; 1024 * 1024]);

    let waiting = tasks.need_input(&id, &NodeId("one".into()), &questions, b"").await.unwrap().unwrap();
    let answered = tasks.answer(&id, &questions).await.unwrap().unwrap();

    assert!(waiting.requests == questions && answered.answers == questions);
    assert_eq!(answered.status, TaskStatus::Working);
}

#[tokio::test]
async fn what_a_newer_version_adds_to_a_task_is_left_alone_and_a_newer_shape_is_refused() {
    let server = RedisServer::start().await;
    let tasks = node(&server).tasks;
    let id = create(&*tasks, "task").await;

    server.command(&["HSET", TASK, "mood", "new"]).await;
    tasks.cancel(&id).await.unwrap().unwrap();
    assert_eq!(server.command(&["HGET", TASK, "mood"]).await, Value::BulkString(b"new".to_vec()));

    server.command(&["HSET", TASK, "v", "2"]).await;
    let error = tasks.load(&id).await.unwrap_err();
    assert!(matches!(&error, StoreError::Record { key, .. } if key == TASK), "{error:?}");
}

#[tokio::test]
async fn an_expired_task_that_cannot_be_read_costs_no_other_and_is_removed() {
    let server = RedisServer::start().await;
    let tasks = node(&server).tasks;
    let [broken, whole] = ["task", "whole"].map(|id| TaskId(id.into()));
    for id in [&broken, &whole] {
        tasks.create(id, &call(), &NodeId("one".into()), Duration::from_millis(1)).await.unwrap().unwrap();
    }
    server.command(&["HSET", TASK, "created", "x"]).await;

    let mut expired = Vec::new();
    eventually(async || {
        expired.extend(tasks.expire(10).await.unwrap());
        let left: i64 = from_redis_value(server.command(&["EXISTS", TASK, "{switchyard:test}:tasks"]).await).unwrap();
        (left == 0).then_some(())
    })
    .await;

    assert_eq!(expired.into_iter().map(|task| task.id).collect::<Vec<_>>(), [whole]);
}

#[tokio::test]
async fn a_task_lives_through_an_outage_and_is_no_orphan_after_it() {
    let server = RedisServer::start().await;
    let (id, one) = (create(&*node(&server).tasks, "task").await, NodeId("one".into()));
    let tasks = hasty_node(&server).tasks;
    let ids = std::slice::from_ref(&id);

    server.pause();
    // As long as a silent node is believed in, and longer.
    let until = tokio::time::Instant::now() + switchyard_state::EXPIRY * 3;
    while tokio::time::Instant::now() < until {
        assert!(matches!(tasks.heartbeat(&one, ids).await, Err(StoreError::Away(_))));
    }
    server.resume();

    // The client asks before its node is heard again.
    let task = eventually(async || tasks.load(&id).await.ok()).await.unwrap();
    assert!(!task.orphan);
    let tasks = node(&server).tasks;
    assert_eq!(tasks.fail_orphan(&id, b"dead").await.unwrap(), None);
    assert_eq!(tasks.heartbeat(&one, ids).await.unwrap(), ids);
}

async fn create(tasks: &dyn TaskStore, id: &str) -> TaskId {
    let id = TaskId(id.into());
    tasks.create(&id, &call(), &NodeId("one".into()), LONG).await.unwrap().unwrap();
    id
}

fn call() -> TaskCall {
    TaskCall {
        principal: "ann".into(),
        tool: "tool".into(),
        arguments: b"{}".to_vec(),
        context: Vec::new(),
        poll_interval_ms: 1_000,
    }
}

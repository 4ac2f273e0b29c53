//! What every task store does with tasks whose node falls silent, and whose time to live is over. The first take as long
//! as nodes may be silent, so they run side by side.

use std::{num::NonZeroUsize, slice, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    Fresh, fresh_stores,
    tasks::{LONG, Tasks, call, node, result, started},
    tasks_input::{asking, messages},
};
use crate::{EXPIRY, HEARTBEAT, Limits, Outcome, Task, TaskId, TaskLimits, TaskStatus, testing::eventually};

const SHORT: Duration = Duration::from_millis(30);

pub async fn all(fresh: Fresh<'_>) {
    let tasks = || fresh_stores(fresh).tasks;
    heartbeats_tell_which_tasks_still_run_at_the_node(tasks()).await;
    a_task_whose_time_is_over_is_gone_for_all_who_ask(tasks()).await;
    each_expired_task_is_given_out_once_as_it_was(tasks()).await;
    a_task_may_live_for_ever(tasks()).await;
    a_principal_has_a_bounded_number_of_tasks(fresh).await;
    tokio::join!(
        a_task_of_a_silent_node_is_an_orphan_that_one_caller_fails(tasks()),
        a_task_whose_node_is_heard_in_time_is_no_orphan(tasks()),
        a_silent_node_is_not_taken_for_dead_at_first_sight(tasks()),
        a_task_that_waits_for_answers_is_no_orphan_but_one_that_waits_for_a_node_is(tasks()),
    );
}

async fn heartbeats_tell_which_tasks_still_run_at_the_node(tasks: Tasks) {
    let [running, ended, foreign] = ["running", "ended", "foreign"].map(|id| TaskId(id.into()));
    for (id, at) in [(&running, "one"), (&ended, "one"), (&foreign, "two")] {
        tasks.create(id, &call("ann"), &node(at), LONG).await.unwrap().unwrap();
    }
    tasks.cancel(&ended).await.unwrap().unwrap();

    let still = tasks.heartbeat(&node("one"), &[ended, foreign, running.clone(), TaskId("never".into())]).await;

    assert_eq!(still.unwrap(), [running]);
    assert_eq!(tasks.heartbeat(&node("one"), &[]).await.unwrap(), []);
}

async fn a_task_whose_time_is_over_is_gone_for_all_who_ask(tasks: Tasks) {
    let id = TaskId("short".into());
    tasks.create(&id, &call("ann"), &node("one"), SHORT).await.unwrap().unwrap();

    eventually(async || tasks.load(&id).await.unwrap().is_none().then_some(())).await;

    assert_eq!(tasks.heartbeat(&node("one"), slice::from_ref(&id)).await.unwrap(), []);
    assert_eq!(tasks.report(&id, &node("one"), "late").await.unwrap(), None);
    assert_eq!(tasks.finish(&id, &node("one"), &result()).await.unwrap(), None);
    assert_eq!(tasks.cancel(&id).await.unwrap(), None);
}

async fn each_expired_task_is_given_out_once_as_it_was(tasks: Tasks) {
    for number in 0..20 {
        let id = TaskId(number.to_string());
        tasks.create(&id, &call("ann"), &node("one"), SHORT).await.unwrap().unwrap();
    }
    let kept = started(&tasks, "kept").await;
    sleep(SHORT * 2).await;

    let some = tasks.expire(3).await.unwrap();
    let mut expiring = JoinSet::new();
    for _ in 0..10 {
        let tasks = tasks.clone();
        expiring.spawn(async move { tasks.expire(100).await.unwrap() });
    }
    let rest: Vec<_> = expiring.join_all().await.into_iter().flatten().collect();

    assert_eq!((some.len(), rest.len()), (3, 17));
    let mut names: Vec<u32> = some.iter().chain(&rest).map(|task| task.id.0.parse().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, (0..20).collect::<Vec<_>>());
    let Task { call: expired, status, node: at, .. } = &rest[0];
    assert_eq!((expired, *status, at), (&call("ann"), TaskStatus::Working, &Some(node("one"))));
    assert_eq!(tasks.expire(1).await.unwrap(), []);
    assert!(tasks.load(&kept).await.unwrap().is_some());
}

async fn a_task_may_live_for_ever(tasks: Tasks) {
    let id = TaskId("eternal".into());

    let created = tasks.create(&id, &call("ann"), &node("one"), Duration::MAX).await.unwrap();

    assert_eq!(tasks.load(&id).await.unwrap(), created);
    assert_eq!(tasks.expire(10).await.unwrap(), []);
}

async fn a_principal_has_a_bounded_number_of_tasks(fresh: Fresh<'_>) {
    let limits = TaskLimits { max_per_principal: NonZeroUsize::new(2).unwrap() };
    let tasks = fresh(&Limits { tasks: limits, ..Limits::default() }).tasks;
    let create = async |id: &str, principal: &str, ttl| {
        let id = TaskId(id.into());
        tasks.create(&id, &call(principal), &node("one"), ttl).await.unwrap().is_some()
    };
    assert!(create("first", "ann", LONG).await);
    assert!(create("second", "ann", LONG).await);

    tasks.cancel(&TaskId("first".into())).await.unwrap().unwrap();

    assert!(!create("third", "ann", LONG).await);
    assert!(create("first", "ann", LONG).await, "it is there already");
    assert!(create("fourth", "", LONG).await);
    assert!(create("fifth", "bob", LONG).await);
    for (id, ttl) in [("lasting", LONG), ("short", SHORT)] {
        assert!(create(id, "cid", ttl).await);
    }
    eventually(async || create("next", "cid", LONG).await.then_some(())).await;
    assert_eq!(tasks.load(&TaskId("short".into())).await.unwrap(), None);
    assert!(!create("one more", "cid", LONG).await);
}

async fn a_task_of_a_silent_node_is_an_orphan_that_one_caller_fails(tasks: Tasks) {
    let silent_since = Instant::now();
    let id = started(&tasks, "task").await;
    assert_eq!(tasks.fail_orphan(&id, b"dead").await.unwrap(), None);

    let orphan = until_orphan(&tasks, &id).await;
    assert!(silent_since.elapsed() > EXPIRY * 2);
    let mut failing = JoinSet::new();
    for _ in 0..10 {
        let (tasks, id) = (tasks.clone(), id.clone());
        failing.spawn(async move { tasks.fail_orphan(&id, b"dead").await.unwrap() });
    }
    let failed: Vec<_> = failing.join_all().await.into_iter().flatten().collect();

    assert_eq!((orphan.status, orphan.node), (TaskStatus::Working, Some(node("one"))));
    let [task] = &failed[..] else { panic!("{failed:?}") };
    assert_eq!((task.status, task.orphan), (TaskStatus::Failed, false));
    assert_eq!(task.outcome, Some(Outcome::Error(b"dead".to_vec())));
    assert_eq!(tasks.load(&id).await.unwrap().as_ref(), Some(task));
    assert_eq!(tasks.finish(&id, &node("one"), &result()).await.unwrap(), None);
}

async fn a_task_whose_node_is_heard_in_time_is_no_orphan(tasks: Tasks) {
    let id = started(&tasks, "task").await;

    let until = Instant::now() + EXPIRY * 3;
    while Instant::now() < until {
        sleep(HEARTBEAT).await;
        assert_eq!(tasks.heartbeat(&node("one"), slice::from_ref(&id)).await.unwrap(), slice::from_ref(&id));
        assert!(!tasks.load(&id).await.unwrap().unwrap().orphan);
    }
}

async fn a_silent_node_is_not_taken_for_dead_at_first_sight(tasks: Tasks) {
    let id = started(&tasks, "task").await;

    // As when the store was away for all that time.
    sleep(EXPIRY * 3).await;
    let first = tasks.load(&id).await.unwrap().unwrap();
    let heard = tasks.heartbeat(&node("one"), slice::from_ref(&id)).await.unwrap();
    sleep(EXPIRY + Duration::from_millis(200)).await;
    let silent_again = Instant::now();
    let later = tasks.load(&id).await.unwrap().unwrap();
    let failed = tasks.fail_orphan(&id, b"dead").await.unwrap();

    assert!(!first.orphan && !later.orphan);
    assert_eq!(heard, slice::from_ref(&id));
    assert!(failed.is_none() || silent_again.elapsed() > EXPIRY, "{failed:?}");
}

async fn a_task_that_waits_for_answers_is_no_orphan_but_one_that_waits_for_a_node_is(tasks: Tasks) {
    let asking = asking(&tasks, &[("a", "{}")]).await;
    let answered = started(&tasks, "answered").await;
    tasks.need_input(&answered, &node("one"), &messages(&[("a", "{}")]), b"").await.unwrap().unwrap();
    tasks.answer(&answered, &messages(&[("a", "1")])).await.unwrap().unwrap();

    let orphan = until_orphan(&tasks, &answered).await;
    let waiting = tasks.load(&asking).await.unwrap().unwrap();

    assert_eq!(orphan.node, None);
    assert!(!waiting.orphan);
    assert_eq!(tasks.fail_orphan(&asking, b"dead").await.unwrap(), None);
    assert_eq!(tasks.fail_orphan(&answered, b"dead").await.unwrap().unwrap().status, TaskStatus::Failed);
}

async fn until_orphan(tasks: &Tasks, id: &TaskId) -> Task {
    eventually(async || tasks.load(id).await.unwrap().filter(|task| task.orphan)).await
}

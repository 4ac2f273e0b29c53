//! What every task store does with questions and answers.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use super::{
    Fresh, fresh_stores,
    tasks::{Tasks, node, result, started},
};
use crate::{TaskId, TaskStatus};

pub async fn all(fresh: Fresh<'_>) {
    let tasks = || fresh_stores(fresh).tasks;
    a_task_waits_for_answers_at_no_node(tasks()).await;
    only_the_node_that_runs_a_task_asks_for_it(tasks()).await;
    answers_may_come_one_by_one_and_the_last_one_sets_the_task_to_work(tasks()).await;
    an_answer_that_was_not_asked_for_or_comes_twice_is_ignored(tasks()).await;
    of_many_who_answer_at_once_one_brings_the_last_answer(tasks()).await;
    of_many_nodes_one_claims_an_answered_task(tasks()).await;
    a_claimed_task_asks_again_and_the_first_round_is_forgotten(tasks()).await;
    a_task_that_asks_nothing_waits_for_a_node_at_once(tasks()).await;
    a_waiting_task_can_be_cancelled_and_forgets_what_it_asked(tasks()).await;
}

async fn a_task_waits_for_answers_at_no_node(tasks: Tasks) {
    let id = started(&tasks, "task").await;
    let requests = messages(&[("name: {x}", r#"{"method":"elicitation/create"}"#), ("", "{}")]);

    let waiting = tasks.need_input(&id, &node("one"), &requests, b"\x00\xffstate").await.unwrap().unwrap();

    assert_eq!((waiting.status, &waiting.node, waiting.round), (TaskStatus::InputRequired, &None, 1));
    assert_eq!((&waiting.requests, &waiting.answers), (&requests, &BTreeMap::new()));
    assert_eq!(waiting.state, b"\x00\xffstate");
    assert_eq!(tasks.load(&id).await.unwrap(), Some(waiting));
    assert_eq!(tasks.heartbeat(&node("one"), std::slice::from_ref(&id)).await.unwrap(), []);
    assert_eq!(tasks.finish(&id, &node("one"), &result()).await.unwrap(), None);
    assert_eq!(tasks.claim(&id, &node("one")).await.unwrap(), None);
}

async fn only_the_node_that_runs_a_task_asks_for_it(tasks: Tasks) {
    let id = started(&tasks, "task").await;

    assert_eq!(tasks.need_input(&id, &node("two"), &messages(&[("a", "{}")]), b"").await.unwrap(), None);

    assert_eq!(tasks.load(&id).await.unwrap().unwrap().status, TaskStatus::Working);
}

async fn answers_may_come_one_by_one_and_the_last_one_sets_the_task_to_work(tasks: Tasks) {
    let id = asking(&tasks, &[("a", "{}"), ("b", "{}")]).await;

    let first = tasks.answer(&id, &messages(&[("b", "2")])).await.unwrap().unwrap();
    let last = tasks.answer(&id, &messages(&[("a", "1")])).await.unwrap().unwrap();

    assert_eq!((first.status, first.answers), (TaskStatus::InputRequired, messages(&[("b", "2")])));
    assert_eq!((last.status, &last.node), (TaskStatus::Working, &None));
    assert_eq!(last.answers, messages(&[("a", "1"), ("b", "2")]));
    assert_eq!(tasks.load(&id).await.unwrap(), Some(last));
    assert_eq!(tasks.answer(&id, &messages(&[("a", "3")])).await.unwrap(), None);
}

async fn an_answer_that_was_not_asked_for_or_comes_twice_is_ignored(tasks: Tasks) {
    let id = asking(&tasks, &[("a", "{}"), ("b", "{}")]).await;

    tasks.answer(&id, &messages(&[("c", "0"), ("", "0"), ("a", "1")])).await.unwrap().unwrap();
    let answered = tasks.answer(&id, &messages(&[("a", "2")])).await.unwrap().unwrap();
    let nothing = tasks.answer(&id, &BTreeMap::new()).await.unwrap().unwrap();

    assert_eq!((answered.status, answered.answers), (TaskStatus::InputRequired, messages(&[("a", "1")])));
    assert_eq!((nothing.status, nothing.answers), (TaskStatus::InputRequired, messages(&[("a", "1")])));
}

async fn of_many_who_answer_at_once_one_brings_the_last_answer(tasks: Tasks) {
    let id = asking(&tasks, &[("a", "{}"), ("b", "{}")]).await;
    let mut answering = JoinSet::new();
    for number in 0..20 {
        let (tasks, id) = (tasks.clone(), id.clone());
        let key = if number % 2 == 0 { "a" } else { "b" };
        answering.spawn(async move { tasks.answer(&id, &messages(&[(key, "1")])).await.unwrap() });
    }

    let answered = answering.join_all().await.into_iter().flatten();

    assert_eq!(answered.filter(|task| task.status == TaskStatus::Working).count(), 1);
}

async fn of_many_nodes_one_claims_an_answered_task(tasks: Tasks) {
    let id = asking(&tasks, &[("a", "{}")]).await;
    tasks.answer(&id, &messages(&[("a", "1")])).await.unwrap().unwrap();
    let mut claiming = JoinSet::new();
    for number in 0..20 {
        let (tasks, id) = (tasks.clone(), id.clone());
        claiming.spawn(async move { tasks.claim(&id, &node(&number.to_string())).await.unwrap() });
    }

    let claimed: Vec<_> = claiming.join_all().await.into_iter().flatten().collect();

    let [task] = &claimed[..] else { panic!("{claimed:?}") };
    assert_eq!((task.answers.len(), task.state.as_slice()), (1, &b"state"[..]));
    let holder = task.node.clone().unwrap();
    let ids = std::slice::from_ref(&id);
    assert_eq!(tasks.heartbeat(&holder, ids).await.unwrap(), ids);
    assert!(tasks.finish(&id, &holder, &result()).await.unwrap().is_some());
}

async fn a_claimed_task_asks_again_and_the_first_round_is_forgotten(tasks: Tasks) {
    let id = asking(&tasks, &[("a", "{}"), ("b", "{}")]).await;
    tasks.answer(&id, &messages(&[("a", "1"), ("b", "2")])).await.unwrap().unwrap();
    tasks.claim(&id, &node("two")).await.unwrap().unwrap();

    let again = tasks.need_input(&id, &node("two"), &messages(&[("c", "{}")]), b"").await.unwrap().unwrap();
    let stale = tasks.answer(&id, &messages(&[("a", "1"), ("b", "2")])).await.unwrap().unwrap();
    let answered = tasks.answer(&id, &messages(&[("c", "3")])).await.unwrap().unwrap();

    assert_eq!((again.round, again.state.len()), (2, 0));
    assert_eq!((again.requests, again.answers), (messages(&[("c", "{}")]), BTreeMap::new()));
    assert_eq!(stale.status, TaskStatus::InputRequired);
    assert_eq!((answered.status, answered.answers), (TaskStatus::Working, messages(&[("c", "3")])));
}

async fn a_task_that_asks_nothing_waits_for_a_node_at_once(tasks: Tasks) {
    let id = asking(&tasks, &[]).await;

    let claimed = tasks.claim(&id, &node("two")).await.unwrap().unwrap();

    assert_eq!((claimed.status, claimed.round), (TaskStatus::Working, 1));
}

async fn a_waiting_task_can_be_cancelled_and_forgets_what_it_asked(tasks: Tasks) {
    let id = asking(&tasks, &[("a", "{}"), ("b", "{}")]).await;
    tasks.answer(&id, &messages(&[("a", "1")])).await.unwrap();

    let cancelled = tasks.cancel(&id).await.unwrap().unwrap();

    assert_eq!((cancelled.status, &cancelled.node), (TaskStatus::Cancelled, &None));
    assert_eq!((cancelled.requests.len(), cancelled.answers.len(), cancelled.state.len()), (0, 0, 0));
    assert_eq!(tasks.answer(&id, &messages(&[("b", "2")])).await.unwrap(), None);
}

/// A task that waits for answers to these questions, with the state `state`.
pub async fn asking(tasks: &Tasks, requests: &[(&str, &str)]) -> TaskId {
    let id = started(tasks, "asking").await;
    tasks.need_input(&id, &node("one"), &messages(requests), b"state").await.unwrap().unwrap();
    id
}

pub fn messages(messages: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    messages.iter().map(|(key, json)| ((*key).to_owned(), json.as_bytes().to_vec())).collect()
}

//! What went wrong with tasks elsewhere.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::json;
use switchyard_tasks::TaskOptions;
use switchyard_tests::{Cluster, Shape};

use crate::{
    Worker, begin,
    following::{follow, told},
    started, task_in,
};

/// Long enough for something that should not come to come.
const QUIET: Duration = Duration::from_secs(4);

#[tokio::test]
async fn field_case_46_a_task_made_at_one_node_and_awaited_at_another_is_told_when_it_completes() {
    let cluster = Cluster::start(Shape { gateways: 2, tools: 1 }).await;
    let worker = Worker::start(&cluster.redis, "worker").await;
    let (here, there) = (cluster.modern(0), cluster.modern(1));
    worker.known_to(&here).await;

    let mut waits = Vec::new();
    for _ in 0..5 {
        let (task, run) = started(&here, &worker).await;
        let mut awaited = follow(&there, &[&task]).await;
        told(&mut awaited, "working").await;
        run.say("done").await;
        let completed = Instant::now();
        assert_eq!(told(&mut awaited, "completed").await["result"]["content"][0]["text"], "done");
        waits.push(completed.elapsed());
    }

    // A busy machine may hold up some of them.
    assert!(waits.iter().min() < Some(&Duration::from_secs(1)), "{waits:?}");
}

#[tokio::test]
async fn field_case_47_of_many_gateways_one_expires_a_task_and_every_listener_hears_of_it_once() {
    const TASKS: usize = 100;
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    // Longer than a slow machine takes to make all of them and to follow them.
    let options = TaskOptions { ttl: Duration::from_secs(15), ..TaskOptions::default() };
    let worker = Worker::start_with(&cluster.redis, "worker", options).await;
    let clients = [0, 1, 2].map(|gateway| cluster.modern(gateway));
    for client in &clients {
        worker.known_to(client).await;
    }
    let made = (0..TASKS).map(|number| {
        let client = &clients[number % 3];
        async move { task_in(&begin(client, "job").await.finish().await) }
    });
    let tasks: BTreeSet<String> = join_all(made).await.into_iter().collect();
    assert_eq!(tasks.len(), TASKS);
    let ids: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let mut listeners = Vec::new();
    for client in &clients {
        let listener = follow(client, &ids).await;
        assert_eq!(listener.acknowledged["taskIds"].as_array().unwrap().len(), TASKS);
        listeners.push(listener);
    }

    for listener in &mut listeners {
        let mut failed = BTreeSet::new();
        while failed.len() < TASKS {
            let told = told(listener, "failed").await;
            assert_eq!(told["error"]["code"], -32603, "{told}");
            assert!(failed.insert(told["taskId"].as_str().unwrap().to_owned()), "{told} a second time");
        }
        assert_eq!(failed, tasks);
    }
    for listener in &mut listeners {
        assert_eq!(listener.events.messages_until_quiet(QUIET).await, Vec::<serde_json::Value>::new());
    }
    let mut expired = 0;
    for gateway in &cluster.gateways {
        let metrics = gateway.admin("/metrics").await.text().await;
        let count = metrics.lines().find_map(|line| line.strip_prefix("switchyard_tasks_expired_total "));
        expired += count.unwrap().parse::<usize>().unwrap();
    }
    assert_eq!(expired, TASKS);
    for _ in 0..TASKS {
        worker.next_run().await.given_up().await;
    }
    for id in ids.iter().take(3) {
        let looked_at = clients[0].request("tasks/get", crate::following(json!({"taskId": id}))).await;
        assert_eq!(looked_at.error().code, -32602);
    }
}

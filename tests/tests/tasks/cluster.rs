//! Tasks across gateways: made at one, looked at, answered and cancelled at any other.

use serde_json::json;
use switchyard_tests::{Cluster, ModernClient, Shape};

use crate::{
    Worker, assert_empty, cancel,
    following::{follow, told},
    get, started, until, update,
    worker::{filled_in, form},
};

/// A cluster of three gateways that all know the worker, and a client of each.
async fn cluster() -> (Cluster, Worker, [ModernClient; 3]) {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    let worker = Worker::start(&cluster.redis, "worker").await;
    let clients = [0, 1, 2].map(|gateway| cluster.modern(gateway));
    for client in &clients {
        worker.known_to(client).await;
    }
    (cluster, worker, clients)
}

#[tokio::test]
async fn a_task_is_found_at_every_gateway_as_soon_as_its_client_knows_of_it() {
    let (_cluster, worker, [one, two, three]) = cluster().await;

    for _ in 0..10 {
        let (task, run) = started(&one, &worker).await;
        for client in [&three, &two, &one] {
            assert_eq!(get(client, &task).await["status"], "working");
        }
        run.say("done").await;
    }
}

#[tokio::test]
async fn a_task_is_answered_and_cancelled_at_other_gateways_than_its_own() {
    let (_cluster, worker, [one, two, three]) = cluster().await;
    let (task, run) = started(&one, &worker).await;
    run.ask(&json!({"first": form("Who?"), "second": form("Why?")}), "").await;
    let asking = until(&two, &task, "input_required").await;
    let keys: Vec<_> = asking["inputRequests"].as_object().unwrap().keys().cloned().collect();

    assert_empty(&update(&two, &task, json!({&keys[0]: filled_in("Ada")})).await);
    assert_empty(&update(&three, &task, json!({&keys[1]: filled_in("Bob")})).await);

    let run = worker.next_run().await;
    assert_eq!(run.answers, json!({"first": filled_in("Ada"), "second": filled_in("Bob")}));
    assert_empty(&cancel(&three, &task).await);
    run.given_up().await;
    assert_eq!(get(&one, &task).await["status"], "cancelled");
}

#[tokio::test]
async fn a_stream_at_any_gateway_hears_what_happens_at_another() {
    let (_cluster, worker, [one, two, three]) = cluster().await;
    let (task, run) = started(&one, &worker).await;
    let (mut here, mut there) = (follow(&two, &[&task]).await, follow(&three, &[&task]).await);

    run.ask(&json!({"name": form("Who?")}), "").await;

    for listener in [&mut here, &mut there] {
        told(listener, "input_required").await;
    }
    cancel(&one, &task).await;
    for listener in [&mut here, &mut there] {
        told(listener, "cancelled").await;
    }
}

//! The stores in Redis keep the contract, and do what only a shared store can show.

// A step that fails is a test that fails.
#![allow(clippy::unwrap_used)]

mod away;
mod cluster;
mod lost;
mod neighbours;
mod replies;
mod secrets;
mod tasks;
mod waits;

use std::cell::Cell;

use switchyard_state::{Limits, Stores, contract, redis, testing::RedisServer};

#[tokio::test]
async fn the_redis_log_keeps_the_contract() {
    let server = RedisServer::start().await;

    contract::event_log(&new_clusters(&server)).await;
}

#[tokio::test]
async fn the_redis_sessions_keep_the_contract() {
    let server = RedisServer::start().await;

    contract::session_store(&new_clusters(&server)).await;
}

#[tokio::test]
async fn the_redis_registry_keeps_the_contract() {
    let server = RedisServer::start().await;

    contract::registry(&new_clusters(&server)).await;
}

#[tokio::test]
async fn the_redis_replies_keep_the_contract() {
    let server = RedisServer::start().await;

    contract::reply_log(&new_clusters(&server)).await;
}

#[tokio::test]
async fn the_redis_tasks_keep_the_contract() {
    let server = RedisServer::start().await;

    contract::task_store(&new_clusters(&server)).await;
}

/// Makes stores of clusters that share nothing but the server.
fn new_clusters(server: &RedisServer) -> impl Fn(&Limits) -> Stores {
    let made = Cell::new(0);
    move |limits| {
        made.set(made.get() + 1);
        let Limits { log, replies, tasks } = limits.clone();
        let options = server.options(&format!("test-{}", made.get()));
        redis::connect(&redis::RedisOptions { log, replies, tasks, ..options }).unwrap()
    }
}

/// What one more node of the cluster would hold: a connection of its own.
fn node(server: &RedisServer) -> Stores {
    redis::connect(&server.options("test")).unwrap()
}

/// A node that waits for an answer no longer than nodes do by default.
fn hasty_node(server: &RedisServer) -> Stores {
    let timeout_ms = redis::RedisOptions::default().timeout_ms;
    redis::connect(&redis::RedisOptions { timeout_ms, ..server.options("test") }).unwrap()
}

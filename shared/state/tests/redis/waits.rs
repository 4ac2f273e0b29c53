//! Reads that wait do so on connections of their own.

use std::time::Duration;

use switchyard_state::testing::{RedisServer, eventually};

use super::node;

const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_waiting_read_delays_no_other_request() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let start = stores.log.position().await.unwrap();

    let read = stores.log.read(&start.epoch, start.last, 10, LONG);
    let others = async {
        eventually(async || (blocked(&server).await == 1).then_some(())).await;
        assert_eq!(stores.log.position().await.unwrap(), start);
    };

    tokio::select! {
        answer = read => panic!("nothing was appended, and yet it returned {answer:?}"),
        () = others => {}
    }
}

#[tokio::test]
async fn a_dropped_wait_is_forgotten_by_redis_too() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let start = stores.log.position().await.unwrap();

    let log = stores.log.clone();
    let read = tokio::spawn(async move { log.read(&start.epoch, start.last, 10, LONG).await });
    eventually(async || (blocked(&server).await == 1).then_some(())).await;
    read.abort();

    eventually(async || (blocked(&server).await == 0).then_some(())).await;
}

#[tokio::test]
async fn one_wait_after_the_other_takes_one_connection() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let start = stores.log.position().await.unwrap();
    let short = Duration::from_millis(1);
    stores.log.read(&start.epoch, start.last, 10, short).await.unwrap();
    let before = connections(&server).await;

    for _ in 0..5 {
        stores.log.read(&start.epoch, start.last, 10, short).await.unwrap();
    }

    // Asking takes one itself.
    assert_eq!(connections(&server).await, before + 1);
}

/// How many clients wait at the server now.
pub async fn blocked(server: &RedisServer) -> u64 {
    info(server, "clients", "blocked_clients").await
}

/// How many connections the server has accepted.
async fn connections(server: &RedisServer) -> u64 {
    info(server, "stats", "total_connections_received").await
}

async fn info(server: &RedisServer, section: &str, field: &str) -> u64 {
    let info: String = ::redis::from_redis_value(server.command(&["INFO", section]).await).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.expect("the server tells").parse().unwrap()
}

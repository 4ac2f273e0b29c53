//! A store that is away says so soon, and is found again by itself.

use std::time::Duration;

use switchyard_state::{
    NodeId, SessionId, StoreError, redis,
    testing::{RedisServer, eventually, in_time},
};

use super::{hasty_node, node};

#[tokio::test]
async fn a_redis_that_was_never_there_is_away() {
    let options = redis::RedisOptions { url: "redis+unix:///nowhere/redis.sock".into(), ..Default::default() };
    let stores = redis::connect(&options).unwrap();

    let answer = stores.log.position().await;

    assert!(matches!(answer, Err(StoreError::Away(_))), "{answer:?}");
}

#[tokio::test]
async fn a_redis_that_was_killed_is_away_and_is_found_again() {
    let mut server = RedisServer::start().await;
    let stores = node(&server);
    stores.log.append(b"before", "").await.unwrap();

    server.stop();
    for _ in 0..3 {
        let answer = in_time(stores.log.append(b"meanwhile", "")).await;
        assert!(matches!(answer, Err(StoreError::Away(_))), "{answer:?}");
    }

    server.restart().await;
    stores.log.append(b"after", "").await.unwrap();
}

#[tokio::test]
async fn no_request_fails_because_redis_was_restarted_before_it() {
    let mut server = RedisServer::start().await;
    let stores = node(&server);
    let closed = stores.log.position().await.unwrap();

    server.restart().await;

    // Its connection is dead by now, but nobody has to find that out by a request in vain.
    let position = stores.log.position().await.unwrap();
    assert_ne!(position.epoch, closed.epoch);
}

#[tokio::test]
async fn a_frozen_redis_is_away_within_its_deadline_for_everybody() {
    let server = RedisServer::start().await;
    let stores = hasty_node(&server);
    let id = SessionId("session".into());
    let node = NodeId("node".into());
    eventually(async || stores.log.position().await.ok()).await;

    server.pause();
    let answers = in_time(async {
        tokio::join!(
            async { stores.log.position().await.err() },
            async { stores.log.read("epoch", Default::default(), 1, Duration::from_secs(600)).await.err() },
            async { stores.sessions.load(&id, Duration::from_secs(600)).await.err() },
            async { stores.sessions.touch(std::slice::from_ref(&id), Duration::from_secs(600)).await.err() },
            async { stores.registry.heartbeat(&node, None).await.err() },
            async { stores.registry.nodes().await.err() },
        )
    })
    .await;
    let still = stores.log.position().await.err();

    let (position, read, load, touch, heartbeat, nodes) = answers;
    for error in [position, read, load, touch, heartbeat, nodes, still] {
        assert!(matches!(error, Some(StoreError::Away(_))), "{error:?}");
    }

    server.resume();
    eventually(async || stores.log.position().await.ok()).await;
}

#[tokio::test]
async fn many_requests_to_a_redis_that_is_away_do_not_queue_up() {
    let server = RedisServer::start().await;
    server.pause();
    let stores = hasty_node(&server);

    // One after the other they would take longer than anybody waits here.
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let log = stores.log.clone();
        requests.spawn(async move { log.append(b"entry", "").await.is_err() });
    }

    assert!(in_time(requests.join_all()).await.into_iter().all(|failed| failed));
}

#[tokio::test]
async fn a_waiting_read_ends_when_redis_goes_away() {
    let mut server = RedisServer::start().await;
    let stores = node(&server);
    let start = stores.log.position().await.unwrap();

    let read = stores.log.read(&start.epoch, start.last, 1, Duration::from_secs(600));
    let stop = async {
        eventually(async || (super::waits::blocked(&server).await == 1).then_some(())).await;
        server.stop();
    };
    let (answer, ()) = tokio::join!(read, stop);

    assert!(matches!(answer, Err(StoreError::Away(_))), "{answer:?}");
}

#[tokio::test]
async fn options_that_cannot_work_are_refused_without_showing_a_password() {
    for url in ["http://:hunter2@127.0.0.1", "redis://:hunter2@127.0.0.1/x", "redis://:hunter2@"] {
        let options = redis::RedisOptions { url: url.into(), ..Default::default() };

        let error = redis::connect(&options).err().expect("it is refused");

        assert!(matches!(error, StoreError::Option { option: "url", .. }));
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn a_password_is_taken_from_the_url_and_a_wrong_one_is_not_shown() {
    let server = RedisServer::start().await;
    server.command(&["CONFIG", "SET", "requirepass", "hunter2"]).await;
    let with = |password: &str| {
        let url = format!("{}?pass={password}", server.url());
        redis::connect(&redis::RedisOptions { url, ..server.options("test") }).unwrap()
    };

    with("hunter2").log.append(b"entry", "").await.unwrap();
    let error = with("hunter3").log.append(b"entry", "").await.unwrap_err();

    assert!(matches!(error, StoreError::Away(_)));
    assert!(!format!("{error} {error:?}").contains("hunter"), "{error:?}");
}

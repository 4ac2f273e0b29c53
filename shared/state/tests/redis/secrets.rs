//! Secrets that all nodes of a cluster share.

use std::time::Duration;

use switchyard_state::testing::RedisServer;

use super::node;

#[tokio::test]
async fn nodes_that_start_at_once_agree_on_a_secret() {
    let server = RedisServer::start().await;
    let [one, two, three] = [node(&server), node(&server), node(&server)].map(|stores| stores.registry);

    let (one, two, three) = tokio::join!(one.secret("state"), two.secret("state"), three.secret("state"));

    let one = one.unwrap();
    assert_eq!((&two.unwrap(), &three.unwrap()), (&one, &one));
}

#[tokio::test]
async fn a_secret_rotated_at_one_node_is_seen_at_another() {
    let server = RedisServer::start().await;
    let (one, other) = (node(&server).registry, node(&server).registry);
    let before = other.secret("state").await.unwrap();

    one.rotate("state", Duration::from_secs(600)).await.unwrap();

    let after = other.secret("state").await.unwrap();
    assert_eq!((after.len(), after[1]), (2, before[0]));
}

#[tokio::test]
async fn an_emptied_redis_has_a_new_secret() {
    let server = RedisServer::start().await;
    let registry = node(&server).registry;
    let before = registry.secret("state").await.unwrap();

    server.command(&["FLUSHALL"]).await;

    assert_ne!(registry.secret("state").await.unwrap(), before);
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_is_not_shown() {
    let server = RedisServer::start().await;
    server.command(&["ZADD", "{switchyard:test}:secret:state", "+inf", "hunter2"]).await;

    let error = node(&server).registry.secret("state").await.unwrap_err();

    let shown = format!("{error} {error:?}");
    assert!(shown.contains("secret:state") && !shown.contains("hunter2"), "{shown}");
}

//! A store that lost its data says so to whoever had a place in it.

use std::time::Duration;

use switchyard_state::{
    NodeId, NodeRecord, SessionId,
    testing::{RedisServer, eventually},
};

use super::node;

#[tokio::test]
async fn an_emptied_redis_begins_a_new_epoch_in_which_old_places_are_lost() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let place = stores.log.append(b"before", "producer").await.unwrap().offset;
    let before = stores.log.position().await.unwrap();

    server.command(&["FLUSHALL"]).await;
    let lost = stores.log.read(&before.epoch, place, 10, Duration::from_secs(600)).await.unwrap();
    let again = stores.log.append(b"after", "producer").await.unwrap();

    assert_ne!(lost.epoch, before.epoch);
    assert!(lost.lost && lost.entries.is_empty());
    assert!(!again.repeated && again.offset > place);
    let batch = stores.log.read(&lost.epoch, lost.resume, 10, Duration::ZERO).await.unwrap();
    assert_eq!((batch.lost, batch.resume), (false, again.offset));
}

#[tokio::test]
async fn a_reader_that_waits_while_redis_is_emptied_is_lost_with_the_next_entry() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let start = stores.log.position().await.unwrap();
    let place = stores.log.append(b"before", "").await.unwrap().offset;

    let read = stores.log.read(&start.epoch, place, 10, Duration::from_secs(600));
    let empty = async {
        eventually(async || (super::waits::blocked(&server).await == 1).then_some(())).await;
        server.command(&["FLUSHALL"]).await;
        stores.log.append(b"after", "").await.unwrap()
    };
    let (batch, appended) = tokio::join!(read, empty);

    let batch = batch.unwrap();
    assert!(batch.lost);
    assert_eq!(batch.resume, appended.offset);
}

#[tokio::test]
async fn a_log_that_lost_only_its_head_keeps_no_entries_of_the_old_epoch() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let before = stores.log.append(b"before", "producer").await.unwrap();

    server.command(&["DEL", "{switchyard:test}:log:head"]).await;
    let start = stores.log.position().await.unwrap();
    let after = stores.log.append(b"after", "producer").await.unwrap();

    let batch = stores.log.read(&start.epoch, start.last, 10, Duration::ZERO).await.unwrap();
    assert_eq!(batch.entries.into_iter().map(|entry| entry.bytes).collect::<Vec<_>>(), [b"after"]);
    assert!(!after.repeated && after.offset > before.offset);
}

#[tokio::test]
async fn a_log_that_fell_back_to_an_older_copy_tells_readers_of_what_is_gone() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let kept = stores.log.append(b"kept", "").await.unwrap().offset;
    let gone = stores.log.append(b"gone", "").await.unwrap().offset;
    let epoch = stores.log.position().await.unwrap().epoch;

    let kept_text = kept.0.to_string();
    server.command(&["HSET", "{switchyard:test}:log:head", "last", &kept_text]).await;
    server.command(&["DEL", "{switchyard:test}:log"]).await;
    let new = stores.log.append(b"new", "").await.unwrap().offset;

    let read = async |after| stores.log.read(&epoch, after, 10, Duration::ZERO).await.unwrap();
    assert!(read(gone).await.lost);
    assert!(!read(kept).await.lost);
    assert!(new > gone);
}

#[tokio::test]
async fn an_emptied_redis_knows_no_nodes_and_numbers_go_on_from_above_the_old_ones() {
    let server = RedisServer::start().await;
    let registry = node(&server).registry;
    let record = NodeRecord {
        id: NodeId("one".into()),
        address: String::new(),
        version: "1".into(),
        roles: vec!["tools".into()],
        entries: Vec::new(),
    };
    let before = registry.announce(&record).await.unwrap();

    server.command(&["FLUSHALL"]).await;

    assert!(!registry.heartbeat(&record.id, None).await.unwrap().known);
    assert!(registry.announce(&record).await.unwrap().generation > before.generation);
    assert!(registry.heartbeat(&record.id, None).await.unwrap().known);
}

#[tokio::test]
async fn sessions_are_gone_after_redis_was_emptied() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let id = SessionId("session".into());
    super::cluster::create(&stores, &id).await;

    server.command(&["FLUSHALL"]).await;

    assert_eq!(stores.sessions.load(&id, Duration::from_secs(600)).await.unwrap(), None);
}

//! Replies that one node writes and another one reads.

use std::time::Duration;

use redis::Value;
use switchyard_state::{
    NodeId, ReplyId, ReplyLog, SessionId, StoreError,
    testing::{RedisServer, eventually, in_time},
};

use super::{cluster::create, node, waits::blocked};

const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_reply_written_at_one_node_is_followed_at_another_to_its_end() {
    let server = RedisServer::start().await;
    let (one, other) = (node(&server).replies, node(&server).replies);
    let id = opened(&*one, "stream").await;

    let write = async {
        for number in 1..=20 {
            assert_eq!(one.append(&id, b"event").await.unwrap(), Some(number));
        }
        one.close(&id).await.unwrap();
    };
    let follow = async {
        let mut seen = Vec::new();
        loop {
            let batch = in_time(other.read(&id, seen.last().copied().unwrap_or(0), LONG)).await.unwrap().unwrap();
            assert_eq!(batch.node, NodeId("node".into()));
            seen.extend(batch.events.iter().map(|(number, _)| *number));
            if batch.closed {
                return seen;
            }
        }
    };
    let ((), seen) = tokio::join!(write, follow);

    assert_eq!(seen, (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_end_of_a_silent_call_wakes_a_reader_at_another_node() {
    let server = RedisServer::start().await;
    let (one, other) = (node(&server).replies, node(&server).replies);
    let id = opened(&*one, "stream").await;

    let read = in_time(other.read(&id, 0, LONG));
    let close = async {
        eventually(async || (blocked(&server).await == 1).then_some(())).await;
        one.close(&id).await.unwrap();
    };
    let (batch, ()) = tokio::join!(read, close);

    assert!(batch.unwrap().unwrap().closed);
}

#[tokio::test]
async fn a_log_that_lost_its_newest_events_repeats_rather_than_loses() {
    let server = RedisServer::start().await;
    let replies = node(&server).replies;
    let id = opened(&*replies, "stream").await;
    replies.append(&id, b"kept").await.unwrap();
    let [heads, events] = ["replies:session", "reply:session:stream"].map(|key| format!("{{switchyard:test}}:{key}"));
    let head = server.command(&["HGET", &heads, "stream"]).await;
    let seen = replies.append(&id, b"lost").await.unwrap().unwrap();

    // As after a failover to a copy that was behind.
    let head: String = redis::from_redis_value(head).unwrap();
    server.command(&["HSET", &heads, "stream", &head]).await;
    server.command(&["DEL", &events]).await;
    replies.append(&id, b"result").await.unwrap();
    replies.close(&id).await.unwrap();

    let batch = replies.read(&id, seen + 1, Duration::ZERO).await.unwrap().unwrap();
    assert_eq!(batch.events, [(2, b"result".to_vec())]);
}

#[tokio::test]
async fn what_a_client_calls_its_stream_reaches_no_other_key() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    create(&stores, &SessionId("session:x".into())).await;
    let id = opened(&*stores.replies, "x:y").await;
    stores.replies.append(&id, b"event").await.unwrap();

    // Named so that their keys would be those of the reply above.
    for stream in ["", "x", "y", "x:y:z", "*", "x:*"] {
        for session in ["session", "session:x"] {
            let foreign = ReplyId { session: SessionId(session.into()), stream: stream.into() };
            assert_eq!(stores.replies.read(&foreign, 0, Duration::ZERO).await.unwrap(), None, "{foreign:?}");
        }
    }
}

#[tokio::test]
async fn what_a_newer_version_adds_to_a_reply_is_left_alone() {
    let server = RedisServer::start().await;
    let replies = node(&server).replies;
    let id = opened(&*replies, "stream").await;
    let key = "{switchyard:test}:replies:session";
    let head: String = redis::from_redis_value(server.command(&["HGET", key, "stream"]).await).unwrap();
    let newer = head.replacen('{', r#"{"mood":"new","#, 1);
    server.command(&["HSET", key, "stream", &newer]).await;

    replies.append(&id, b"event").await.unwrap();

    let head: String = redis::from_redis_value(server.command(&["HGET", key, "stream"]).await).unwrap();
    assert!(head.contains(r#""mood":"new""#), "{head}");
}

#[tokio::test]
async fn the_events_of_forgotten_replies_take_up_no_memory() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let session = SessionId("session".into());
    create(&stores, &session).await;

    for number in 0..70 {
        let id = opened(&*stores.replies, &number.to_string()).await;
        stores.replies.append(&id, b"event").await.unwrap();
        stores.replies.close(&id).await.unwrap();
    }
    // 64 logs, the table of their heads, the session, and the log's head.
    assert_eq!(server.command(&["DBSIZE"]).await, Value::Int(64 + 3));

    stores.sessions.remove(&session, b"removed").await.unwrap();
    assert_eq!(server.command(&["DBSIZE"]).await, Value::Int(2));
}

#[tokio::test]
async fn more_readers_wait_than_there_are_connections_and_all_hear_the_end() {
    let server = RedisServer::start().await;
    let (one, other) = (node(&server).replies, node(&server).replies);
    let id = opened(&*one, "stream").await;
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (other, id) = (other.clone(), id.clone());
        readers.spawn(async move { in_time(other.read(&id, 0, LONG)).await.unwrap().unwrap() });
    }
    eventually(async || (blocked(&server).await == 64).then_some(())).await;

    one.append(&id, b"result").await.unwrap();
    one.close(&id).await.unwrap();

    for batch in readers.join_all().await {
        assert_eq!(batch.events.len(), 1);
    }
}

#[tokio::test]
async fn replies_are_away_with_redis_and_gone_after_it_was_emptied() {
    let mut server = RedisServer::start().await;
    let replies = node(&server).replies;
    let id = opened(&*replies, "stream").await;

    let read = replies.read(&id, 0, LONG);
    let stop = async {
        eventually(async || (blocked(&server).await == 1).then_some(())).await;
        server.stop();
    };
    let (answer, ()) = tokio::join!(read, stop);
    assert!(matches!(answer, Err(StoreError::Away(_))), "{answer:?}");
    assert!(matches!(replies.append(&id, b"event").await, Err(StoreError::Away(_))));

    server.restart().await;
    assert_eq!(replies.append(&id, b"event").await.unwrap(), None);
    assert_eq!(replies.read(&id, 0, LONG).await.unwrap(), None);
}

async fn opened(replies: &dyn ReplyLog, stream: &str) -> ReplyId {
    let id = ReplyId { session: SessionId("session".into()), stream: stream.into() };
    replies.open(&id, &NodeId("node".into()), "[7]", LONG).await.unwrap();
    id
}

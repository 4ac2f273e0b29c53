//! Nodes of an older and a newer version run side by side on one Redis.

use std::time::Duration;

use switchyard_state::{EntryKind, SessionId, StoreError, testing::RedisServer};

use super::{
    cluster::{create, tools_node},
    node,
};

const LONG: Duration = Duration::from_secs(600);
const SESSION: &str = "{switchyard:test}:session:session";

#[tokio::test]
async fn what_a_newer_version_adds_to_a_session_is_left_alone() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let id = SessionId("session".into());
    create(&stores, &id).await;

    server.command(&["HSET", SESSION, "mood", "new"]).await;
    stores.sessions.set_ready(&id, b"ready").await.unwrap();

    assert!(stores.sessions.load(&id, LONG).await.unwrap().unwrap().ready);
    assert_eq!(server.command(&["HGET", SESSION, "mood"]).await, ::redis::Value::BulkString(b"new".to_vec()));
}

#[tokio::test]
async fn a_session_that_cannot_be_read_names_its_record_and_harms_no_other() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    let [broken, whole] = ["session", "whole"].map(|id| SessionId(id.into()));
    create(&stores, &broken).await;
    create(&stores, &whole).await;

    server.command(&["HSET", SESSION, "left", "x"]).await;

    let error = stores.sessions.load(&broken, LONG).await.unwrap_err();
    assert!(matches!(&error, StoreError::Record { key, .. } if key == SESSION), "{error:?}");
    assert!(stores.sessions.load(&whole, LONG).await.unwrap().is_some());
}

#[tokio::test]
async fn entries_of_a_kind_not_known_yet_are_left_out() {
    let server = RedisServer::start().await;
    let registry = node(&server).registry;
    registry.announce(&tools_node("one", &["echo"])).await.unwrap();
    let newer = r#"{"id":"newer","address":"a","version":"2","roles":[],"mood":"new",
        "entries":[{"kind":"dance","name":"x","definition":"{}","digest":"1"},
                   {"kind":"tool","name":"y","definition":"{}","digest":"1","steps":3}]}"#;
    server.command(&["HSET", "{switchyard:test}:nodes", "newer", newer, "broken", "{"]).await;
    server
        .command(&["HSET", "{switchyard:test}:nodes:offers", "newer", r#"[["dance:x","1","1"],["tool:y","1","1"]]"#])
        .await;

    let announced = registry.announce(&tools_node("two", &["echo", "count"])).await.unwrap();
    let snapshot = registry.nodes().await.unwrap();

    assert_eq!(announced.changed, [EntryKind::Tool]);
    let names = snapshot.nodes.iter().map(|node| (node.id.0.as_str(), node.entries.len()));
    assert_eq!(names.collect::<Vec<_>>(), [("newer", 1), ("one", 1), ("two", 2)]);
    assert_eq!(snapshot.listed.into_keys().map(|(_, name)| name).collect::<Vec<_>>(), ["count", "echo", "y"]);
}

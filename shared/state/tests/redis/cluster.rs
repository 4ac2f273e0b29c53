//! Nodes that share one Redis see each other's writes, and agree on who did what first.

use std::time::Duration;

use switchyard_state::{
    Entry, EntryKind, NodeId, NodeRecord, Offset, ReplyId, Session, SessionId, Stores, TaskCall, TaskId, TaskSupport,
    contract, redis,
    testing::{RedisServer, eventually},
};
use tokio::task::JoinSet;

use super::node;

const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_session_made_at_one_node_is_changed_at_another() {
    let server = RedisServer::start().await;
    let (one, other) = (node(&server), node(&server));
    let id = SessionId("session".into());
    create(&one, &id).await;

    let since = other.sessions.subscribe(&id, "file:///a", b"subscribed").await.unwrap().unwrap();

    let session = one.sessions.load(&id, LONG).await.unwrap().unwrap();
    assert_eq!(session.subscriptions, [("file:///a".to_owned(), since)].into());
    assert_eq!(one.log.position().await.unwrap().last, since);
}

#[tokio::test]
async fn an_entry_appended_at_one_node_wakes_a_reader_at_another() {
    let server = RedisServer::start().await;
    let (one, other) = (node(&server), node(&server));
    let start = one.log.position().await.unwrap();

    let read = one.log.read(&start.epoch, start.last, 10, LONG);
    let append = async {
        eventually(async || (super::waits::blocked(&server).await == 1).then_some(())).await;
        other.log.append(b"entry", "").await.unwrap().offset
    };
    let (batch, offset) = tokio::join!(read, append);

    assert_eq!(batch.unwrap().resume, offset);
}

#[tokio::test]
async fn a_producer_id_repeated_at_another_node_adds_nothing() {
    let server = RedisServer::start().await;
    let (one, other) = (node(&server), node(&server));

    let first = one.log.append(b"first", "producer").await.unwrap();
    let again = other.log.append(b"again", "producer").await.unwrap();

    assert_eq!((again.offset, again.repeated), (first.offset, true));
}

#[tokio::test]
async fn streams_of_two_nodes_that_take_the_floor_at_once_get_disjoint_ranges() {
    let server = RedisServer::start().await;
    let (one, other) = (node(&server), node(&server));
    let id = SessionId("session".into());
    create(&one, &id).await;

    let takers = (0..40).map(|number| if number % 2 == 0 { one.clone() } else { other.clone() }).collect();
    contract::take_floor_at_once(takers, &id).await;
}

#[tokio::test]
async fn of_nodes_that_announce_at_once_exactly_one_is_told_of_each_change() {
    let server = RedisServer::start().await;
    let mut announcing = JoinSet::new();
    for number in 0..20 {
        let registry = node(&server).registry;
        // Five tools, each announced by four nodes.
        let record = tools_node(&format!("node-{number}"), &[&format!("tool-{}", number % 5)]);
        announcing.spawn(async move { registry.announce(&record).await.unwrap() });
    }

    let announced = announcing.join_all().await;

    let told: Vec<_> = announced.iter().filter(|announced| !announced.changed.is_empty()).collect();
    assert_eq!(told.len(), 5);
    let snapshot = node(&server).registry.nodes().await.unwrap();
    assert_eq!((snapshot.nodes.len(), snapshot.listed.len()), (20, 5));
    assert_eq!(told.iter().map(|told| told.version).max(), Some(snapshot.version));
}

#[tokio::test]
async fn clusters_with_different_names_share_nothing() {
    let server = RedisServer::start().await;
    let blue = redis::connect(&server.options("blue")).unwrap();
    let green = redis::connect(&server.options("green")).unwrap();
    let id = SessionId("session".into());
    create(&blue, &id).await;
    blue.log.append(b"entry", "").await.unwrap();
    blue.registry.announce(&tools_node("one", &["echo"])).await.unwrap();

    assert_eq!(green.sessions.load(&id, LONG).await.unwrap(), None);
    assert_eq!(green.log.position().await.unwrap().last, Offset(0));
    assert_eq!(green.registry.nodes().await.unwrap(), Default::default());
}

#[tokio::test]
async fn every_key_has_the_clusters_hash_tag_and_an_expiry() {
    let server = RedisServer::start().await;
    let stores = node(&server);
    create(&stores, &SessionId("session".into())).await;
    stores.log.append(b"entry", "producer").await.unwrap();
    stores.registry.announce(&tools_node("one", &["echo"])).await.unwrap();
    stores.registry.lease("watch", &NodeId("one".into()), LONG).await.unwrap();
    stores.registry.secret("state").await.unwrap();
    let reply = ReplyId { session: SessionId("session".into()), stream: "stream".into() };
    stores.replies.open(&reply, &NodeId("one".into()), "[7]", LONG).await.unwrap();
    stores.replies.append(&reply, b"event").await.unwrap();
    let call = TaskCall {
        principal: "ann".into(),
        tool: "echo".into(),
        arguments: b"{}".to_vec(),
        context: Vec::new(),
        poll_interval_ms: 1_000,
    };
    stores.tasks.create(&TaskId("task".into()), &call, &NodeId("one".into()), LONG).await.unwrap();

    let keys: Vec<String> = ::redis::from_redis_value(server.command(&["KEYS", "*"]).await).unwrap();

    assert_eq!(keys.len(), 17, "{keys:?}");
    for key in keys {
        assert!(key.starts_with("{switchyard:test}:"), "{key}");
        let expiry: i64 = ::redis::from_redis_value(server.command(&["PTTL", &key]).await).unwrap();
        assert!(expiry > 0, "{key}");
    }
}

/// Saves a session with little in it.
pub async fn create(stores: &Stores, id: &SessionId) {
    let session = Session {
        id: id.clone(),
        revision: "2025-06-18".into(),
        principal: String::new(),
        client_capabilities: "{}".into(),
        client: "client/1".into(),
        ready: false,
        log_level: None,
        subscriptions: Default::default(),
        floor: None,
        left: Offset::default(),
        epoch: String::new(),
    };
    stores.sessions.create(&session, LONG).await.unwrap();
}

/// A node that offers `tools`, all with one digest.
pub fn tools_node(id: &str, tools: &[&str]) -> NodeRecord {
    let entry = |name: &&str| Entry {
        kind: EntryKind::Tool,
        name: (*name).to_owned(),
        definition: "{}".into(),
        digest: "1".into(),
        needs: String::new(),
        prefix: String::new(),
        repeatable: false,
        timeout_ms: 0,
        tasks: TaskSupport::Never,
    };
    NodeRecord {
        id: NodeId(id.into()),
        address: "127.0.0.1:3100".into(),
        version: "1".into(),
        roles: vec!["gateway".into(), "tools".into()],
        entries: tools.iter().map(entry).collect(),
    }
}

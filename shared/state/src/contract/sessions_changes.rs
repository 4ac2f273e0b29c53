//! What every session store does with changes to a record: each lies in the log where it took effect.

use std::time::Duration;

use tokio::task::JoinSet;

use super::{Fresh, a_session, fresh_stores, sessions::LONG};
use crate::{Floor, FloorChange, NodeId, Offset, Position, Session, SessionId, Stores, testing::eventually};

pub async fn all(fresh: Fresh<'_>) {
    let stores = || fresh_stores(fresh);
    readiness_and_log_level_are_kept(stores()).await;
    a_subscription_begins_at_its_entry(stores()).await;
    a_repeated_subscription_keeps_its_first_offset_and_appends_nothing(stores()).await;
    a_subscription_ends_once(stores()).await;
    the_floor_begins_at_its_entry_and_tells_of_the_one_before(stores()).await;
    only_the_holder_of_the_floor_releases_it(stores()).await;
    streams_that_take_the_floor_at_once_get_disjoint_ranges(stores()).await;
    changes_lie_in_the_log_in_their_order(stores()).await;
    a_change_does_not_prolong_a_session(stores()).await;
}

async fn readiness_and_log_level_are_kept(stores: Stores) {
    let id = created(&stores).await;

    assert!(stores.sessions.set_ready(&id, b"ready").await.unwrap());
    assert!(stores.sessions.set_log_level(&id, "error").await.unwrap());

    let session = loaded(&stores, &id).await;
    assert_eq!((session.ready, session.log_level.as_deref()), (true, Some("error")));
}

async fn a_subscription_begins_at_its_entry(stores: Stores) {
    let id = created(&stores).await;

    let since = stores.sessions.subscribe(&id, "file:///a:b", b"subscribed").await.unwrap().unwrap();

    assert_eq!(stores.log.position().await.unwrap().last, since);
    assert_eq!(loaded(&stores, &id).await.subscriptions, [("file:///a:b".to_owned(), since)].into());
}

async fn a_repeated_subscription_keeps_its_first_offset_and_appends_nothing(stores: Stores) {
    let id = created(&stores).await;
    let first = stores.sessions.subscribe(&id, "file:///a", b"subscribed").await.unwrap();
    stores.log.append(b"in between", "").await.unwrap();
    let end = stores.log.position().await.unwrap();

    let second = stores.sessions.subscribe(&id, "file:///a", b"subscribed").await.unwrap();

    assert_eq!(second, first);
    assert_eq!(stores.log.position().await.unwrap(), end);
}

async fn a_subscription_ends_once(stores: Stores) {
    let id = created(&stores).await;
    stores.sessions.subscribe(&id, "file:///a", b"subscribed").await.unwrap();
    stores.sessions.subscribe(&id, "file:///b", b"subscribed").await.unwrap();
    let start = stores.log.position().await.unwrap();

    assert!(stores.sessions.unsubscribe(&id, "file:///a", b"unsubscribed").await.unwrap());
    assert!(!stores.sessions.unsubscribe(&id, "file:///a", b"unsubscribed").await.unwrap());

    assert_eq!(loaded(&stores, &id).await.subscriptions.into_keys().collect::<Vec<_>>(), ["file:///b"]);
    assert_eq!(appended_since(&stores, &start).await, [b"unsubscribed"]);
}

async fn the_floor_begins_at_its_entry_and_tells_of_the_one_before(stores: Stores) {
    let id = created(&stores).await;
    let start = loaded(&stores, &id).await.left;
    let (node, other) = (NodeId("node".into()), NodeId("other".into()));

    let first = stores.sessions.take_floor(&id, "one", &node, b"taken").await.unwrap().unwrap();
    stores.log.append(b"in between", "").await.unwrap();
    let second = stores.sessions.take_floor(&id, "two", &other, b"taken").await.unwrap().unwrap();

    let one = Floor { stream: "one".into(), node, at: first.at };
    let two = Floor { stream: "two".into(), node: other, at: second.at };
    assert_eq!(first, FloorChange { at: first.at, before: None, left: start });
    assert_eq!(second, FloorChange { at: second.at, before: Some(one), left: first.at });
    assert!(second.at > first.at && stores.log.position().await.unwrap().last == second.at);
    let session = loaded(&stores, &id).await;
    assert_eq!((session.floor, session.left), (Some(two), second.at));
}

async fn only_the_holder_of_the_floor_releases_it(stores: Stores) {
    let id = created(&stores).await;
    let node = NodeId("node".into());
    let earlier = stores.log.append(b"a fact", "").await.unwrap().offset;
    let taken = stores.sessions.take_floor(&id, "one", &node, b"taken").await.unwrap().unwrap();

    assert!(!stores.sessions.release_floor(&id, "another", Offset(1)).await.unwrap());
    assert_eq!(loaded(&stores, &id).await.left, taken.at);
    assert!(stores.sessions.release_floor(&id, "one", earlier).await.unwrap());
    assert!(!stores.sessions.release_floor(&id, "one", taken.at).await.unwrap());

    let session = loaded(&stores, &id).await;
    assert_eq!((session.floor, session.left), (None, earlier));
}

async fn streams_that_take_the_floor_at_once_get_disjoint_ranges(stores: Stores) {
    let id = created(&stores).await;
    let takers = (0..20).map(|_| stores.clone()).collect();

    take_floor_at_once(takers, &id).await;
}

/// Each of `takers` takes the floor of one session at the same time, and no offset belongs to two of them.
pub async fn take_floor_at_once(takers: Vec<Stores>, id: &SessionId) {
    let mut taking = JoinSet::new();
    for (number, stores) in takers.into_iter().enumerate() {
        let (id, node) = (id.clone(), NodeId(format!("node-{number}")));
        taking.spawn(async move {
            let stream = format!("stream-{number}");
            let change = stores.sessions.take_floor(&id, &stream, &node, b"taken").await.unwrap().unwrap();
            (Floor { stream, node, at: change.at }, change)
        });
    }
    let mut taken = taking.join_all().await;
    taken.sort_by_key(|(floor, _)| floor.at);

    // Each range ends where the next begins, and the next knows whose it was.
    assert_eq!(taken[0].1.before, None);
    for pair in taken.windows(2) {
        assert_eq!(pair[1].1.before.as_ref(), Some(&pair[0].0));
        assert!(pair[0].0.at < pair[1].0.at);
    }
}

async fn changes_lie_in_the_log_in_their_order(stores: Stores) {
    let id = created(&stores).await;
    let start = stores.log.position().await.unwrap();
    let node = NodeId("node".into());

    stores.sessions.set_ready(&id, b"1 \x00\xff").await.unwrap();
    stores.sessions.subscribe(&id, "file:///a", b"2").await.unwrap();
    stores.sessions.take_floor(&id, "one", &node, b"3").await.unwrap();
    stores.sessions.unsubscribe(&id, "file:///a", b"4").await.unwrap();
    stores.sessions.remove(&id, b"5").await.unwrap();

    assert_eq!(appended_since(&stores, &start).await, [&b"1 \x00\xff"[..], b"2", b"3", b"4", b"5"]);
}

async fn a_change_does_not_prolong_a_session(stores: Stores) {
    let session = a_session("short");
    stores.sessions.create(&session, Duration::from_millis(50)).await.unwrap();

    eventually(async || (!stores.sessions.set_ready(&session.id, b"ready").await.unwrap()).then_some(())).await;
}

async fn created(stores: &Stores) -> SessionId {
    let session = a_session("session");
    stores.sessions.create(&session, LONG).await.unwrap();
    session.id
}

async fn loaded(stores: &Stores, id: &SessionId) -> Session {
    stores.sessions.load(id, LONG).await.unwrap().unwrap()
}

pub async fn appended_since(stores: &Stores, start: &Position) -> Vec<Vec<u8>> {
    let batch = stores.log.read(&start.epoch, start.last, 1_000, Duration::ZERO).await.unwrap();
    batch.entries.into_iter().map(|entry| entry.bytes).collect()
}

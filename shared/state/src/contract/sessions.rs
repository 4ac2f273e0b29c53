//! What every session store does with whole records: how they come, live and go.

use std::time::Duration;

use tokio::time::Instant;

use super::{Fresh, a_session, fresh_stores, sessions_changes};
use crate::{Floor, NodeId, Offset, Session, SessionId, Stores, testing::eventually};

/// Longer than any test runs.
pub const LONG: Duration = Duration::from_secs(600);

/// What every [`SessionStore`](crate::SessionStore) does.
pub async fn session_store(fresh: Fresh<'_>) {
    let stores = || fresh_stores(fresh);
    a_session_is_loaded_as_it_was_created_from_the_end_of_the_log(stores()).await;
    a_session_created_again_replaces_the_one_before(stores()).await;
    a_session_that_never_was_is_none(stores()).await;
    a_session_that_nobody_touches_is_gone(stores()).await;
    a_session_that_is_loaded_or_touched_lives_on(stores()).await;
    a_session_may_live_for_ever(stores()).await;
    a_removed_session_is_gone(stores()).await;
    nothing_changes_or_is_appended_for_a_session_that_is_gone(stores()).await;
    sessions_changes::all(fresh).await;
}

async fn a_session_is_loaded_as_it_was_created_from_the_end_of_the_log(stores: Stores) {
    stores.log.append(b"before", "").await.unwrap();
    let end = stores.log.position().await.unwrap();
    let bare = a_session("bare");
    let full = Session {
        ready: true,
        log_level: Some("warning".into()),
        subscriptions: [("file:///a:b {c}".to_owned(), Offset(3))].into(),
        floor: Some(Floor { stream: "s".into(), node: NodeId("n".into()), at: Offset(4) }),
        ..a_session("full")
    };

    for session in [bare, full] {
        stores.sessions.create(&session, LONG).await.unwrap();

        let expected = Session { left: end.last, epoch: end.epoch.clone(), ..session.clone() };
        assert_eq!(stores.sessions.load(&session.id, LONG).await.unwrap(), Some(expected));
    }
}

async fn a_session_created_again_replaces_the_one_before(stores: Stores) {
    let first = Session { ready: true, log_level: Some("info".into()), ..a_session("again") };
    stores.sessions.create(&first, LONG).await.unwrap();

    stores.sessions.create(&a_session("again"), LONG).await.unwrap();

    let loaded = stores.sessions.load(&first.id, LONG).await.unwrap().unwrap();
    assert_eq!((loaded.ready, loaded.log_level), (false, None));
}

async fn a_session_that_never_was_is_none(stores: Stores) {
    let id = SessionId("{never}: was *".into());

    assert_eq!(stores.sessions.load(&id, LONG).await.unwrap(), None);
    assert_eq!(stores.sessions.touch(&[id], LONG).await.unwrap(), []);
}

async fn a_session_that_nobody_touches_is_gone(stores: Stores) {
    let session = a_session("short");
    stores.sessions.create(&session, Duration::from_millis(30)).await.unwrap();

    // Asks in a way that does not touch it.
    eventually(async || (!stores.sessions.set_log_level(&session.id, "info").await.unwrap()).then_some(())).await;

    assert_eq!(stores.sessions.load(&session.id, LONG).await.unwrap(), None);
    assert_eq!(stores.sessions.touch(std::slice::from_ref(&session.id), LONG).await.unwrap(), []);
}

async fn a_session_that_is_loaded_or_touched_lives_on(stores: Stores) {
    let [loaded, touched, left_alone] = ["loaded", "touched", "left alone"].map(a_session);
    let ids = [SessionId("unknown".into()), touched.id.clone()];
    let mut short = Duration::from_secs(1);
    let known = loop {
        let began = Instant::now();
        for session in [&loaded, &touched, &left_alone] {
            stores.sessions.create(session, short).await.unwrap();
        }
        stores.sessions.load(&loaded.id, LONG).await.unwrap();
        let known = stores.sessions.touch(&ids, LONG).await.unwrap();
        if began.elapsed() < short {
            break known;
        }
        // The machine is busy with other things.
        short *= 2;
    };
    eventually(async || (!stores.sessions.set_log_level(&left_alone.id, "info").await.unwrap()).then_some(())).await;

    assert_eq!(known, std::slice::from_ref(&touched.id));
    assert!(stores.sessions.load(&loaded.id, LONG).await.unwrap().is_some());
    assert!(stores.sessions.load(&touched.id, LONG).await.unwrap().is_some());
}

async fn a_session_may_live_for_ever(stores: Stores) {
    let session = a_session("eternal");

    stores.sessions.create(&session, Duration::MAX).await.unwrap();

    assert!(stores.sessions.load(&session.id, Duration::MAX).await.unwrap().is_some());
    assert_eq!(stores.sessions.touch(std::slice::from_ref(&session.id), Duration::MAX).await.unwrap().len(), 1);
}

async fn a_removed_session_is_gone(stores: Stores) {
    let session = a_session("removed");
    stores.sessions.create(&session, LONG).await.unwrap();
    let start = stores.log.position().await.unwrap();

    assert!(stores.sessions.remove(&session.id, b"ended").await.unwrap());
    assert!(!stores.sessions.remove(&session.id, b"ended").await.unwrap());

    assert_eq!(stores.sessions.load(&session.id, LONG).await.unwrap(), None);
    assert_eq!(sessions_changes::appended_since(&stores, &start).await, [b"ended"]);
}

async fn nothing_changes_or_is_appended_for_a_session_that_is_gone(stores: Stores) {
    let (sessions, id) = (&stores.sessions, SessionId("gone".into()));
    let start = stores.log.position().await.unwrap();

    assert!(!sessions.set_ready(&id, b"ready").await.unwrap());
    assert!(!sessions.set_log_level(&id, "info").await.unwrap());
    assert_eq!(sessions.subscribe(&id, "file:///a", b"subscribed").await.unwrap(), None);
    assert!(!sessions.unsubscribe(&id, "file:///a", b"unsubscribed").await.unwrap());
    assert_eq!(sessions.take_floor(&id, "stream", &NodeId("n".into()), b"taken").await.unwrap(), None);
    assert!(!sessions.release_floor(&id, "stream", Offset(1)).await.unwrap());
    assert!(!sessions.remove(&id, b"removed").await.unwrap());

    assert_eq!(sessions.load(&id, LONG).await.unwrap(), None);
    assert_eq!(stores.log.position().await.unwrap(), start);
}

//! What every log of replies does with events: how they are numbered, kept and waited for.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use super::{Fresh, fresh_stores, reply_logs_life};
use crate::{
    Limits, NodeId, ReplyBatch, ReplyId, ReplyLimits, ReplyLog, SessionId,
    testing::{PATIENCE, in_time},
};

type Log = Arc<dyn ReplyLog>;

/// Longer than any test runs.
pub const LONG: Duration = Duration::from_secs(600);

/// What every [`ReplyLog`] does.
pub async fn reply_log(fresh: Fresh<'_>) {
    let log = || fresh_stores(fresh).replies;
    events_come_back_unchanged_under_their_numbers(log()).await;
    a_read_returns_what_follows_a_number(log()).await;
    a_number_that_the_log_never_gave_stands_for_its_beginning(log()).await;
    replies_of_one_session_and_of_others_are_kept_apart(log()).await;
    a_closed_reply_takes_nothing_more_and_says_that_it_is_complete(log()).await;
    a_reply_opened_again_keeps_its_events_and_names_the_new_node(log()).await;
    a_waiting_read_returns_the_first_event_that_comes(log()).await;
    a_waiting_read_returns_when_the_call_ends_without_an_event(log()).await;
    a_waiting_read_ends_empty_after_its_time(log()).await;
    a_dropped_wait_takes_nothing_with_it(log()).await;
    of_too_many_events_the_first_are_dropped(fresh).await;
    of_too_many_bytes_the_first_are_dropped_but_never_the_last_event(fresh).await;
    reply_logs_life::all(fresh).await;
}

async fn events_come_back_unchanged_under_their_numbers(log: Log) {
    let id = opened(&log, "stream").await;
    let events: [&[u8]; 4] = [b"plain", b"", b"\x00\xff\r\n", "ü".as_bytes()];

    let mut numbers = Vec::new();
    for event in events {
        numbers.push(log.append(&id, event).await.unwrap());
    }

    assert_eq!(numbers, [Some(1), Some(2), Some(3), Some(4)]);
    let batch = log.read(&id, 0, Duration::ZERO).await.unwrap().unwrap();
    let expected = (1..).zip(events.map(<[u8]>::to_vec)).collect();
    assert_eq!(
        batch,
        ReplyBatch { events: expected, closed: false, node: NodeId("node".into()), requests: "[7]".into() }
    );
}

async fn a_read_returns_what_follows_a_number(log: Log) {
    let id = opened(&log, "stream").await;
    append(&log, &id, 12).await;

    assert_eq!(numbers(&log, &id, 0).await, (1..=12).collect::<Vec<_>>());
    assert_eq!(numbers(&log, &id, 9).await, [10, 11, 12]);
    assert_eq!(numbers(&log, &id, 12).await, [0; 0]);
}

async fn a_number_that_the_log_never_gave_stands_for_its_beginning(log: Log) {
    let id = opened(&log, "stream").await;
    let empty = log.read(&id, 7, Duration::ZERO).await.unwrap().unwrap();
    append(&log, &id, 2).await;

    assert_eq!(empty.events, []);
    for never in [3, u64::MAX] {
        assert_eq!(numbers(&log, &id, never).await, [1, 2], "{never}");
    }
}

async fn replies_of_one_session_and_of_others_are_kept_apart(log: Log) {
    let names = [("one", "a"), ("one", "b"), ("two", "a"), ("two", "{a}:b *")];
    for (number, (session, stream)) in (1..).zip(names) {
        let id = id(session, stream);
        log.open(&id, &NodeId("node".into()), "[7]", LONG).await.unwrap();
        append(&log, &id, number).await;
    }

    for (number, (session, stream)) in (1..).zip(names) {
        assert_eq!(numbers(&log, &id(session, stream), 0).await.len(), number);
    }
    assert_eq!(log.read(&id("three", "a"), 0, Duration::ZERO).await.unwrap(), None);
}

async fn a_closed_reply_takes_nothing_more_and_says_that_it_is_complete(log: Log) {
    let id = opened(&log, "stream").await;
    append(&log, &id, 2).await;

    log.close(&id).await.unwrap();
    log.close(&id).await.unwrap();
    log.open(&id, &NodeId("another".into()), "[7]", LONG).await.unwrap();
    let late = log.append(&id, b"late").await.unwrap();

    assert_eq!(late, None);
    let rest = log.read(&id, 1, PATIENCE).await.unwrap().unwrap();
    let events = vec![(2, b"event 2".to_vec())];
    assert_eq!(rest, ReplyBatch { events, closed: true, node: NodeId("node".into()), requests: "[7]".into() });
    let nothing = log.read(&id, 2, LONG).await.unwrap().unwrap();
    assert_eq!((nothing.events, nothing.closed), (vec![], true));
}

async fn a_reply_opened_again_keeps_its_events_and_names_the_new_node(log: Log) {
    let id = opened(&log, "stream").await;
    append(&log, &id, 1).await;

    log.open(&id, &NodeId("another".into()), "[7]", LONG).await.unwrap();
    append(&log, &id, 1).await;

    let batch = log.read(&id, 0, Duration::ZERO).await.unwrap().unwrap();
    assert_eq!((batch.events.len(), batch.node), (2, NodeId("another".into())));
}

async fn a_waiting_read_returns_the_first_event_that_comes(log: Log) {
    let id = opened(&log, "stream").await;
    append(&log, &id, 3).await;

    // Of the second it cannot be known whether such a number comes.
    for after in [3, 100] {
        let read = in_time(log.read(&id, after, Duration::MAX));
        let later = async {
            sleep(Duration::from_millis(50)).await;
            append(&log, &id, 1).await;
        };
        let (batch, ()) = tokio::join!(read, later);

        assert!(!batch.unwrap().unwrap().events.is_empty());
    }
    assert_eq!(numbers(&log, &id, 4).await, [5]);
}

async fn a_waiting_read_returns_when_the_call_ends_without_an_event(log: Log) {
    for events in [0, 3] {
        let id = opened(&log, &format!("stream {events}")).await;
        append(&log, &id, events).await;

        let read = in_time(log.read(&id, events as u64, Duration::MAX));
        let later = async {
            sleep(Duration::from_millis(50)).await;
            log.close(&id).await.unwrap();
        };
        let (batch, ()) = tokio::join!(read, later);

        let batch = batch.unwrap().unwrap();
        assert_eq!((batch.events, batch.closed), (vec![], true));
    }
}

async fn a_waiting_read_ends_empty_after_its_time(log: Log) {
    let id = opened(&log, "stream").await;
    let wait = Duration::from_millis(50);

    let before = Instant::now();
    let batch = log.read(&id, 0, wait).await.unwrap().unwrap();

    assert!(before.elapsed() >= wait);
    assert_eq!((batch.events, batch.closed), (vec![], false));
}

async fn a_dropped_wait_takes_nothing_with_it(log: Log) {
    let id = opened(&log, "stream").await;

    assert!(timeout(Duration::from_millis(50), log.read(&id, 0, PATIENCE)).await.is_err());
    append(&log, &id, 1).await;

    assert_eq!(numbers(&log, &id, 0).await, [1]);
}

async fn of_too_many_events_the_first_are_dropped(fresh: Fresh<'_>) {
    let log = limited(fresh, ReplyLimits { max_events: NonZeroUsize::new(3).unwrap(), ..ReplyLimits::default() });
    let id = opened(&log, "stream").await;

    append(&log, &id, 5).await;

    assert_eq!(numbers(&log, &id, 0).await, [3, 4, 5]);
    assert_eq!(numbers(&log, &id, 1).await, [3, 4, 5]);
    assert_eq!(numbers(&log, &id, 4).await, [5]);
}

async fn of_too_many_bytes_the_first_are_dropped_but_never_the_last_event(fresh: Fresh<'_>) {
    let log = limited(fresh, ReplyLimits { max_bytes: NonZeroUsize::new(10).unwrap(), ..ReplyLimits::default() });
    let id = opened(&log, "stream").await;

    for event in ["4444", "", "666666"] {
        log.append(&id, event.as_bytes()).await.unwrap();
    }
    assert_eq!(numbers(&log, &id, 0).await, [1, 2, 3]);
    log.append(&id, b"1").await.unwrap();
    assert_eq!(numbers(&log, &id, 0).await, [2, 3, 4]);
    log.append(&id, &[b'x'; 1_000]).await.unwrap();
    assert_eq!(numbers(&log, &id, 0).await, [5]);
    log.append(&id, b"333").await.unwrap();
    assert_eq!(numbers(&log, &id, 0).await, [6]);
}

/// A log that keeps what `replies` say.
pub fn limited(fresh: Fresh<'_>, replies: ReplyLimits) -> Log {
    fresh(&Limits { replies, ..Limits::default() }).replies
}

pub fn id(session: &str, stream: &str) -> ReplyId {
    ReplyId { session: SessionId(session.into()), stream: stream.into() }
}

/// A new log of the session `session`, at the node `node`.
pub async fn opened(log: &Log, stream: &str) -> ReplyId {
    let id = id("session", stream);
    log.open(&id, &NodeId("node".into()), "[7]", LONG).await.unwrap();
    id
}

pub async fn append(log: &Log, id: &ReplyId, count: usize) {
    for number in 1..=count {
        log.append(id, format!("event {number}").as_bytes()).await.unwrap().unwrap();
    }
}

pub async fn numbers(log: &Log, id: &ReplyId, after: u64) -> Vec<u64> {
    let batch = log.read(id, after, Duration::ZERO).await.unwrap().unwrap();
    batch.events.into_iter().map(|(number, _)| number).collect()
}

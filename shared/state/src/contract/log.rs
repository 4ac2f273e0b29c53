//! What every event log does.

use std::{
    num::{NonZeroU64, NonZeroUsize},
    sync::Arc,
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};

use super::{Fresh, fresh_stores};
use crate::{
    EventLog, Limits, LogLimits, Offset, Position,
    testing::{PATIENCE, eventually},
};

type Log = Arc<dyn EventLog>;

/// What every [`EventLog`] does.
pub async fn event_log(fresh: Fresh<'_>) {
    let log = || fresh_stores(fresh).log;
    entries_come_back_unchanged_and_in_order(log()).await;
    a_read_returns_no_more_than_its_limit_and_says_where_to_read_on(log()).await;
    the_end_of_the_log_is_a_place_to_read_from(log()).await;
    a_repeated_producer_id_adds_nothing(log()).await;
    an_entry_without_a_producer_id_is_never_a_repeat(log()).await;
    of_one_producer_id_appended_many_times_at_once_one_is_kept(log()).await;
    a_waiting_read_returns_the_first_entry_that_comes(log()).await;
    a_waiting_read_ends_empty_after_its_time(log()).await;
    a_dropped_wait_takes_nothing_with_it(log()).await;
    all_readers_see_entries_of_many_producers_in_one_order(log()).await;
    a_reader_of_another_epoch_is_lost(log()).await;
    a_place_that_the_log_never_gave_is_lost(log()).await;
    a_reader_whose_place_was_trimmed_by_number_is_lost(fresh).await;
    a_reader_whose_place_was_trimmed_by_age_is_lost(fresh).await;
}

async fn entries_come_back_unchanged_and_in_order(log: Log) {
    let start = log.position().await.unwrap();
    let entries: [&[u8]; 4] = [b"plain", b"", b"\x00\xff\r\n", "ü".as_bytes()];

    for entry in entries {
        log.append(entry, "").await.unwrap();
    }

    let batch = log.read(&start.epoch, start.last, 10, Duration::ZERO).await.unwrap();
    assert!(batch.entries.is_sorted_by(|one, next| one.offset < next.offset));
    assert_eq!(batch.entries.into_iter().map(|entry| entry.bytes).collect::<Vec<_>>(), entries);
    assert_eq!((batch.epoch, batch.lost), (start.epoch, false));
}

async fn a_read_returns_no_more_than_its_limit_and_says_where_to_read_on(log: Log) {
    let start = log.position().await.unwrap();
    let offsets = append(&log, 5).await;

    let first = log.read(&start.epoch, start.last, 3, Duration::ZERO).await.unwrap();
    let second = log.read(&start.epoch, first.resume, 3, Duration::ZERO).await.unwrap();

    assert_eq!((first.entries.len(), first.resume), (3, offsets[2]));
    assert_eq!((second.entries.len(), second.resume), (2, offsets[4]));
}

async fn the_end_of_the_log_is_a_place_to_read_from(log: Log) {
    let new = log.position().await.unwrap();
    let last = *append(&log, 3).await.last().unwrap();

    let end = log.position().await.unwrap();
    let batch = log.read(&end.epoch, end.last, 10, Duration::ZERO).await.unwrap();

    assert_eq!(new.last, Offset(0));
    assert_eq!(end, Position { epoch: new.epoch, last });
    assert_eq!((batch.entries.len(), batch.lost, batch.resume), (0, false, last));
}

async fn a_repeated_producer_id_adds_nothing(log: Log) {
    let start = log.position().await.unwrap();

    let first = log.append(b"first", "producer {1}").await.unwrap();
    let other = log.append(b"other", "producer {2}").await.unwrap();
    let again = log.append(b"again", "producer {1}").await.unwrap();

    assert_eq!((first.repeated, other.repeated, again.repeated), (false, false, true));
    assert_eq!(again.offset, first.offset);
    assert_eq!(contents(&log, &start).await, [&b"first"[..], b"other"]);
}

async fn an_entry_without_a_producer_id_is_never_a_repeat(log: Log) {
    let first = log.append(b"same", "").await.unwrap();
    let second = log.append(b"same", "").await.unwrap();

    assert!(second.offset > first.offset && !second.repeated);
}

async fn of_one_producer_id_appended_many_times_at_once_one_is_kept(log: Log) {
    let start = log.position().await.unwrap();
    let mut appends = JoinSet::new();
    for _ in 0..20 {
        let log = log.clone();
        appends.spawn(async move { log.append(b"once", "the only one").await.unwrap() });
    }

    let appended = appends.join_all().await;

    assert_eq!(appended.iter().filter(|appended| !appended.repeated).count(), 1);
    assert!(appended.iter().all(|other| other.offset == appended[0].offset));
    assert_eq!(contents(&log, &start).await.len(), 1);
}

async fn a_waiting_read_returns_the_first_entry_that_comes(log: Log) {
    let start = log.position().await.unwrap();

    let read = log.read(&start.epoch, start.last, 10, Duration::MAX);
    let (batch, appended) = tokio::join!(read, append_later(&log));

    assert_eq!(batch.unwrap().resume, appended);
}

async fn a_waiting_read_ends_empty_after_its_time(log: Log) {
    let start = log.position().await.unwrap();
    let wait = Duration::from_millis(50);

    let before = Instant::now();
    let batch = log.read(&start.epoch, start.last, 10, wait).await.unwrap();

    assert!(before.elapsed() >= wait);
    assert_eq!((batch.entries.len(), batch.lost, batch.resume), (0, false, start.last));
}

async fn a_dropped_wait_takes_nothing_with_it(log: Log) {
    let start = log.position().await.unwrap();

    let read = log.read(&start.epoch, start.last, 10, PATIENCE);
    assert!(tokio::time::timeout(Duration::from_millis(50), read).await.is_err());
    append(&log, 1).await;

    assert_eq!(contents(&log, &start).await.len(), 1);
}

async fn all_readers_see_entries_of_many_producers_in_one_order(log: Log) {
    let start = log.position().await.unwrap();
    let mut producers = JoinSet::new();
    for producer in 0..4 {
        let log = log.clone();
        producers.spawn(async move {
            for number in 0..50 {
                log.append(format!("{producer} {number}").as_bytes(), "").await.unwrap();
            }
        });
    }
    let reader = |limit: usize| {
        let (log, start) = (&log, &start);
        async move {
            let (mut place, mut seen) = (start.last, Vec::new());
            while seen.len() < 200 {
                let batch = log.read(&start.epoch, place, limit, PATIENCE).await.unwrap();
                assert!(!batch.lost && !batch.entries.is_empty());
                place = batch.resume;
                seen.extend(batch.entries);
            }
            seen
        }
    };

    let (one, other, _) = tokio::join!(reader(1), reader(7), producers.join_all());

    assert_eq!(one, other);
}

async fn a_reader_of_another_epoch_is_lost(log: Log) {
    let last = *append(&log, 3).await.last().unwrap();

    let batch = log.read("another", last, 10, PATIENCE).await.unwrap();

    assert_eq!((batch.lost, batch.entries.len(), batch.resume), (true, 0, last));
    assert_eq!(batch.epoch, log.position().await.unwrap().epoch);
}

async fn a_place_that_the_log_never_gave_is_lost(log: Log) {
    let start = log.position().await.unwrap();
    let last = append(&log, 3).await[2];

    for never in [Offset(last.0 + 1), Offset(u64::MAX)] {
        let batch = log.read(&start.epoch, never, 10, PATIENCE).await.unwrap();

        assert_eq!((batch.lost, batch.entries.len(), batch.resume), (true, 0, last), "{never:?}");
    }
}

async fn a_reader_whose_place_was_trimmed_by_number_is_lost(fresh: Fresh<'_>) {
    let max_entries = NonZeroUsize::new(100).unwrap();
    let log = LogLimits { max_entries, ..LogLimits::default() };
    let log = fresh(&Limits { log, ..Limits::default() }).log;
    let start = log.position().await.unwrap();
    let offsets = append(&log, 500).await;

    let far_behind = log.read(&start.epoch, offsets[0], 10, Duration::ZERO).await.unwrap();
    let near = log.read(&start.epoch, offsets[450], 100, Duration::ZERO).await.unwrap();

    assert_eq!((far_behind.lost, far_behind.resume), (true, offsets[499]));
    assert_eq!((near.lost, near.entries.len()), (false, 49));
}

async fn a_reader_whose_place_was_trimmed_by_age_is_lost(fresh: Fresh<'_>) {
    let max_age_secs = NonZeroU64::new(1).unwrap();
    let log = LogLimits { max_age_secs, ..LogLimits::default() };
    let log = fresh(&Limits { log, ..Limits::default() }).log;
    let start = log.position().await.unwrap();
    append(&log, 200).await;

    let resume = eventually(async || {
        append(&log, 1).await;
        let batch = log.read(&start.epoch, start.last, 10, Duration::ZERO).await.unwrap();
        batch.lost.then_some(batch.resume)
    })
    .await;

    assert_eq!(resume, log.position().await.unwrap().last);
}

async fn append(log: &Log, count: usize) -> Vec<Offset> {
    let mut offsets = Vec::new();
    for number in 0..count {
        offsets.push(log.append(format!("entry {number}").as_bytes(), "").await.unwrap().offset);
    }
    offsets
}

/// Long enough that a read has begun to wait; correct also when it has not.
async fn append_later(log: &Log) -> Offset {
    tokio::time::sleep(Duration::from_millis(50)).await;
    append(log, 1).await[0]
}

async fn contents(log: &Log, start: &Position) -> Vec<Vec<u8>> {
    let batch = log.read(&start.epoch, start.last, 1_000, Duration::ZERO).await.unwrap();
    batch.entries.into_iter().map(|entry| entry.bytes).collect()
}

//! What every log of replies does with whole replies: how long they live, and how many.

use std::{
    num::{NonZeroU64, NonZeroUsize},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use super::{
    Fresh, a_session, fresh_stores,
    reply_logs::{LONG, append, id, limited, numbers, opened},
};
use crate::{NodeId, ReplyId, ReplyLimits, ReplyLog, Stores, testing::eventually};

type Log = Arc<dyn ReplyLog>;

/// Long enough for a few requests, unless the machine is very busy.
const SHORT: Duration = Duration::from_secs(1);

pub async fn all(fresh: Fresh<'_>) {
    let log = || fresh_stores(fresh).replies;
    a_reply_that_never_was_is_none(log()).await;
    a_reply_that_nobody_uses_is_gone(log()).await;
    a_reply_that_is_appended_to_or_opened_again_lives_on(log()).await;
    a_reply_may_live_for_ever(log()).await;
    an_ended_reply_is_kept_for_its_time_and_then_gone(fresh).await;
    of_too_many_replies_the_ended_one_that_began_first_goes(fresh).await;
    of_too_many_running_replies_the_one_that_began_first_goes(fresh).await;
    the_replies_of_a_removed_session_are_gone(fresh_stores(fresh)).await;
}

async fn a_reply_that_never_was_is_none(log: Log) {
    let never = id("session", "never");

    assert_eq!(log.append(&never, b"event").await.unwrap(), None);
    log.close(&never).await.unwrap();
    assert_eq!(log.read(&never, 0, LONG).await.unwrap(), None);
}

async fn a_reply_that_nobody_uses_is_gone(log: Log) {
    let id = opened(&log, "stream").await;
    append(&log, &id, 3).await;
    log.open(&id, &node(), "[7]", Duration::from_millis(30)).await.unwrap();

    until_gone(&log, &id).await;

    assert_eq!(log.append(&id, b"late").await.unwrap(), None);
    log.open(&id, &node(), "[7]", LONG).await.unwrap();
    assert_eq!(log.append(&id, b"a new beginning").await.unwrap(), Some(1));
    assert_eq!(numbers(&log, &id, 0).await, [1]);
}

async fn a_reply_that_is_appended_to_or_opened_again_lives_on(log: Log) {
    let mut ttl = SHORT;
    while !outlive_one_that_is_left_alone(&log, ttl).await {
        ttl *= 2;
    }
}

/// Whether the machine was quick enough to use two replies before `ttl` was over, until a third one was gone.
async fn outlive_one_that_is_left_alone(log: &Log, ttl: Duration) -> bool {
    let [used, reopened, left_alone] = ["used", "reopened", "left alone"].map(|stream| id("session", stream));
    let mut last = Instant::now();
    for id in [&used, &reopened, &left_alone] {
        log.open(id, &node(), "[7]", ttl).await.unwrap();
    }

    eventually(async || {
        let now = Instant::now();
        let appended = log.append(&used, b"event").await.unwrap();
        log.open(&reopened, &node(), "[7]", ttl).await.unwrap();
        let [used, reopened, left_alone] = [
            log.read(&used, 0, Duration::ZERO).await.unwrap(),
            log.read(&reopened, 0, Duration::ZERO).await.unwrap(),
            log.read(&left_alone, 0, Duration::ZERO).await.unwrap(),
        ];
        if last.elapsed() >= ttl {
            return Some(false);
        }
        last = now;

        assert_eq!(used.unwrap().events.last().map(|(number, _)| *number), appended);
        assert!(appended.is_some() && reopened.is_some());
        left_alone.is_none().then_some(true)
    })
    .await
}

async fn a_reply_may_live_for_ever(log: Log) {
    let id = id("session", "eternal");

    log.open(&id, &node(), "[7]", Duration::MAX).await.unwrap();
    append(&log, &id, 1).await;

    assert_eq!(numbers(&log, &id, 0).await, [1]);
}

async fn an_ended_reply_is_kept_for_its_time_and_then_gone(fresh: Fresh<'_>) {
    let [long, short] = [600, 1].map(|secs| {
        limited(fresh, ReplyLimits { keep_secs: NonZeroU64::new(secs).unwrap(), ..ReplyLimits::default() })
    });
    for log in [&long, &short] {
        let id = opened(log, "stream").await;
        append(log, &id, 1).await;
        log.close(&id).await.unwrap();
    }

    assert_eq!(numbers(&long, &id("session", "stream"), 0).await, [1]);
    until_gone(&short, &id("session", "stream")).await;
}

async fn of_too_many_replies_the_ended_one_that_began_first_goes(fresh: Fresh<'_>) {
    let log = limited(fresh, ReplyLimits { max_replies: NonZeroUsize::new(3).unwrap(), ..ReplyLimits::default() });
    let [running, ended, ended_later] = ["running", "ended", "ended later"].map(|stream| id("session", stream));
    for id in [&running, &ended, &ended_later] {
        log.open(id, &node(), "[7]", LONG).await.unwrap();
        append(&log, id, 1).await;
    }
    log.close(&ended_later).await.unwrap();
    log.close(&ended).await.unwrap();

    opened(&log, "new").await;
    log.open(&id("another", "new"), &node(), "[7]", LONG).await.unwrap();

    assert_eq!(log.read(&ended, 0, Duration::ZERO).await.unwrap(), None);
    assert_eq!(numbers(&log, &running, 0).await, [1]);
    assert_eq!(numbers(&log, &ended_later, 0).await, [1]);
}

async fn of_too_many_running_replies_the_one_that_began_first_goes(fresh: Fresh<'_>) {
    let log = limited(fresh, ReplyLimits { max_replies: NonZeroUsize::new(2).unwrap(), ..ReplyLimits::default() });
    let [first, second, third] = ["z", "y", "x"].map(|stream| id("session", stream));

    for id in [&first, &second, &first, &third] {
        log.open(id, &node(), "[7]", LONG).await.unwrap();
    }

    assert_eq!(log.append(&first, b"event").await.unwrap(), None);
    assert_eq!(log.append(&second, b"event").await.unwrap(), Some(1));
    assert_eq!(log.append(&third, b"event").await.unwrap(), Some(1));
}

async fn the_replies_of_a_removed_session_are_gone(stores: Stores) {
    let log = &stores.replies;
    let session = a_session("session");
    stores.sessions.create(&session, LONG).await.unwrap();
    let [running, ended] = ["running", "ended"].map(|stream| id("session", stream));
    let other = id("another", "running");
    for id in [&running, &ended, &other] {
        log.open(id, &node(), "[7]", LONG).await.unwrap();
        append(log, id, 1).await;
    }
    log.close(&ended).await.unwrap();

    stores.sessions.remove(&session.id, b"ended").await.unwrap();

    for gone in [&running, &ended] {
        assert_eq!(log.read(gone, 0, LONG).await.unwrap(), None);
        assert_eq!(log.append(gone, b"late").await.unwrap(), None);
    }
    assert_eq!(numbers(log, &other, 0).await, [1]);
}

async fn until_gone(log: &Log, id: &ReplyId) {
    eventually(async || log.read(id, 0, Duration::ZERO).await.unwrap().is_none().then_some(())).await;
}

fn node() -> NodeId {
    NodeId("node".into())
}

//! Facts on their way through the events service.
#![allow(clippy::unwrap_used)]

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream::BoxStream};
use switchyard_events::{EventService, EventsOptions};
use switchyard_proto::v1::{
    Event, Fact, Position, PublishRequest, ResourceUpdated, SubscribeReply, SubscribeRequest, events_server::Events,
    fact::Kind, subscribe_reply::Reply,
};
use switchyard_state::{Appended, Batch, EventLog, Limits, LogLimits, Offset, StoreError, memory};
use switchyard_telemetry::Metrics;
use tokio::time::{Instant, sleep, timeout};
use tonic::{Request, Status};

/// A log of this process that can be away, and says how it is read.
struct Log {
    log: Arc<dyn EventLog>,
    away: AtomicBool,
    waiting: AtomicUsize,
    most_waiting: AtomicUsize,
}

impl Log {
    fn keeping(max_entries: usize) -> Arc<Self> {
        let log = LogLimits { max_entries: NonZeroUsize::new(max_entries).unwrap(), ..LogLimits::default() };
        Arc::new(Self {
            log: memory::stores_within(&Limits { log, ..Limits::default() }).log,
            away: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            most_waiting: AtomicUsize::new(0),
        })
    }

    fn reachable(&self) -> Result<(), StoreError> {
        if self.away.load(Ordering::SeqCst) { Err(StoreError::Away("unplugged".into())) } else { Ok(()) }
    }
}

#[async_trait::async_trait]
impl EventLog for Log {
    async fn append(&self, bytes: &[u8], producer_id: &str) -> Result<Appended, StoreError> {
        self.reachable()?;
        self.log.append(bytes, producer_id).await
    }

    async fn position(&self) -> Result<switchyard_state::Position, StoreError> {
        self.reachable()?;
        self.log.position().await
    }

    async fn read(&self, epoch: &str, after: Offset, limit: usize, wait: Duration) -> Result<Batch, StoreError> {
        self.reachable()?;
        let waits = usize::from(!wait.is_zero());
        let waiting = self.waiting.fetch_add(waits, Ordering::SeqCst) + waits;
        self.most_waiting.fetch_max(waiting, Ordering::SeqCst);
        let batch = self.log.read(epoch, after, limit, wait).await;
        self.waiting.fetch_sub(waits, Ordering::SeqCst);
        self.reachable()?;
        batch
    }
}

fn updated(uri: &str) -> Fact {
    let kind = Kind::ResourceUpdated(ResourceUpdated { uri: uri.to_owned() });
    Fact { kind: Some(kind), ..Fact::default() }
}

async fn publish(service: &EventService, facts: Vec<Fact>) -> u64 {
    service.publish(Request::new(PublishRequest { facts })).await.unwrap().into_inner().offset
}

async fn publish_each(service: &EventService, names: impl IntoIterator<Item = usize>) {
    for name in names {
        publish(service, vec![updated(&name.to_string())]).await;
    }
}

fn names(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| number.to_string()).collect()
}

/// How long anything may take before a test fails, on a machine that is busy with other things too.
const PATIENCE: Duration = Duration::from_secs(60);

async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// A subscriber that says what it hears next.
struct Reader(BoxStream<'static, Result<SubscribeReply, Status>>);

impl Reader {
    async fn at(service: &EventService, epoch: &str, after: u64) -> Self {
        let request = SubscribeRequest { after, epoch: epoch.to_owned() };
        Self(service.subscribe(Request::new(request)).await.unwrap().into_inner())
    }

    async fn at_the_end(service: &EventService) -> (Self, Position) {
        let mut reader = Self::at(service, "", 0).await;
        let position = reader.position().await;
        (reader, position)
    }

    async fn next(&mut self) -> Reply {
        let reply = timeout(PATIENCE, self.0.next()).await.expect("nothing came");
        reply.unwrap().unwrap().reply.unwrap()
    }

    async fn position(&mut self) -> Position {
        match self.next().await {
            Reply::Position(position) => position,
            other => panic!("{other:?} is no position"),
        }
    }

    async fn event(&mut self) -> Event {
        match self.next().await {
            Reply::Event(event) => event,
            other => panic!("{other:?} is no event"),
        }
    }

    async fn uri(&mut self) -> String {
        match self.event().await.fact.unwrap().kind.unwrap() {
            Kind::ResourceUpdated(updated) => updated.uri,
            other => panic!("{other:?} is no update"),
        }
    }

    async fn uris(&mut self, count: usize) -> Vec<String> {
        let mut uris = Vec::new();
        for _ in 0..count {
            uris.push(self.uri().await);
        }
        uris
    }
}

#[tokio::test]
async fn a_fact_reaches_every_subscriber_in_order_with_its_offset() {
    let service = EventService::new(Log::keeping(100));
    publish(&service, vec![updated("before")]).await;
    let (mut one, start) = Reader::at_the_end(&service).await;
    let (mut other, _) = Reader::at_the_end(&service).await;

    let last = publish(&service, vec![updated("first"), updated("second")]).await;

    assert!(!start.lost);
    for reader in [&mut one, &mut other] {
        assert_eq!(reader.uri().await, "first");
        let second = reader.event().await;
        assert_eq!(second.offset, last);
        assert_eq!(second.fact.unwrap(), updated("second"));
    }
}

#[tokio::test]
async fn a_reader_goes_on_after_the_offset_it_saw() {
    let service = EventService::new(Log::keeping(100));
    let (mut reader, start) = Reader::at_the_end(&service).await;
    publish_each(&service, 0..5).await;
    reader.uri().await;
    let seen = reader.event().await.offset;
    drop(reader);

    let mut again = Reader::at(&service, &start.epoch, seen).await;

    assert_eq!(again.position().await, Position { epoch: start.epoch, offset: seen, lost: false });
    assert_eq!(again.uris(3).await, names(2..5));
}

#[tokio::test]
async fn a_reader_of_another_epoch_is_told_that_it_lost_its_place() {
    let service = EventService::new(Log::keeping(100));
    let end = publish(&service, vec![updated("missed")]).await;

    let mut reader = Reader::at(&service, "another life", 7).await;
    let position = reader.position().await;
    publish(&service, vec![updated("next")]).await;

    assert!(position.lost);
    assert_eq!(position.offset, end);
    assert_eq!(reader.uri().await, "next");
}

#[tokio::test]
async fn a_reader_with_an_offset_that_never_was_is_told_so() {
    let service = EventService::new(Log::keeping(100));
    let (_running, start) = Reader::at_the_end(&service).await;

    let mut reader = Reader::at(&service, &start.epoch, u64::MAX).await;

    assert!(reader.position().await.lost);
}

#[tokio::test]
async fn a_reader_that_fell_behind_the_tail_gets_everything_once() {
    let service = EventService::with_options(Log::keeping(10_000), EventsOptions { kept_entries: 4 });
    let (mut slow, _) = Reader::at_the_end(&service).await;
    let (mut quick, _) = Reader::at_the_end(&service).await;

    publish_each(&service, 0..500).await;
    let quick = quick.uris(500).await;
    let mut slow_uris = slow.uris(100).await;
    publish_each(&service, 500..600).await;
    slow_uris.extend(slow.uris(500).await);

    assert_eq!(quick, names(0..500));
    assert_eq!(slow_uris, names(0..600));
}

#[tokio::test]
async fn a_reader_whose_place_was_trimmed_is_told_and_goes_on_at_the_end() {
    let service = EventService::with_options(Log::keeping(4), EventsOptions { kept_entries: 2 });
    let (mut slow, start) = Reader::at_the_end(&service).await;
    let (mut quick, _) = Reader::at_the_end(&service).await;
    publish_each(&service, 0..3).await;
    quick.uris(3).await;
    publish_each(&service, 3..9).await;

    let told = slow.position().await;
    publish(&service, vec![updated("after")]).await;

    assert!(told.lost);
    assert_eq!(told.epoch, start.epoch);
    assert_eq!(slow.uri().await, "after");
}

#[tokio::test]
async fn an_entry_that_is_no_fact_is_skipped_and_counted() {
    let log = Log::keeping(100);
    let service = EventService::new(log.clone());
    let metrics = Metrics::new();
    service.register(&metrics);
    let (mut reader, _) = Reader::at_the_end(&service).await;

    log.append(b"\xff\xff\xff", "").await.unwrap();
    publish(&service, vec![updated("good")]).await;

    assert_eq!(reader.uri().await, "good");
    assert!(metrics.encode().contains("switchyard_events_skipped_total 1"), "{}", metrics.encode());
}

#[tokio::test]
async fn all_subscribers_share_one_wait_for_the_log() {
    let log = Log::keeping(100);
    let service = EventService::new(log.clone());
    let mut readers = Vec::new();
    for _ in 0..50 {
        readers.push(Reader::at_the_end(&service).await.0);
    }
    until("somebody waits for the log", || log.waiting.load(Ordering::SeqCst) > 0).await;

    publish(&service, vec![updated("news")]).await;

    for reader in &mut readers {
        assert_eq!(reader.uri().await, "news");
    }
    assert_eq!(log.most_waiting.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn streams_stay_open_while_the_store_is_away_and_go_on_when_it_is_back() {
    let log = Log::keeping(100);
    let service = EventService::new(log.clone());
    let (mut old, _) = Reader::at_the_end(&service).await;

    log.away.store(true, Ordering::SeqCst);
    let mut young = Reader::at(&service, "", 0).await;
    let refused = service.publish(Request::new(PublishRequest { facts: vec![updated("lost")] })).await.unwrap_err();
    let silent = timeout(Duration::from_millis(300), old.0.next()).await.is_err()
        && timeout(Duration::from_millis(300), young.0.next()).await.is_err();
    log.away.store(false, Ordering::SeqCst);
    let placed = young.position().await;
    publish(&service, vec![updated("back")]).await;

    assert_eq!(refused.code(), tonic::Code::Unavailable);
    assert!(silent && !placed.lost);
    assert_eq!(old.uri().await, "back");
    assert_eq!(young.uri().await, "back");
}

#[tokio::test]
async fn a_repeated_fact_is_told_once() {
    let service = EventService::new(Log::keeping(100));
    let (mut reader, _) = Reader::at_the_end(&service).await;
    let fact = Fact { producer_id: "list:tools:3".into(), ..updated("listed") };

    let first = publish(&service, vec![fact.clone()]).await;
    let repeated = publish(&service, vec![fact]).await;
    publish(&service, vec![updated("next")]).await;

    assert_eq!(first, repeated);
    assert_eq!(reader.uris(2).await, ["listed", "next"]);
}

#[tokio::test]
async fn the_log_is_let_go_with_the_service_and_its_last_subscriber() {
    let log = Log::keeping(100);
    let service = EventService::new(log.clone());
    let (reader, _) = Reader::at_the_end(&service).await;

    drop(service);
    drop(reader);

    until("nobody reads the log", || Arc::strong_count(&log) == 1).await;
}

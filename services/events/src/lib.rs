//! Keeps the event log and feeds every gateway from it.
//!
//! One task reads the log for the whole process and keeps the newest entries; a subscriber takes them from there at
//! its own pace. One that falls further behind reads the log itself, delays nobody, and is told when it lost something.
//! While the store is away streams stay open and go on by themselves.

mod options;
mod pause;
mod publish;
mod subscriber;
mod tail;

use std::sync::{Arc, OnceLock};

use futures_util::stream::BoxStream;
use switchyard_proto::v1::{PublishReply, PublishRequest, SubscribeReply, SubscribeRequest, events_server::Events};
use switchyard_state::EventLog;
use switchyard_telemetry::{Metrics, metrics::Counter};
use tonic::{Request, Response, Status};

pub use options::EventsOptions;

use subscriber::Subscriber;
use tail::Tail;

/// The events service.
pub struct EventService {
    log: Arc<dyn EventLog>,
    options: EventsOptions,
    /// Begins with the first subscriber and ends with the service and the last one.
    tail: OnceLock<Arc<Tail>>,
    /// Entries that are no facts, so far.
    skipped: Counter,
}

impl EventService {
    /// The service over a log, with default options.
    pub fn new(log: Arc<dyn EventLog>) -> Self {
        Self::with_options(log, EventsOptions::default())
    }

    /// The service over a log.
    pub fn with_options(log: Arc<dyn EventLog>, options: EventsOptions) -> Self {
        Self { log, options, tail: OnceLock::new(), skipped: Counter::default() }
    }

    /// Has what this service counts shown among `metrics`.
    pub fn register(&self, metrics: &Metrics) {
        metrics.register("events_skipped", "Entries of the event log that could not be read", self.skipped.clone());
    }

    fn tail(&self) -> Arc<Tail> {
        let start = || Tail::start(self.log.clone(), self.options.kept_entries, self.skipped.clone());
        self.tail.get_or_init(start).clone()
    }
}

#[tonic::async_trait]
impl Events for EventService {
    async fn publish(&self, request: Request<PublishRequest>) -> Result<Response<PublishReply>, Status> {
        let offset = publish::append(&*self.log, request.into_inner().facts).await?;
        Ok(Response::new(PublishReply { offset: offset.0 }))
    }

    type SubscribeStream = BoxStream<'static, Result<SubscribeReply, Status>>;

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Result<Response<Self::SubscribeStream>, Status> {
        Ok(Response::new(Subscriber::new(self.tail(), request.into_inner()).replies()))
    }
}

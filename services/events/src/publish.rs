//! Facts on their way into the log, with their trace.

use prost::Message;
use switchyard_proto::v1::Fact;
use switchyard_state::{EventLog, Offset, StoreError};
use switchyard_telemetry::trace::{self, SpanKind, TraceContext};
use tonic::Status;
use tracing::Instrument;

/// Appends facts in their order and returns the offset of the last one. When that fails half way, the first ones are in
/// the log; whoever publishes them again adds only the rest, because facts carry their producer's id.
pub(crate) async fn append(log: &dyn EventLog, mut facts: Vec<Fact>) -> Result<Offset, Status> {
    let cause = facts.first().map(|fact| fact.traceparent.clone()).unwrap_or_default();
    let parent = TraceContext { traceparent: cause.clone(), tracestate: String::new() };
    let span = trace::span("events.publish", SpanKind::Producer, &parent, &[("messaging.operation.name", "publish")]);
    let own = trace::context_of(&span).traceparent;
    if !own.is_empty() {
        // A fact of another trace keeps its own.
        for fact in facts.iter_mut().filter(|fact| fact.traceparent.is_empty() || fact.traceparent == cause) {
            fact.traceparent.clone_from(&own);
        }
    }

    let appended = append_all(log, &facts).instrument(span.clone()).await;
    appended.map_err(|error| {
        trace::fail(&span, error.to_string());
        status_of(error)
    })
}

async fn append_all(log: &dyn EventLog, facts: &[Fact]) -> Result<Offset, StoreError> {
    let mut last = None;
    for fact in facts {
        last = Some(log.append(&fact.encode_to_vec(), &fact.producer_id).await?.offset);
    }
    match last {
        Some(offset) => Ok(offset),
        None => Ok(log.position().await?.last),
    }
}

/// `UNAVAILABLE` does not say that nothing was appended.
fn status_of(error: StoreError) -> Status {
    match error {
        StoreError::Away(_) => Status::unavailable("the event log is away"),
        error => {
            tracing::error!(error = &error as &dyn std::error::Error, "the event log cannot be read");
            Status::internal("the event log cannot be read")
        }
    }
}

//! A cluster of separate processes around a real Redis: no client notices which node answers, or that one is gone.

#![allow(clippy::unwrap_used)]

mod cancelling;
mod facts;
mod joining;
mod losses;
mod membership;
mod redis_away;
mod resuming;
mod services;
mod sessions;
mod traces;

use serde_json::{Value, json};
use switchyard_tests::{Backend, Cluster, Collector, EventStream, Shape};

/// The parameters of a call that lasts until the backend answers.
fn held_by(backend: &Backend) -> Value {
    json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}})
}

/// The URI of the next update of a standing stream; other notifications are passed over.
async fn next_update(stream: &mut EventStream) -> String {
    loop {
        let message = stream.message().await;
        if message["method"] == "notifications/resources/updated" {
            return message["params"]["uri"].as_str().expect("an update names a resource").to_owned();
        }
    }
}

/// A cluster whose traces go to a collector of its own.
async fn traced(shape: Shape) -> (Cluster, Collector) {
    let collector = Collector::start().await;
    let url = collector.url();
    // Spans leave at once, so that a test need not wait for a batch to fill.
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("OTEL_BSP_SCHEDULE_DELAY", "100")];
    (Cluster::start_with(shape, &environment).await, collector)
}

//! Requests and changes in traces.

use std::sync::{Arc, Mutex};

use opentelemetry::trace::{SpanKind, Status, TracerProvider};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt;

use super::{Folder, LogState, requests::read, serve};

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Keeps the spans that ended on this thread, which is where a test runs.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, spans: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(spans);
        Ok(())
    }
}

impl Kept {
    fn new() -> (Self, DefaultGuard) {
        // A place in the code that a thread without a subscriber comes to first would stay silent for all of them.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
        let kept = Self::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        (kept, tracing::subscriber::set_default(tracing_subscriber::registry().with(layer)))
    }

    fn named(&self, name: &str) -> Vec<SpanData> {
        self.0.lock().unwrap().iter().filter(|span| span.name == name).cloned().collect()
    }
}

fn attribute(span: &SpanData, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key)?;
    Some(found.value.as_str().into_owned())
}

#[tokio::test]
async fn a_request_continues_the_trace_of_whoever_asked() {
    let (kept, _guard) = Kept::new();
    let folder = Folder::with(&[("a.txt", "")]);
    let (service, _) = serve(&folder).await;

    read(&service, &folder.uri("a.txt"), TRACEPARENT).await.unwrap();
    read(&service, &folder.uri("none"), TRACEPARENT).await.unwrap_err();

    let spans = kept.named("resources/read");
    assert_eq!(spans.len(), 2);
    for span in &spans {
        assert_eq!(span.span_context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span.parent_span_id.to_string(), "b7ad6b7169203331");
        assert_eq!(span.span_kind, SpanKind::Server);
        assert_eq!(attribute(span, "rpc.method").unwrap(), "Read");
    }
    assert_eq!(attribute(&spans[0], "mcp.resource.uri"), Some(folder.uri("a.txt")));
    assert!(matches!(spans[1].status, Status::Error { .. }));
    assert_eq!(attribute(&spans[1], "rpc.grpc.status_code").unwrap(), "5");
}

#[tokio::test]
async fn a_change_begins_a_trace_that_its_facts_carry() {
    let (kept, _guard) = Kept::new();
    let folder = Folder::with(&[]);
    let (_service, log) = serve(&folder).await;

    folder.write("a.txt", "");
    log.until_updated(&[folder.uri("a.txt")]).await;
    log.set(LogState::Away);
    folder.write("b.txt", "");
    log.attempts(2).await;
    log.set(LogState::There);
    log.until_updated(&[folder.uri("b.txt")]).await;
    folder.write("c.txt", "");
    log.until_updated(&[folder.uri("c.txt")]).await;

    let spans = kept.named("resources.changed");
    assert!(spans.len() >= 2, "one for each batch, however often it was tried, once the next one is under way");
    for (span, facts) in spans.iter().zip(log.facts().chunks(2)) {
        let context = &span.span_context;
        let traceparent = format!("00-{}-{}-01", context.trace_id(), context.span_id());
        assert_eq!(span.span_kind, SpanKind::Producer);
        assert_eq!(attribute(span, "switchyard.provider").unwrap(), "data");
        assert!(facts.iter().all(|fact| fact.traceparent == traceparent));
    }
}

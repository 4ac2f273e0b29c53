//! A call in traces.

use std::{
    mem,
    sync::{Arc, Mutex},
};

use opentelemetry::trace::{SpanKind, Status, TracerProvider};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use serde_json::json;
use switchyard_proto::v1::{CallToolRequest, Context, tools_server::Tools};
use switchyard_tools::{Backends, ToolOptions};
use tonic::Request;
use tracing::instrument::WithSubscriber;
use tracing_subscriber::layer::SubscriberExt;

use crate::caller::{offering, read, request, with};

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Keeps the spans that ended.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, spans: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(spans);
        Ok(())
    }
}

/// The spans of what `work` does, the outermost first.
async fn traced(work: impl Future<Output = ()>) -> Vec<SpanData> {
    // A place in the code that a thread without a subscriber comes to first would stay silent for all of them.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
    let kept = Kept::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    work.with_subscriber(tracing_subscriber::registry().with(layer)).await;
    let mut spans = mem::take(&mut *kept.0.lock().unwrap());
    spans.reverse();
    spans
}

fn traced_request(tool: &str, arguments: serde_json::Value) -> Request<CallToolRequest> {
    let context = Some(Context { traceparent: TRACEPARENT.to_owned(), ..Default::default() });
    Request::new(CallToolRequest { context, ..request(tool, arguments) })
}

fn attribute(span: &SpanData, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key)?;
    Some(found.value.as_str().into_owned())
}

#[tokio::test]
async fn a_call_continues_the_callers_trace_and_the_run_is_within_it() {
    let service = offering(ToolOptions::named("echo"));

    let spans = traced(async {
        let events = service.call(traced_request("echo", json!({"message": "a secret"}))).await.unwrap();
        read(events.into_inner()).await;
    })
    .await;

    let [call, run] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!(call.span_context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(call.parent_span_id.to_string(), "b7ad6b7169203331");
    assert_eq!((call.name.as_ref(), &call.span_kind), ("tools/call echo", &SpanKind::Server));
    for (key, value) in [
        ("rpc.system", "grpc"),
        ("rpc.service", "switchyard.v1.Tools"),
        ("rpc.method", "Call"),
        ("mcp.method.name", "tools/call"),
        ("gen_ai.tool.name", "echo"),
    ] {
        assert_eq!(attribute(call, key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(run.span_context.trace_id(), call.span_context.trace_id());
    assert_eq!(run.parent_span_id, call.span_context.span_id());
    assert_eq!((run.name.as_ref(), &run.span_kind), ("execute_tool echo", &SpanKind::Internal));
    assert_eq!(attribute(run, "gen_ai.operation.name").as_deref(), Some("execute_tool"));
    assert!(!format!("{spans:?}").contains("a secret"));
}

#[tokio::test]
async fn a_failure_shows_in_both_spans_and_a_refusal_in_the_call() {
    let service = with(&[], &Backends::default());

    let failed = traced(async {
        let events = service.call(traced_request("checkDiskSpace", json!({"path": "/no/such/place"}))).await.unwrap();
        read(events.into_inner()).await;
    })
    .await;
    let refused = traced(async {
        service.call(traced_request("checkDiskSpace", json!({}))).await.err().unwrap();
        service.call(traced_request("a name that could be anything", json!({}))).await.err().unwrap();
    })
    .await;

    assert_eq!(failed.len(), 2);
    for span in &failed {
        assert_eq!(attribute(span, "error.type").as_deref(), Some("tool_error"));
        assert!(matches!(span.status, Status::Error { .. }), "{span:?}");
    }
    let [unknown, invalid] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!(attribute(invalid, "rpc.grpc.status_code").as_deref(), Some("3"));
    assert_eq!(attribute(unknown, "rpc.grpc.status_code").as_deref(), Some("5"));
    assert_eq!(unknown.name, "tools/call");
}

#[tokio::test]
async fn a_cancelled_run_shows_as_cancelled() {
    let service = with(&[], &Backends::default());

    let spans = traced(async {
        drop(service.call(traced_request("checkDiskSpace", json!({"path": "/"}))).await.unwrap());
    })
    .await;

    assert_eq!(spans.len(), 2);
    assert!(spans.iter().all(|span| attribute(span, "error.type").as_deref() == Some("cancelled")), "{spans:?}");
}

//! Spans leave over OTLP/gRPC, as a collector sees them.
#![allow(clippy::unwrap_used)]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::{KeyValue, any_value::Value},
    trace::v1::Span,
};
use switchyard_telemetry::{
    TelemetryOptions,
    trace::{SpanKind, TraceContext, context_of, fail, span},
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().unwrap().push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    fn spans(&self) -> Vec<Span> {
        let requests = self.0.lock().unwrap();
        let resources = requests.iter().flat_map(|request| &request.resource_spans);
        resources.flat_map(|resource| &resource.scope_spans).flat_map(|scope| scope.spans.clone()).collect()
    }

    fn span(&self, name: &str) -> Span {
        self.spans().into_iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span `{name}`"))
    }

    fn resource(&self) -> Vec<KeyValue> {
        self.0.lock().unwrap()[0].resource_spans[0].resource.clone().unwrap().attributes
    }
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let value = attributes.iter().find(|attribute| attribute.key == key).and_then(|found| found.value.clone());
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        other => panic!("`{key}` is {other:?}"),
    }
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_goes_on_across_hops_and_only_its_own_spans_leave() {
    let collector = Collector::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::builder().add_service(TraceServiceServer::new(collector.clone()));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let options = TelemetryOptions { otlp_endpoint: Some(endpoint), ..TelemetryOptions::default() };
    let guard = switchyard_telemetry::init(&options, &[("service.instance.id", "node-1".into())]).unwrap();

    let client = TraceContext {
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
        tracestate: "vendor=1".into(),
    };
    let request = span("tools/call echo", SpanKind::Server, &client, &[("mcp.method.name", "tools/call")]);
    let hop = request.in_scope(|| span("bus tools/call", SpanKind::Client, &TraceContext::default(), &[]));
    let sent = context_of(&hop);
    let service = span("tool echo", SpanKind::Server, &sent, &[]);
    fail(&service, "it broke");
    request.in_scope(|| tracing::info!("an ordinary event"));
    drop(tracing::info_span!("an ordinary span"));
    let unsampled = TraceContext {
        traceparent: "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00".into(),
        ..TraceContext::default()
    };
    let silent = span("unsampled", SpanKind::Server, &unsampled, &[]);
    let silent_context = context_of(&silent);
    drop((silent, service, hop, request));
    tokio::task::spawn_blocking(|| guard.shutdown(Duration::from_secs(60))).await.unwrap();

    let (request, hop, service) =
        (collector.span("tools/call echo"), collector.span("bus tools/call"), collector.span("tool echo"));
    assert_eq!(hex(&request.parent_span_id), "b7ad6b7169203331");
    assert_eq!(request.trace_state, "vendor=1");
    assert_eq!(text(&request.attributes, "mcp.method.name"), "tools/call");
    assert!(request.events.is_empty());
    assert_eq!(hop.parent_span_id, request.span_id);
    assert_eq!(sent.traceparent, format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", hex(&hop.span_id)));
    assert_eq!(sent.tracestate, "vendor=1");
    assert_eq!(service.parent_span_id, hop.span_id);
    assert_eq!(service.status.unwrap().message, "it broke");
    for span in [&request, &hop] {
        assert_eq!(hex(&span.trace_id), "0af7651916cd43dd8448eb211c80319c");
    }
    assert!(silent_context.traceparent.starts_with("00-1af7651916cd43dd8448eb211c80319c-"));
    assert!(silent_context.traceparent.ends_with("-00"));
    assert_eq!(collector.spans().len(), 3, "{:?}", collector.spans());
    assert_eq!(text(&collector.resource(), "service.name"), "switchyard");
    assert_eq!(text(&collector.resource(), "service.instance.id"), "node-1");
}

//! The trace of a call goes on through the bus.
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::StreamExt;
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::any_value::Value,
    trace::v1::{Span, span::SpanKind as Kind, status::StatusCode},
};
use support::{Gateway, Node, Stub, call, within};
use switchyard_bus::{BusOptions, Local};
use switchyard_proto::v1::Context;
use switchyard_state::NodeId;
use switchyard_telemetry::{
    TelemetryOptions,
    trace::{SpanKind, TraceContext, span},
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};
use tracing::Instrument;

#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans.into_iter();
        let spans = resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans);
        self.0.lock().unwrap().extend(spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn traceparent(span: &Span) -> String {
    format!("00-{}-{}-01", hex(&span.trace_id), hex(&span.span_id))
}

fn attribute(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.clone()).and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("`{key}` is {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_a_span_below_its_cause_and_above_its_service_here_and_elsewhere() {
    let collector = Collector::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::builder().add_service(TraceServiceServer::new(collector.clone()));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let options = TelemetryOptions { otlp_endpoint: Some(endpoint), ..TelemetryOptions::default() };
    let guard = switchyard_telemetry::init(&options, &[]).unwrap();
    let node = Node::start("remote").await;
    let stub = Stub::named("local");
    let mut here =
        Gateway::with(&[], Local { tools: Some(stub.clone()), ..Local::default() }, BusOptions::default()).await;
    here.nodes = vec![NodeId("gateway".into())];
    let there = Gateway::knowing(&[&node]).await;

    let mut named = call("echo");
    named.context = Some(Context {
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
        tracestate: "vendor=1".into(),
        ..Context::default()
    });
    for gateway in [&here, &there] {
        let mut events = gateway.bus.tools.call(&gateway.nodes, named.clone()).await.unwrap();
        while let Some(event) = events.next().await {
            event.unwrap();
        }
        // Its end is the span's end, although nothing is called at that time.
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(events);
    }
    let request = span("request", SpanKind::Server, &TraceContext::default(), &[]);
    let failed = there.call("unavailable").instrument(request.clone()).await;
    let hanging = there.call("hang").instrument(request.clone()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop((hanging, request));
    assert!(failed.is_err());
    within("the traces to leave", tokio::task::spawn_blocking(|| guard.shutdown(support::PATIENCE))).await.unwrap();

    let spans = collector.0.lock().unwrap().clone();
    let calls: Vec<&Span> = spans.iter().filter(|span| span.name == "bus tools/call").collect();
    let request = spans.iter().find(|span| span.name == "request").unwrap();
    assert_eq!(calls.len(), 4);
    let seen = [stub.traces.lock().unwrap().clone(), node.stub.traces.lock().unwrap().clone()].concat();
    for span in &calls {
        assert!(seen.contains(&traceparent(span)), "the service was told {seen:?}");
        assert_eq!(span.kind, Kind::Client as i32);
        assert_eq!(attribute(span, "rpc.system"), "grpc");
        assert_eq!(attribute(span, "rpc.service"), "switchyard.v1.Tools");
        assert_eq!(attribute(span, "rpc.method"), "Call");
    }
    let (below_named, below_request): (Vec<&Span>, Vec<&Span>) =
        calls.into_iter().partition(|span| hex(&span.parent_span_id) == "b7ad6b7169203331");
    assert_eq!(below_named.len(), 2);
    let mut nodes: Vec<String> = below_named.iter().map(|span| attribute(span, "switchyard.node")).collect();
    nodes.sort();
    assert_eq!(nodes, ["gateway", "remote"]);
    assert!(below_named.iter().all(|span| span.trace_state == "vendor=1"));
    assert!(below_request.iter().all(|span| span.parent_span_id == request.span_id));
    let has_failed = |span: &&&Span| span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error);
    let failed = below_request.iter().find(has_failed).unwrap();
    assert_eq!(attribute(failed, "rpc.grpc.status_code"), "14");
    let hanging = below_request.iter().find(|span| !has_failed(span)).unwrap();
    assert!(hanging.end_time_unix_nano - hanging.start_time_unix_nano >= 50_000_000, "it ends with its call");
}

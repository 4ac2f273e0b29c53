//! A fact carries its trace into the log.
#![allow(clippy::unwrap_used)]

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
    trace::v1::Span,
};
use switchyard_events::EventService;
use switchyard_proto::v1::{
    Fact, PublishRequest, ResourceUpdated, SubscribeRequest, events_server::Events, fact::Kind, subscribe_reply::Reply,
};
use switchyard_state::memory;
use switchyard_telemetry::TelemetryOptions;
use tokio::{net::TcpListener, time::timeout};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

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

#[tokio::test(flavor = "multi_thread")]
async fn publishing_continues_the_trace_of_its_cause_and_the_fact_continues_publishing() {
    let collector = Collector::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::builder().add_service(TraceServiceServer::new(collector.clone()));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let options = TelemetryOptions { otlp_endpoint: Some(endpoint), ..TelemetryOptions::default() };
    let guard = switchyard_telemetry::init(&options, &[]).unwrap();
    let service = EventService::new(memory::stores().log);
    let mut replies = service.subscribe(Request::new(SubscribeRequest::default())).await.unwrap().into_inner();
    replies.next().await.unwrap().unwrap();

    let fact = |traceparent: &str| Fact {
        producer_id: String::new(),
        traceparent: traceparent.to_owned(),
        kind: Some(Kind::ResourceUpdated(ResourceUpdated { uri: "file:///plan.md".into() })),
    };
    let stranger = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let facts = vec![fact("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), fact(""), fact(stranger)];
    service.publish(Request::new(PublishRequest { facts })).await.unwrap();
    let mut told = Vec::new();
    while told.len() < 3 {
        let reply = timeout(PATIENCE, replies.next()).await.unwrap().unwrap().unwrap();
        if let Some(Reply::Event(event)) = reply.reply {
            told.push(event.fact.unwrap().traceparent);
        }
    }
    tokio::task::spawn_blocking(|| guard.shutdown(PATIENCE)).await.unwrap();

    let spans = collector.0.lock().unwrap().clone();
    let publish = spans.iter().find(|span| span.name == "events.publish").unwrap();
    assert_eq!(hex(&publish.parent_span_id), "b7ad6b7169203331");
    let own = format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", hex(&publish.span_id));
    assert_eq!(told, [own.clone(), own, stranger.to_owned()]);
}

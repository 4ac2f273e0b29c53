//! A collector of traces: an OTLP receiver that keeps what it is sent.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::{AnyValue, KeyValue, any_value},
    trace::v1 as otlp,
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use crate::eventually;

/// One finished span.
#[derive(Clone, Debug)]
pub struct Span {
    /// Its trace, in hexadecimal digits.
    pub trace: String,
    /// Itself, in hexadecimal digits.
    pub id: String,
    /// The span that caused it; empty for a root.
    pub parent: String,
    /// Its name.
    pub name: String,
    /// Its kind: internal, server, client, producer or consumer.
    pub kind: otlp::span::SpanKind,
    /// What it says of itself.
    pub attributes: BTreeMap<String, String>,
    /// What its process says of itself.
    pub resource: BTreeMap<String, String>,
}

impl Span {
    /// An attribute.
    ///
    /// # Panics
    /// When the span has none of that name.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).unwrap_or_else(|| panic!("no attribute `{name}`: {self:#?}"))
    }

    /// The process that it is of.
    ///
    /// # Panics
    /// When the process did not say.
    pub fn node(&self) -> &str {
        self.resource.get("service.instance.id").unwrap_or_else(|| panic!("no node: {self:#?}"))
    }
}

/// A receiver that runs until it is dropped.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<Span>>>,
    task: JoinHandle<()>,
}

impl Collector {
    /// Starts one.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let spans = Arc::new(Mutex::new(Vec::new()));
        let service = TraceServiceServer::new(Receiver { spans: spans.clone() });
        // Ends with the collector, which aborts it.
        let task = tokio::spawn(async move {
            let server = tonic::transport::Server::builder().add_service(service);
            server.serve_with_incoming(TcpListenerStream::new(listener)).await.expect("the receiver serves");
        });
        Self { address, spans, task }
    }

    /// What `OTEL_EXPORTER_OTLP_ENDPOINT` must say.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every span that has come so far.
    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().expect("nothing panics while holding it").clone()
    }

    /// The first span that `fits`, once it has come.
    ///
    /// # Panics
    /// When none comes; the message shows those that did.
    pub async fn span(&self, what: &str, fits: impl Fn(&Span) -> bool) -> Span {
        let found = tokio::time::timeout(crate::PATIENCE, async {
            eventually(what, async || self.spans().into_iter().find(|span| fits(span))).await
        });
        match found.await {
            Ok(span) => span,
            Err(_) => panic!("no span is {what}; these are there: {:#?}", self.spans()),
        }
    }

    /// The child of `parent` that `fits`, in the same trace.
    pub async fn child(&self, parent: &Span, what: &str, fits: impl Fn(&Span) -> bool) -> Span {
        self.span(what, |span| span.trace == parent.trace && span.parent == parent.id && fits(span)).await
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Receiver {
    spans: Arc<Mutex<Vec<Span>>>,
}

#[tonic::async_trait]
impl TraceService for Receiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for process in request.into_inner().resource_spans {
            let resource = texts(process.resource.map(|resource| resource.attributes).unwrap_or_default());
            let spans = process.scope_spans.into_iter().flat_map(|scope| scope.spans);
            let spans = spans.map(|span| read(span, resource.clone()));
            self.spans.lock().expect("nothing panics while holding it").extend(spans);
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn read(span: otlp::Span, resource: BTreeMap<String, String>) -> Span {
    Span {
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        kind: span.kind(),
        name: span.name,
        attributes: texts(span.attributes),
        resource,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    attributes.into_iter().map(|attribute| (attribute.key, text(attribute.value))).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => text,
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        Some(any_value::Value::BoolValue(truth)) => truth.to_string(),
        Some(other) => format!("{other:?}"),
        None => String::new(),
    }
}

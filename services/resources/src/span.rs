//! A request in traces, named after OpenTelemetry's semantic conventions for RPC and MCP.

use switchyard_proto::v1::Context;
use switchyard_telemetry::trace::{self, TARGET};
use tonic::Status;
use tracing::{Span, field::Empty, info_span};

/// A request of the contract.
pub(crate) struct Method {
    /// What the span is called.
    span: &'static str,
    /// The method of the contract.
    rpc: &'static str,
}

pub(crate) const LIST: Method = Method { span: "resources/list", rpc: "List" };
pub(crate) const DESCRIBE: Method = Method { span: "resources/describe", rpc: "Describe" };
pub(crate) const COMPLETE: Method = Method { span: "resources/complete", rpc: "Complete" };
pub(crate) const READ: Method = Method { span: "resources/read", rpc: "Read" };

/// The service's side of a request, within the trace of whoever asked.
pub(crate) fn of_request(method: &Method, uri: &str, context: Option<&Context>) -> Span {
    let span = info_span!(
        target: TARGET,
        "resources",
        otel.name = method.span,
        otel.kind = "server",
        otel.status_code = Empty,
        rpc.system = "grpc",
        rpc.service = "switchyard.v1.Resources",
        rpc.method = method.rpc,
        rpc.grpc.status_code = Empty,
        mcp.resource.uri = Empty,
        "error.type" = Empty,
    );
    if !uri.is_empty() {
        span.record("mcp.resource.uri", uri);
    }
    if let Some(context) = context.filter(|context| !context.traceparent.is_empty() && !span.is_disabled()) {
        trace::continue_from(&span, &context.traceparent, &context.tracestate);
    }
    span
}

/// The telling of changes, at the beginning of a trace.
pub(crate) fn of_changes(provider: &str, updated: usize, listed: bool) -> Span {
    info_span!(
        target: TARGET,
        parent: None,
        "resources.changed",
        otel.kind = "producer",
        otel.status_code = Empty,
        switchyard.provider = provider,
        switchyard.resources.updated = updated,
        switchyard.resources.listed = listed,
        rpc.grpc.status_code = Empty,
        "error.type" = Empty,
    )
}

/// Notes how a request, or the telling of changes, failed.
pub(crate) fn failed(span: &Span, status: &Status) {
    span.record("rpc.grpc.status_code", status.code() as i32);
    span.record("otel.status_code", "ERROR");
    span.record("error.type", status.code().description());
}

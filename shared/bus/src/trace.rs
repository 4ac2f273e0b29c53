//! The client's span of a bus call, and its context in the request.

use switchyard_proto::v1::Context;
use switchyard_state::NodeId;
use switchyard_telemetry::trace::{self, TARGET};
use tonic::Status;
use tracing::{Span, field::Empty};

use crate::methods::Names;

/// A span that continues the trace named in `context`, else the current span, and takes its place in `context`.
pub(crate) fn client_span(names: &Names, node: &NodeId, context: Option<&mut Context>) -> Span {
    let span = tracing::info_span!(
        target: TARGET,
        "bus",
        otel.name = names.span,
        otel.kind = "client",
        rpc.system = "grpc",
        rpc.service = names.service,
        rpc.method = names.method,
        rpc.grpc.status_code = Empty,
        switchyard.node = %node,
    );
    if span.is_disabled() {
        return span;
    }
    if let Some(context) = context {
        if !context.traceparent.is_empty() {
            trace::continue_from(&span, &context.traceparent, &context.tracestate);
        }
        let own = trace::context_of(&span);
        context.traceparent = own.traceparent;
        context.tracestate = own.tracestate;
    }
    span
}

/// Notes how the call failed.
pub(crate) fn failed(span: &Span, status: &Status) {
    span.record("rpc.grpc.status_code", status.code() as i32);
    trace::fail(span, status.code().description());
}

//! A request in traces, named after OpenTelemetry's semantic conventions for RPC and MCP.

use switchyard_proto::v1::Context;
use switchyard_telemetry::trace::{self, TARGET};
use tonic::Status;
use tracing::{Span, field::Empty, info_span};

use crate::prompt::Prompt;

/// The service's side of a request, within the trace of whoever asked. A prompt that there is not could have any name,
/// so that is left out.
pub(crate) fn of_get(prompt: Option<&Prompt>, context: Option<&Context>) -> Span {
    let name = prompt.map_or("", |prompt| prompt.entry.name.as_str());
    let span = info_span!(
        target: TARGET,
        "prompts/get",
        otel.name = format!("prompts/get {name}").trim_end(),
        otel.kind = "server",
        otel.status_code = Empty,
        rpc.system = "grpc",
        rpc.service = "switchyard.v1.Prompts",
        rpc.method = "Get",
        rpc.grpc.status_code = Empty,
        mcp.method.name = "prompts/get",
        gen_ai.prompt.name = name,
        "error.type" = Empty,
    );
    if let Some(context) = context.filter(|context| !context.traceparent.is_empty() && !span.is_disabled()) {
        trace::continue_from(&span, &context.traceparent, &context.tracestate);
    }
    span
}

/// Notes that the request failed.
pub(crate) fn failed(span: &Span, status: &Status) {
    span.record("rpc.grpc.status_code", status.code() as i32);
    span.record("otel.status_code", "ERROR");
    span.record("error.type", "refused");
}

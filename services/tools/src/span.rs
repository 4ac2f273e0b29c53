//! A call in traces, named after OpenTelemetry's semantic conventions for RPC, MCP and generative AI.

use switchyard_proto::v1::Context;
use switchyard_telemetry::trace::{self, TARGET};
use tonic::Status;
use tracing::{Span, field::Empty, info_span};

/// The service's side of a call, within the trace of whoever called. `tool` is empty for a tool there is not, whose
/// name could be anything.
pub(crate) fn of_call(tool: &str, context: Option<&Context>) -> Span {
    let span = info_span!(
        target: TARGET,
        "tools/call",
        otel.name = format!("tools/call {tool}").trim_end(),
        otel.kind = "server",
        otel.status_code = Empty,
        rpc.system = "grpc",
        rpc.service = "switchyard.v1.Tools",
        rpc.method = "Call",
        rpc.grpc.status_code = Empty,
        mcp.method.name = "tools/call",
        gen_ai.tool.name = tool,
        "error.type" = Empty,
    );
    if let Some(context) = context.filter(|context| !context.traceparent.is_empty() && !span.is_disabled()) {
        trace::continue_from(&span, &context.traceparent, &context.tracestate);
    }
    span
}

/// The run itself, within the call.
pub(crate) fn of_run(tool: &str, call: &Span) -> Span {
    info_span!(
        target: TARGET,
        parent: call,
        "execute_tool",
        otel.name = format!("execute_tool {tool}"),
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        "error.type" = Empty,
    )
}

/// Notes that the call was refused.
pub(crate) fn refused(span: &Span, status: &Status) {
    span.record("rpc.grpc.status_code", status.code() as i32);
    failed(span, "refused");
}

/// Notes how a call or a run failed.
pub(crate) fn failed(span: &Span, why: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", why);
}

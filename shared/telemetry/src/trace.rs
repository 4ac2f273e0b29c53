//! Trace context across hops.
//!
//! A span is meant for traces when its target is [`TARGET`]. Its context travels as the two W3C headers, in
//! `Context.traceparent` on the bus and `Fact.traceparent` in the log.

use std::str::FromStr;

use opentelemetry::{
    Context, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, Status, TraceContextExt, TraceState},
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The target of spans that are meant for traces, and for nothing else.
pub const TARGET: &str = "switchyard::trace";

/// The longest `tracestate` that is passed on, in bytes; a longer one is left out.
const TRACESTATE_LIMIT: usize = 512;

/// W3C trace context; both are empty when nothing is traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// The `traceparent` header's value.
    pub traceparent: String,
    /// The `tracestate` header's value.
    pub tracestate: String,
}

impl TraceContext {
    /// What a client sent, or `None` when it is no valid trace context.
    pub fn from_headers(traceparent: &str, tracestate: &str) -> Option<Self> {
        parse(traceparent, tracestate)?;
        Some(Self { traceparent: traceparent.to_owned(), tracestate: tracestate.to_owned() })
    }
}

/// Which side of a hop a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Answers a request from elsewhere.
    Server,
    /// Makes a request elsewhere.
    Client,
    /// Puts a fact into the log.
    Producer,
    /// Acts on a fact of the log.
    Consumer,
    /// Neither.
    Internal,
}

impl SpanKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Producer => "producer",
            Self::Consumer => "consumer",
            Self::Internal => "internal",
        }
    }
}

/// A span below `parent`, or below the current span when `parent` is empty or no valid trace context.
pub fn span(name: &str, kind: SpanKind, parent: &TraceContext, attributes: &[(&'static str, &str)]) -> Span {
    let span = tracing::info_span!(target: TARGET, "span", otel.name = name, otel.kind = kind.as_str());
    if !span.is_disabled() {
        continue_from(&span, &parent.traceparent, &parent.tracestate);
        for (key, value) in attributes {
            set_attribute(&span, key, value);
        }
    }
    span
}

/// Makes `span` a child of a span elsewhere. What is no valid trace context is ignored. Only the first of this,
/// [`context_of`] and the first child decides on the parent.
pub fn continue_from(span: &Span, traceparent: &str, tracestate: &str) {
    if span.is_disabled() {
        return;
    }
    if let Some(parent) = parse(traceparent, tracestate) {
        // A span that has begun keeps its parent.
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }
}

/// The context that makes a span elsewhere a child of `span`.
pub fn context_of(span: &Span) -> TraceContext {
    if span.is_disabled() {
        return TraceContext::default();
    }
    let context = span.context();
    let context = context.span().span_context().clone();
    if !context.is_valid() {
        return TraceContext::default();
    }
    TraceContext {
        traceparent: format!(
            "00-{}-{}-{:02x}",
            context.trace_id(),
            context.span_id(),
            context.trace_flags() & TraceFlags::SAMPLED
        ),
        tracestate: context.trace_state().header(),
    }
}

/// Adds an attribute to a span, whether or not the span named it when it was made.
pub fn set_attribute(span: &Span, key: &'static str, value: &str) {
    if !span.is_disabled() {
        span.set_attribute(key, value.to_owned());
    }
}

/// Marks a span as failed; `reason` tells why, without arguments or secrets.
pub fn fail(span: &Span, reason: impl Into<String>) {
    if !span.is_disabled() {
        span.set_status(Status::error(reason.into()));
    }
}

/// The strict reading of the W3C recommendation: lower-case hexadecimal of the exact lengths, no zero ids. A later
/// version may carry more after the flags.
fn parse(traceparent: &str, tracestate: &str) -> Option<SpanContext> {
    let mut fields = traceparent.split('-');
    let version = hex(fields.next()?, 2)?;
    let trace_id = TraceId::from_hex(hex(fields.next()?, 32)?).ok()?;
    let span_id = SpanId::from_hex(hex(fields.next()?, 16)?).ok()?;
    let flags = u8::from_str_radix(hex(fields.next()?, 2)?, 16).ok()?;
    let more = fields.next().is_some();
    if version == "ff" || (version == "00" && more) {
        return None;
    }

    let state = Some(tracestate).filter(|state| state.len() <= TRACESTATE_LIMIT);
    let state = state.and_then(|state| TraceState::from_str(state).ok()).unwrap_or_default();
    let context = SpanContext::new(trace_id, span_id, TraceFlags::new(flags) & TraceFlags::SAMPLED, true, state);
    context.is_valid().then_some(context)
}

fn hex(field: &str, length: usize) -> Option<&str> {
    let digits = field.len() == length && field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    digits.then_some(field)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_valid_traceparent_is_read() {
        let context = parse(VALID, "vendor=1").unwrap();

        assert_eq!(context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(context.span_id().to_string(), "b7ad6b7169203331");
        assert!(context.is_sampled() && context.is_remote());
        assert_eq!(context.trace_state().header(), "vendor=1");
    }

    #[test]
    fn whatever_is_no_traceparent_is_refused() {
        for wrong in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "é0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert!(parse(wrong, "").is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_later_version_may_carry_more() {
        assert!(parse("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", "").is_some());
    }

    #[test]
    fn unknown_flags_are_cleared_and_a_bad_tracestate_is_left_out() {
        let context = parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff", "no equals sign").unwrap();

        assert_eq!(context.trace_flags(), TraceFlags::SAMPLED);
        assert_eq!(context.trace_state().header(), "");
    }

    #[test]
    fn without_an_exporter_spans_are_disabled_and_have_no_context() {
        let span = span("request", SpanKind::Server, &TraceContext::default(), &[("mcp.method.name", "ping")]);

        assert!(span.is_disabled());
        assert_eq!(context_of(&span), TraceContext::default());
    }
}

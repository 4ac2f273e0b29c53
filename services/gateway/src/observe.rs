//! What is seen of a request from outside: a span of its trace, a line in the log, a count.

use std::{borrow::Cow, sync::Arc, time::Instant};

use switchyard_mcp::{Id, Method, Revision, meta::Meta};
use switchyard_telemetry::{
    Metrics,
    metrics::RequestLabels,
    trace::{self, SpanKind, TraceContext},
};
use tracing::{Span, debug};

/// A request under way. Dropped without an end, it counts as cancelled: its client has gone.
pub struct Observed {
    metrics: Arc<Metrics>,
    span: Span,
    began: Instant,
    id: String,
    method: &'static str,
    era: &'static str,
    ended: bool,
}

/// What is told of a request.
pub struct Seen<'a> {
    /// Its JSON-RPC id.
    pub id: &'a Id,
    /// Its method as the client wrote it.
    pub method: &'a str,
    /// Its revision.
    pub revision: Revision,
    /// Its session, where there is one.
    pub session: Option<&'a str>,
    /// The name or URI that it is about, where it has one.
    pub target: Option<&'a str>,
    /// Its trace context from HTTP headers, which `_meta` overrides.
    pub trace: TraceContext,
}

impl Observed {
    /// Begins with the request. Its trace goes on from `_meta`, else from the HTTP headers: `_meta` is the client's
    /// own word, headers may be any proxy's.
    pub fn begin(metrics: Arc<Metrics>, node: &str, seen: Seen<'_>, meta: &Meta<'_>) -> Self {
        let known = Method::named(seen.method, seen.revision);
        let method = known.map_or("other", Method::name);
        let era = if seen.revision.has_sessions() { "legacy" } else { "modern" };
        let parent = meta.trace().and_then(|(parent, state)| TraceContext::from_headers(&parent, &state));
        let parent = parent.unwrap_or(seen.trace);
        let named = matches!(known, Some(Method::ToolsCall | Method::PromptsGet));
        let name = match seen.target.filter(|_| named) {
            Some(target) => Cow::Owned(format!("{method} {target}")),
            None => Cow::Borrowed(method),
        };
        let span = trace::span(
            &name,
            SpanKind::Server,
            &parent,
            &[
                ("rpc.system", "jsonrpc"),
                ("mcp.method.name", method),
                ("mcp.protocol.version", seen.revision.name()),
                ("jsonrpc.request.id", seen.id.as_json().trim_matches('"')),
                ("switchyard.node", node),
            ],
        );
        if !span.is_disabled() {
            if let Some(session) = seen.session {
                trace::set_attribute(&span, "mcp.session.id", session);
            }
            match (known, seen.target) {
                (Some(Method::ToolsCall), Some(tool)) => trace::set_attribute(&span, "gen_ai.tool.name", tool),
                (Some(Method::PromptsGet), Some(prompt)) => trace::set_attribute(&span, "gen_ai.prompt.name", prompt),
                (Some(Method::ResourcesRead), Some(uri)) => trace::set_attribute(&span, "mcp.resource.uri", uri),
                _ => {}
            }
        }
        let id = seen.id.as_json().to_owned();
        Self { metrics, span, began: Instant::now(), id, method, era, ended: false }
    }

    /// The trace context that makes what happens below a child of this request.
    pub fn context(&self) -> TraceContext {
        if self.span.is_disabled() { TraceContext::default() } else { trace::context_of(&self.span) }
    }

    /// The request was answered with a result.
    pub fn succeeded(mut self) {
        self.end("ok");
    }

    /// The request was answered with an error of this code.
    pub fn failed(mut self, code: i32) {
        trace::fail(&self.span, format!("JSON-RPC error {code}"));
        self.end("error");
    }

    fn end(&mut self, outcome: &'static str) {
        self.ended = true;
        // A span's time is up to when it was last entered.
        drop(self.span.enter());
        let took = self.began.elapsed();
        self.metrics.request(&RequestLabels { method: self.method, era: self.era, outcome }, took);
        debug!(
            request = %self.id,
            method = self.method,
            era = self.era,
            duration_ms = took.as_secs_f64() * 1000.0,
            outcome,
            "a request ended"
        );
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        if !self.ended {
            self.end("cancelled");
        }
    }
}

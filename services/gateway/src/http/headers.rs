//! The headers that the protocol gives a meaning.

use std::borrow::Cow;

use actix_web::http::header::{self, HeaderMap, HeaderName};
use switchyard_mcp::Headers;
use switchyard_telemetry::trace::TraceContext;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

const METHOD: HeaderName = HeaderName::from_static("mcp-method");

const NAME: HeaderName = HeaderName::from_static("mcp-name");

pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

pub(super) fn session_header(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    headers.get(SESSION).map(|value| String::from_utf8_lossy(value.as_bytes()))
}

pub(super) fn trace_headers(headers: &HeaderMap) -> TraceContext {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    text("traceparent")
        .and_then(|parent| TraceContext::from_headers(parent, text("tracestate").unwrap_or_default()))
        .unwrap_or_default()
}

/// A header's value; one that came more than once is joined, and so equals nothing.
pub(super) fn joined(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<Cow<'_, [u8]>> {
    let mut values = headers.get_all(name).map(|value| value.as_bytes());
    let first = values.next()?;
    let mut all = Cow::Borrowed(first);
    for value in values {
        all.to_mut().extend_from_slice(b", ");
        all.to_mut().extend_from_slice(value);
    }
    Some(all)
}

/// The protocol's own headers; one that came more than once is joined, and so equals nothing.
pub(super) struct ProtocolHeaders<'a> {
    pub version: Option<Cow<'a, [u8]>>,
    method: Option<Cow<'a, [u8]>>,
    name: Option<Cow<'a, [u8]>>,
}

impl<'a> ProtocolHeaders<'a> {
    pub fn of(headers: &'a HeaderMap) -> Self {
        Self { version: joined(headers, VERSION), method: joined(headers, METHOD), name: joined(headers, NAME) }
    }

    pub fn borrowed(&self) -> Headers<'_> {
        Headers { version: self.version.as_deref(), method: self.method.as_deref(), name: self.name.as_deref() }
    }
}

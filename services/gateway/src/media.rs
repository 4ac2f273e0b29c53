//! Media types: what a body is, and what a client takes.

use actix_web::http::header::{self, HeaderMap, HeaderValue};
use switchyard_mcp::{Refusal, RpcError};

/// What a client takes as an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// JSON only.
    Json,
    /// Event streams only.
    Streams,
    /// Either.
    Both,
}

impl Accepts {
    /// Reads `Accept`; without one a client takes anything.
    ///
    /// # Errors
    /// 406 when it takes neither.
    pub fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut ranges = headers.get_all(header::ACCEPT).flat_map(ranges).peekable();
        if ranges.peek().is_none() {
            return Ok(Self::Both);
        }
        let (mut json, mut streams) = (false, false);
        for range in ranges {
            json |= matches!(range.as_str(), "*/*" | "application/*" | "application/json");
            streams |= matches!(range.as_str(), "*/*" | "text/*" | "text/event-stream");
        }
        match (json, streams) {
            (true, true) => Ok(Self::Both),
            (true, false) => Ok(Self::Json),
            (false, true) => Ok(Self::Streams),
            (false, false) => Err(not_acceptable("answers are `application/json` or `text/event-stream`")),
        }
    }

    /// Whether JSON will do.
    pub const fn json(self) -> bool {
        matches!(self, Self::Json | Self::Both)
    }

    /// Whether an event stream will do.
    pub const fn streams(self) -> bool {
        matches!(self, Self::Streams | Self::Both)
    }
}

/// The media ranges of one `Accept` value, without those that are ruled out by `q=0`.
fn ranges(value: &HeaderValue) -> Vec<String> {
    let text = value.to_str().unwrap_or_default();
    text.split(',').filter_map(range).collect()
}

fn range(item: &str) -> Option<String> {
    let mut parts = item.split(';').map(str::trim);
    let range = parts.next().filter(|range| !range.is_empty())?;
    let is_ruled_out = |parameter: &str| {
        let quality = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
        quality.and_then(|quality| quality.parse::<f32>().ok()) == Some(0.0)
    };
    (!parts.any(is_ruled_out)).then(|| range.to_ascii_lowercase())
}

/// 406, naming what there is.
pub fn not_acceptable(what: &'static str) -> Refusal {
    Refusal::new(406, RpcError::invalid_request(format!("the `Accept` header rules out the answer: {what}")))
}

/// 413, naming the limit.
pub fn too_large(limit: usize) -> Refusal {
    Refusal::new(413, RpcError::invalid_request(format!("the body is larger than the limit of {limit} bytes")))
}

/// A body is JSON.
///
/// # Errors
/// 415 when it says otherwise, or nothing.
pub fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Refusal::new(415, RpcError::invalid_request("the `Content-Type` of a message is `application/json`")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn accepts(values: &[&str]) -> Result<Accepts, u16> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT, HeaderValue::from_str(value).unwrap());
        }
        Accepts::of(&headers).map_err(|refusal| refusal.status)
    }

    #[test]
    fn wildcards_and_a_missing_header_take_anything() {
        assert_eq!(accepts(&[]), Ok(Accepts::Both));
        assert_eq!(accepts(&["*/*"]), Ok(Accepts::Both));
        assert_eq!(accepts(&["text/event-stream, application/json"]), Ok(Accepts::Both));
        assert_eq!(accepts(&["application/json", "text/event-stream"]), Ok(Accepts::Both));
        assert_eq!(accepts(&["application/*;q=0.5"]), Ok(Accepts::Json));
        assert_eq!(accepts(&["TEXT/Event-Stream"]), Ok(Accepts::Streams));
    }

    #[test]
    fn neither_is_not_acceptable() {
        assert_eq!(accepts(&["text/html"]), Err(406));
        assert_eq!(accepts(&["application/json;q=0, text/html"]), Err(406));
    }

    #[test]
    fn a_body_must_say_that_it_is_json() {
        let check = |value| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(value));
            check_content_type(&headers).map_err(|refusal| refusal.status)
        };

        assert_eq!(check("application/json; charset=utf-8"), Ok(()));
        assert_eq!(check("Application/JSON"), Ok(()));
        assert_eq!(check("text/plain"), Err(415));
        assert_eq!(check("application/jsonx"), Err(415));
    }
}

//! Which era a message belongs to: both are served at one address, and at the same time.

use crate::{Headers, Method, Refusal, Revision, RpcError, meta::Meta};

/// How a message is to be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// It describes itself; no session has anything to do with it.
    Modern,
    /// It opens a session.
    Handshake,
    /// It belongs to the session that it names.
    Session,
}

/// Decides by the message alone, before any session is looked up. `method` is `None` for an answer of the client.
///
/// A modern `_meta` selects the stateless era whatever else is said, `initialize` selects a session whatever the
/// version header says, and only then the header speaks.
///
/// # Errors
/// 400 for a message that names no session and is of no era.
pub fn classify(
    method: Option<&str>,
    meta: &Meta<'_>,
    headers: &Headers<'_>,
    names_session: bool,
) -> Result<Era, Refusal> {
    if meta.is_modern() {
        return Ok(Era::Modern);
    }
    if method == Some(Method::Initialize.name()) {
        return Ok(Era::Handshake);
    }
    let version = headers.version.map(|version| String::from_utf8_lossy(version.trim_ascii()));
    let revision = version.as_deref().and_then(Revision::named);
    if revision.is_some_and(|revision| !revision.has_sessions()) {
        return Ok(Era::Modern);
    }
    if names_session {
        return Ok(Era::Session);
    }
    match version {
        Some(version) if revision.is_none() => Err(Refusal::unsupported_version(&version)),
        _ => Err(Refusal::new(
            400,
            RpcError::invalid_request("the `Mcp-Session-Id` header is missing; `initialize` opens a session"),
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn era(method: &str, meta: &str, version: Option<&str>, names_session: bool) -> Result<Era, i32> {
        let meta: &serde_json::value::RawValue = serde_json::from_str(meta).unwrap();
        let headers = Headers { version: version.map(str::as_bytes), ..Headers::default() };
        classify(Some(method), &Meta::read(Some(meta)), &headers, names_session).map_err(|refusal| refusal.error.code)
    }

    #[test]
    fn meta_then_initialize_then_the_header_then_the_session_decide() {
        let modern = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

        assert_eq!(era("initialize", modern, None, true), Ok(Era::Modern));
        assert_eq!(era("initialize", "{}", Some("2026-07-28"), false), Ok(Era::Handshake));
        assert_eq!(era("tools/list", "{}", Some("2026-07-28"), true), Ok(Era::Modern));
        assert_eq!(era("tools/list", "{}", Some("1999-01-01"), true), Ok(Era::Session));
        assert_eq!(era("tools/list", "{}", Some("1999-01-01"), false), Err(RpcError::UNSUPPORTED_VERSION));
        assert_eq!(era("tools/list", "{}", Some("2025-11-25"), false), Err(RpcError::INVALID_REQUEST));
        assert_eq!(era("tools/list", "{}", None, false), Err(RpcError::INVALID_REQUEST));
        assert_eq!(era("tools/list", r#"{"progressToken":1}"#, None, true), Ok(Era::Session));
    }
}

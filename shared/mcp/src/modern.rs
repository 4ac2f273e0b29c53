//! The stateless era: every request describes itself, and is checked in a fixed order.
//!
//! The order decides which error a request with several faults gets, and clients rely on it: version header,
//! `_meta`, that both agree, that we speak the revision, the routing headers, the method. What follows (name,
//! arguments, capabilities) belongs to whoever serves the method.

use std::borrow::Cow;

use crate::{
    Headers, Method, Params, Refusal, Request, Revision, RpcError,
    headers::decoded,
    meta::{CLIENT_CAPABILITIES, Meta, PROTOCOL_VERSION},
};

/// A request whose envelope, headers and `_meta` have passed.
#[derive(Clone, Debug)]
pub struct ModernRequest<'a> {
    /// Its revision.
    pub revision: Revision,
    /// What it wants.
    pub method: Method,
    /// Its parameters.
    pub params: Params<'a>,
    /// Its `_meta`.
    pub meta: Meta<'a>,
    /// The JSON text of what the client can do.
    pub capabilities: &'a str,
}

/// Checks a request. `headers` is `None` on transports that have none.
///
/// # Errors
/// The first fault in the order above, with its HTTP status.
pub fn check<'a>(request: &Request<'a>, headers: Option<&Headers<'_>>) -> Result<ModernRequest<'a>, Refusal> {
    let header_version = match headers {
        None => None,
        Some(headers) => Some(headers.version.map(<[u8]>::trim_ascii).ok_or_else(|| {
            Refusal::header("the `MCP-Protocol-Version` header is missing; it repeats the version in `_meta`")
        })?),
    };

    let invalid = |error: RpcError| Refusal::new(400, error);
    let params = Params::read(request.params).map_err(invalid)?;
    let meta = Meta::read(params.meta);
    let version = meta.protocol_version().ok_or_else(|| Refusal::missing_meta(PROTOCOL_VERSION))?;
    let capabilities = meta.client_capabilities().ok_or_else(|| Refusal::missing_meta(CLIENT_CAPABILITIES))?;

    if header_version.is_some_and(|header| header != version.as_bytes()) {
        return Err(Refusal::header("the `MCP-Protocol-Version` header differs from the version in `_meta`"));
    }
    let revision = Revision::named(&version)
        .filter(|revision| !revision.has_sessions())
        .ok_or_else(|| Refusal::unsupported_version(&version))?;

    let method = Method::named(&request.method, revision);
    if let Some(headers) = headers {
        check_routing(headers, &request.method, method, &params)?;
    }
    let method = method.ok_or_else(|| Refusal::method_not_found(&request.method))?;
    Ok(ModernRequest { revision, method, params, meta, capabilities })
}

/// `Mcp-Method` and `Mcp-Name` repeat the body.
fn check_routing(
    headers: &Headers<'_>,
    name: &str,
    method: Option<Method>,
    params: &Params<'_>,
) -> Result<(), Refusal> {
    match headers.method {
        None => return Err(Refusal::header("the `Mcp-Method` header is missing; it repeats the body's `method`")),
        Some(value) if value.trim_ascii() != name.as_bytes() => {
            return Err(Refusal::header("the `Mcp-Method` header differs from the body's `method`"));
        }
        Some(_) => {}
    }
    let Some((method, parameter)) = method.and_then(|method| Some((method, method.named_by()?))) else {
        return Ok(());
    };
    // A body without a usable name is refused for that by whoever serves the method.
    let Ok(name) = params.name_for(method) else { return Ok(()) };
    let Some(value) = headers.name else {
        return Err(Refusal::header(format!("the `Mcp-Name` header is missing; it repeats `params.{parameter}`")));
    };
    let says: Option<Cow<'_, [u8]>> = decoded(value);
    if says.as_deref() != Some(name.as_bytes()) {
        return Err(Refusal::header(format!("the `Mcp-Name` header differs from `params.{parameter}`")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Message, jsonrpc::decode};

    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

    struct Sent<'a> {
        version: Option<&'a str>,
        method: Option<&'a str>,
        name: Option<&'a str>,
        body: String,
    }

    fn call() -> Sent<'static> {
        Sent {
            version: Some("2026-07-28"),
            method: Some("tools/call"),
            name: Some("echo"),
            body: format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo",{META}}}}}"#),
        }
    }

    fn verdict(sent: &Sent<'_>) -> Result<Method, (u16, i32)> {
        let Message::Request(request) = decode(sent.body.as_bytes()).unwrap() else { panic!("a request") };
        let headers = Headers {
            version: sent.version.map(str::as_bytes),
            method: sent.method.map(str::as_bytes),
            name: sent.name.map(str::as_bytes),
        };
        check(&request, Some(&headers))
            .map(|request| request.method)
            .map_err(|refusal| (refusal.status, refusal.error.code))
    }

    #[test]
    fn a_right_request_passes_with_names_trimmed_and_encoded() {
        assert_eq!(verdict(&call()), Ok(Method::ToolsCall));
        assert_eq!(verdict(&Sent { name: Some("  echo "), ..call() }), Ok(Method::ToolsCall));
        assert_eq!(verdict(&Sent { name: Some("=?base64?ZWNobw==?="), ..call() }), Ok(Method::ToolsCall));
    }

    #[test]
    fn headers_that_are_missing_or_differ_are_mismatches() {
        let mismatch = Err((400, RpcError::HEADER_MISMATCH));

        assert_eq!(verdict(&Sent { version: None, ..call() }), mismatch);
        assert_eq!(verdict(&Sent { version: Some("2025-11-25"), ..call() }), mismatch);
        assert_eq!(verdict(&Sent { method: None, ..call() }), mismatch);
        assert_eq!(verdict(&Sent { method: Some("TOOLS/CALL"), ..call() }), mismatch);
        assert_eq!(verdict(&Sent { name: None, ..call() }), mismatch);
        assert_eq!(verdict(&Sent { name: Some("other"), ..call() }), mismatch);
        assert_eq!(verdict(&Sent { name: Some("=?base64?ZWNobw?="), ..call() }), mismatch);
    }

    #[test]
    fn the_order_of_the_checks_decides_between_faults() {
        let without_meta = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#.to_owned();
        let unknown_version = call().body.replace("2026-07-28", "v999");

        assert_eq!(verdict(&Sent { body: without_meta, name: None, ..call() }), Err((400, RpcError::INVALID_PARAMS)));
        assert_eq!(verdict(&Sent { body: unknown_version.clone(), ..call() }), Err((400, RpcError::HEADER_MISMATCH)));
        assert_eq!(
            verdict(&Sent { body: unknown_version, version: Some("v999"), method: None, ..call() }),
            Err((400, RpcError::UNSUPPORTED_VERSION))
        );
        let unknown_method = call().body.replace("tools/call", "ping");
        assert_eq!(
            verdict(&Sent { body: unknown_method.clone(), ..call() }),
            Err((400, RpcError::HEADER_MISMATCH)),
            "the header still says tools/call"
        );
        assert_eq!(
            verdict(&Sent { body: unknown_method, method: Some("ping"), ..call() }),
            Err((404, RpcError::METHOD_NOT_FOUND))
        );
    }
}

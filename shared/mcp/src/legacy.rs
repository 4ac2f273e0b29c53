//! The era of sessions: the handshake.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    LATEST_LEGACY, Revision, RpcError,
    identity::server_info,
    jsonrpc::push_string,
    params::{object_text, text},
};

/// The largest capabilities that are kept for a session, in bytes.
const MAX_CAPABILITIES: usize = 64 * 1024;

/// What a client says when it opens a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake<'a> {
    /// The revision that the session will speak: the one asked for if we speak it with sessions, else our newest.
    pub revision: Revision,
    /// The JSON text of what the client can do.
    pub capabilities: &'a str,
    /// The client's name and version, for the log.
    pub client: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams<'a> {
    #[serde(borrow)]
    protocol_version: &'a RawValue,
    #[serde(borrow)]
    capabilities: &'a RawValue,
    #[serde(borrow)]
    client_info: &'a RawValue,
}

#[derive(Deserialize)]
struct ClientInfo<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    version: &'a RawValue,
}

/// Reads the parameters of `initialize`.
///
/// # Errors
/// -32602 when one that the handshake needs is missing or of the wrong type.
pub fn read_handshake(params: Option<&RawValue>) -> Result<Handshake<'_>, RpcError> {
    let wrong = |key: &str| RpcError::invalid_params(format!("`params.{key}` is missing or of the wrong type"));
    let params = params.and_then(object_text).ok_or_else(|| wrong("protocolVersion"))?;
    let params: InitializeParams<'_> = serde_json::from_str(params).map_err(|_| {
        RpcError::invalid_params("`initialize` needs `protocolVersion`, `capabilities` and `clientInfo`, each once")
    })?;

    let version = text(params.protocol_version).ok_or_else(|| wrong("protocolVersion"))?;
    let capabilities = object_text(params.capabilities).ok_or_else(|| wrong("capabilities"))?;
    let client: ClientInfo<'_> = object_text(params.client_info)
        .and_then(|info| serde_json::from_str(info).ok())
        .ok_or_else(|| wrong("clientInfo"))?;
    let name = text(client.name).ok_or_else(|| wrong("clientInfo.name"))?;
    let client_version = text(client.version).ok_or_else(|| wrong("clientInfo.version"))?;

    let revision = Revision::named(&version).filter(|revision| revision.has_sessions()).unwrap_or(LATEST_LEGACY);
    let letters = name.chars().take(100).chain(['/']).chain(client_version.chars().take(40));
    // It goes into the log, and must not begin a line of its own there.
    let client: String = letters.filter(|letter| !letter.is_control()).collect();
    if capabilities.len() > MAX_CAPABILITIES {
        return Err(RpcError::invalid_params("`params.capabilities` is larger than 64 KiB"));
    }
    Ok(Handshake { revision, capabilities, client })
}

/// The result of `initialize`.
pub fn initialize_result(revision: Revision, instructions: &str) -> String {
    let mut result = String::with_capacity(300);
    result.push_str(r#"{"protocolVersion":""#);
    result.push_str(revision.name());
    result.push_str(r#"","capabilities":"#);
    result.push_str(capabilities(revision));
    result.push_str(r#","serverInfo":"#);
    result.push_str(&server_info(revision.has_titles()));
    if !instructions.is_empty() {
        result.push_str(r#","instructions":"#);
        push_string(&mut result, instructions);
    }
    result.push('}');
    result
}

/// What the server can do: exactly what is answered in this revision.
pub(crate) const fn capabilities(revision: Revision) -> &'static str {
    match revision {
        Revision::V2024_11_05 => {
            r#"{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}"#
        }
        Revision::V2026_07_28 => {
            r#"{"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{}},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}"#
        }
        _ => {
            r#"{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}"#
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn handshake(params: &str) -> Result<Handshake<'_>, RpcError> {
        read_handshake(Some(serde_json::from_str(params).unwrap()))
    }

    fn asking_for(version: &str) -> Revision {
        let params = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}"#
        );
        handshake(&params).unwrap().revision
    }

    #[test]
    fn a_supported_revision_is_echoed_and_any_other_countered_with_the_newest_that_has_sessions() {
        for revision in Revision::ALL.into_iter().filter(|revision| revision.has_sessions()) {
            assert_eq!(asking_for(revision.name()), revision);
        }
        for other in ["1900-01-01", "2099-01-01", "2026-07-28", ""] {
            assert_eq!(asking_for(other), LATEST_LEGACY, "{other}");
        }
    }

    #[test]
    fn a_handshake_that_lacks_something_is_refused() {
        assert!(read_handshake(None).is_err());
        for params in [
            "{}",
            "[]",
            r#"{"protocolVersion":5,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#,
            r#"{"protocolVersion":"2025-06-18","capabilities":[],"clientInfo":{"name":"t","version":"1"}}"#,
            r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t"}}"#,
            r#"{"protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"}}"#,
        ] {
            assert_eq!(handshake(params).unwrap_err().code, RpcError::INVALID_PARAMS, "{params}");
        }
    }
}

//! `_meta` of a request: where a stateless client describes itself, and every client asks for progress.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    RpcError,
    jsonrpc::present,
    params::{object_text, text},
};

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The severities of log messages, least severe first.
const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Members of `_meta`, each as its JSON text. What is not listed here is not looked at.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion", deserialize_with = "present")]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities", deserialize_with = "present")]
    client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo", deserialize_with = "present")]
    client_info: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel", deserialize_with = "present")]
    log_level: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "progressToken", deserialize_with = "present")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    tracestate: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    /// Reads `_meta`; one that is no object says nothing.
    pub fn read(meta: Option<&'a RawValue>) -> Self {
        meta.and_then(object_text).and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }

    /// Whether it has a member that only requests of the stateless revision carry.
    pub const fn is_modern(&self) -> bool {
        self.protocol_version.is_some()
            || self.client_capabilities.is_some()
            || self.client_info.is_some()
            || self.log_level.is_some()
    }

    /// The revision that the request says it is of.
    pub fn protocol_version(&self) -> Option<Cow<'a, str>> {
        self.protocol_version.and_then(text)
    }

    /// The JSON text of the client's capabilities.
    pub fn client_capabilities(&self) -> Option<&'a str> {
        self.client_capabilities.and_then(object_text)
    }

    /// The JSON text of the token under which the client wants to hear of progress.
    ///
    /// # Errors
    /// -32602 when it is neither a string nor an integer.
    pub fn progress_token(&self) -> Result<Option<&'a str>, RpcError> {
        let Some(token) = self.progress_token.map(RawValue::get) else { return Ok(None) };
        match crate::Id::from_json(token) {
            Some(_) => Ok(Some(token)),
            None => Err(RpcError::invalid_params("`progressToken` must be a string or an integer")),
        }
    }

    /// The least severe log level that the client wants to hear while this request runs.
    ///
    /// # Errors
    /// -32602 when there is no such level.
    pub fn log_level(&self) -> Result<Option<&'static str>, RpcError> {
        let Some(level) = self.log_level else { return Ok(None) };
        let known = text(level).and_then(|level| LOG_LEVELS.into_iter().find(|known| *known == level));
        known
            .map(Some)
            .ok_or_else(|| RpcError::invalid_params(format!("the log level must be one of {}", LOG_LEVELS.join(", "))))
    }

    /// The caller's trace context: `traceparent` and `tracestate`.
    pub fn trace(&self) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let parent = self.traceparent.and_then(text)?;
        Some((parent, self.tracestate.and_then(text).unwrap_or_default()))
    }
}

/// The log level that a JSON text names.
///
/// # Errors
/// -32602 when there is no such level.
pub(crate) fn log_level(level: Option<&RawValue>) -> Result<&'static str, RpcError> {
    let named = level.and_then(text).and_then(|level| LOG_LEVELS.into_iter().find(|known| *known == level));
    named.ok_or_else(|| RpcError::invalid_params(format!("the log level must be one of {}", LOG_LEVELS.join(", "))))
}

/// Whether a message of severity `level` is at least as severe as `wanted`. Unknown levels are not.
pub fn is_loud_enough(level: &str, wanted: &str) -> bool {
    let rank = |name: &str| LOG_LEVELS.iter().position(|known| *known == name);
    matches!((rank(level), rank(wanted)), (Some(level), Some(wanted)) if level >= wanted)
}

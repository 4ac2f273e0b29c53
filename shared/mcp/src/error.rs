//! What a client hears when its request fails.

use std::borrow::Cow;

use serde_json::Value;

use crate::{Method, Revision};

/// A JSON-RPC error: a code, one sentence, and what a program may want to know.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The code on the wire.
    pub code: i32,
    /// One short sentence for a person.
    pub message: Cow<'static, str>,
    /// `data`, where the code defines some.
    pub data: Option<Value>,
}

/// An error with the HTTP status that it comes with where there is HTTP.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// What the body says.
    pub error: RpcError,
}

impl RpcError {
    /// The body is no JSON.
    pub const PARSE: i32 = -32700;
    /// JSON, but no request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// There is no such method here.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters do not fit.
    pub const INVALID_PARAMS: i32 = -32602;
    /// Our fault.
    pub const INTERNAL: i32 = -32603;
    /// A header and the body disagree, or a required header is missing.
    pub const HEADER_MISMATCH: i32 = -32020;
    /// The request needs an ability that the client did not declare.
    pub const MISSING_CAPABILITY: i32 = -32021;
    /// The request's revision is none of ours.
    pub const UNSUPPORTED_VERSION: i32 = -32022;

    /// An error without data.
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same with data.
    pub fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// The parameters do not fit.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// No request of that form.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// Our fault.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INTERNAL, message)
    }

    /// There is no such method in this revision.
    pub fn method_not_found(name: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("there is no method `{}` here", shortened(name)))
    }

    /// Nobody serves that resource.
    pub fn resource_not_found(uri: &str, revision: Revision) -> Self {
        Self::new(revision.resource_not_found(), format!("there is no resource `{}`", shortened(uri)))
            .with_data(serde_json::json!({ "uri": uri }))
    }

    /// The HTTP status for this error as the answer to a well-formed request of `revision`: only the newest one
    /// lets the status tell, since for an older client a 404 means that its session is gone.
    pub const fn http_status(&self, revision: Revision) -> u16 {
        if revision.has_sessions() {
            return 200;
        }
        match self.code {
            Self::METHOD_NOT_FOUND => 404,
            Self::HEADER_MISMATCH | Self::MISSING_CAPABILITY | Self::UNSUPPORTED_VERSION => 400,
            _ => 200,
        }
    }
}

impl Refusal {
    /// An error with its status.
    pub const fn new(status: u16, error: RpcError) -> Self {
        Self { status, error }
    }

    /// 400 with -32602: a required member of `_meta` is missing.
    pub(crate) fn missing_meta(key: &str) -> Self {
        let message = format!("`params._meta` lacks `{key}`, which every request carries in this revision");
        Self::new(400, RpcError::invalid_params(message))
    }

    /// 400 with -32020.
    pub(crate) fn header(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, RpcError::new(RpcError::HEADER_MISMATCH, message))
    }

    /// 400 with -32022, naming what would be right. A legacy revision asked for in the stateless form is told of
    /// no legacy revisions, or an obedient client would ask for them again in the same form.
    pub fn unsupported_version(requested: &str) -> Self {
        let asked_for_legacy = Revision::named(requested).is_some_and(Revision::has_sessions);
        let supported: Vec<_> = Revision::ALL
            .into_iter()
            .filter(|revision| !(asked_for_legacy && revision.has_sessions()))
            .map(Revision::name)
            .collect();
        let data = serde_json::json!({ "supported": supported, "requested": requested });
        Self::new(400, RpcError::new(RpcError::UNSUPPORTED_VERSION, "unsupported protocol version").with_data(data))
    }

    /// 404 with -32601.
    pub fn method_not_found(name: &str) -> Self {
        Self::new(404, RpcError::method_not_found(name))
    }
}

/// A client's word as it may stand in a sentence: at most 100 characters of it.
fn shortened(word: &str) -> Cow<'_, str> {
    match word.char_indices().nth(100) {
        Some((end, _)) => Cow::Owned(format!("{}…", &word[..end])),
        None => Cow::Borrowed(word),
    }
}

/// The name that a request must carry is missing or no string.
pub(crate) fn missing_name(method: Method) -> RpcError {
    let key = method.named_by().unwrap_or("name");
    RpcError::invalid_params(format!("`params.{key}` must be a string"))
}

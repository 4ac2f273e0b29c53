//! The parameters that a gateway routes by, unread until they are asked for.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Method, RpcError,
    error::missing_name,
    jsonrpc::{Text, present},
};

/// Members of `params`, each as its JSON text. What is not listed here is not looked at.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Params<'a> {
    /// `_meta`.
    #[serde(borrow, default, rename = "_meta", deserialize_with = "present")]
    pub meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    cursor: Option<&'a RawValue>,
    /// `notifications` of `subscriptions/listen`.
    #[serde(borrow, default, deserialize_with = "present")]
    pub notifications: Option<&'a RawValue>,
    /// `requestId` of `notifications/cancelled`.
    #[serde(borrow, default, rename = "requestId", deserialize_with = "present")]
    pub request_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    reason: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses", deserialize_with = "present")]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState", deserialize_with = "present")]
    request_state: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    /// Reads `params`, which is an object where it is there at all.
    ///
    /// # Errors
    /// -32602 when it is something else, or has a member twice.
    pub fn read(params: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let Some(params) = params else { return Ok(Self::default()) };
        if !params.get().starts_with('{') {
            return Err(RpcError::invalid_params("`params` must be an object"));
        }
        serde_json::from_str(params.get())
            .map_err(|_| RpcError::invalid_params("`params` must be an object, no member of it twice"))
    }

    /// The name or URI that `method` is about.
    ///
    /// # Errors
    /// -32602 when it is missing or no string.
    pub fn name_for(&self, method: Method) -> Result<Cow<'a, str>, RpcError> {
        let raw = if method.named_by() == Some("uri") { self.uri } else { self.name };
        raw.and_then(text).ok_or_else(|| missing_name(method))
    }

    /// `uri`.
    ///
    /// # Errors
    /// -32602 when it is missing or no string.
    pub fn uri(&self) -> Result<Cow<'a, str>, RpcError> {
        self.uri.and_then(text).ok_or_else(|| RpcError::invalid_params("`params.uri` must be a string"))
    }

    /// The JSON text of `arguments`; an absent one is an empty object.
    ///
    /// # Errors
    /// -32602 when it is no object.
    pub fn arguments(&self) -> Result<&'a str, RpcError> {
        match self.arguments.map(RawValue::get) {
            None => Ok("{}"),
            Some(arguments) if arguments.starts_with('{') => Ok(arguments),
            Some(_) => Err(RpcError::invalid_params("`params.arguments` must be an object")),
        }
    }

    /// `cursor`.
    ///
    /// # Errors
    /// -32602 when it is no string.
    pub fn cursor(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        let Some(cursor) = self.cursor else { return Ok(None) };
        text(cursor).map(Some).ok_or_else(|| RpcError::invalid_params("`params.cursor` must be a string"))
    }

    /// `reason`, or nothing when it is no string.
    pub fn reason(&self) -> Cow<'a, str> {
        self.reason.and_then(text).unwrap_or_default()
    }

    /// Whether the client answers a question; nothing here asks any yet.
    pub const fn answers_a_question(&self) -> bool {
        self.input_responses.is_some() || self.request_state.is_some()
    }
}

/// The string that a JSON text is, or `None`.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// The JSON text of an object, or `None` when it is something else.
pub fn object_text(raw: &RawValue) -> Option<&str> {
    raw.get().starts_with('{').then(|| raw.get())
}

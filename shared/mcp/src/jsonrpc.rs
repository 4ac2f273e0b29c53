//! JSON-RPC 2.0: reading one message without building a tree of it, writing answers.
//!
//! Ids come back as they were sent, to the letter: they are kept as the JSON text that the client wrote.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::RpcError;

/// The longest id accepted, in bytes.
const MAX_ID_BYTES: usize = 1024;

/// A request's id: the JSON text of a string or an integer, as the client wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id(Box<str>);

impl Id {
    /// The JSON text, quotes included.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The id that this JSON text is, or `None` when it is none: only strings and integers are.
    pub fn from_json(json: &str) -> Option<Self> {
        let is_id =
            json.len() <= MAX_ID_BYTES && (is_integer(json) || serde_json::from_str::<Cow<'_, str>>(json).is_ok());
        is_id.then(|| Self(json.into()))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn is_integer(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// One message of a client.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// Something to be answered.
    Request(Request<'a>),
    /// Something to be noted.
    Notification {
        /// What happened.
        method: Cow<'a, str>,
        /// Its parameters, unread.
        params: Option<&'a RawValue>,
    },
    /// The answer to a request of ours.
    Response {
        /// The id that we gave the request.
        id: Id,
    },
}

/// A request, of which only the envelope has been read.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// How the client will know the answer.
    pub id: Id,
    /// What it wants.
    pub method: Cow<'a, str>,
    /// The parameters, unread.
    pub params: Option<&'a RawValue>,
}

/// Why a body is no message.
#[derive(Clone, Debug, PartialEq)]
pub enum DecodeError {
    /// An array of messages.
    Batch,
    /// Anything else, with the request's id where one could be read.
    Invalid {
        /// The id, if it is a valid one.
        id: Option<Id>,
        /// What is wrong.
        error: RpcError,
    },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A member that is there, even if it is `null`.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one message.
///
/// # Errors
/// -32700 for what is no JSON, -32600 for JSON that is no message, and [`DecodeError::Batch`] for an array.
pub fn decode(body: &[u8]) -> Result<Message<'_>, DecodeError> {
    // Asked first, for nobody looks into members that are passed over.
    let Ok(body) = std::str::from_utf8(body) else { return Err(no_json("it is no UTF-8".to_owned())) };
    if body.bytes().find(|byte| !byte.is_ascii_whitespace()) == Some(b'[') {
        return Err(check_json(body).map_or_else(|no_json| no_json, |()| DecodeError::Batch));
    }
    let envelope: Envelope<'_> = serde_json::from_str(body).map_err(|_| unreadable(body))?;
    envelope.into_message()
}

impl<'a> Envelope<'a> {
    fn into_message(self) -> Result<Message<'a>, DecodeError> {
        let id = self.id.and_then(|id| Id::from_json(id.get()));
        if self.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
            return Err(invalid(id, "`jsonrpc` must be \"2.0\""));
        }
        if self.id.is_some() && id.is_none() {
            return Err(invalid(None, "`id` must be a string or an integer"));
        }
        // Some clients write `null` for parameters that they do not have.
        let params = self.params.filter(|params| params.get() != "null");
        if params.is_some_and(|params| !params.get().starts_with('{')) {
            return Err(invalid(id, "`params` must be an object"));
        }
        match (self.method, id) {
            (Some(method), id) => {
                let Ok(method) = serde_json::from_str::<Text<'_>>(method.get()) else {
                    return Err(invalid(id, "`method` must be a string"));
                };
                let method = method.0;
                Ok(match id {
                    Some(id) => Message::Request(Request { id, method, params }),
                    None => Message::Notification { method, params },
                })
            }
            (None, Some(id)) if self.result.is_some() != self.error.is_some() => Ok(Message::Response { id }),
            (None, id) => Err(invalid(id, "a message has a `method`, or an `id` with either `result` or `error`")),
        }
    }
}

/// A string that is borrowed from its JSON text where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

fn unreadable(body: &str) -> DecodeError {
    let no_message = |()| invalid(None, "the body must be one JSON object, no member of it twice");
    check_json(body).map_or_else(|no_json| no_json, no_message)
}

/// Whether it is JSON at all, of whatever form.
fn check_json(body: &str) -> Result<(), DecodeError> {
    let read = serde_json::from_str::<&RawValue>(body);
    read.map(|_| ()).map_err(|error| no_json(format!("line {}, column {}", error.line(), error.column())))
}

fn no_json(why: String) -> DecodeError {
    DecodeError::Invalid { id: None, error: RpcError::new(RpcError::PARSE, format!("the body is no JSON: {why}")) }
}

fn invalid(id: Option<Id>, message: &'static str) -> DecodeError {
    DecodeError::Invalid { id, error: RpcError::invalid_request(message) }
}

/// The answer to a request, `result` being the JSON text of one object.
pub fn success(id: &Id, result: &str) -> String {
    let mut message = String::with_capacity(result.len() + id.as_json().len() + 40);
    message.push_str(r#"{"jsonrpc":"2.0","id":"#);
    message.push_str(id.as_json());
    message.push_str(r#","result":"#);
    message.push_str(result);
    message.push('}');
    message
}

/// The answer to a request that failed. Without an id it answers what could not be read; `null_id` then says
/// `"id":null`, as revisions demand that cannot leave it out.
pub fn failure(id: Option<&Id>, null_id: bool, error: &RpcError) -> String {
    let mut message = String::with_capacity(160);
    message.push_str(r#"{"jsonrpc":"2.0""#);
    match id {
        Some(id) => {
            message.push_str(r#","id":"#);
            message.push_str(id.as_json());
        }
        None if null_id => message.push_str(r#","id":null"#),
        None => {}
    }
    message.push_str(r#","error":{"code":"#);
    message.push_str(&error.code.to_string());
    message.push_str(r#","message":"#);
    push_string(&mut message, &error.message);
    if let Some(data) = &error.data {
        message.push_str(r#","data":"#);
        message.push_str(&data.to_string());
    }
    message.push_str("}}");
    message
}

/// A notification, `params` being the JSON text of one object.
pub fn notification(method: &str, params: Option<&str>) -> String {
    let mut message = String::with_capacity(method.len() + params.map_or(0, str::len) + 40);
    message.push_str(r#"{"jsonrpc":"2.0","method":"#);
    push_string(&mut message, method);
    if let Some(params) = params {
        message.push_str(r#","params":"#);
        message.push_str(params);
    }
    message.push('}');
    message
}

/// Appends a string as JSON.
pub(crate) fn push_string(json: &mut String, text: &str) {
    json.push_str(&serde_json::to_string(text).expect("a string is always JSON"));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn code(body: &str) -> i32 {
        match decode(body.as_bytes()) {
            Err(DecodeError::Invalid { error, .. }) => error.code,
            other => panic!("{body} should be refused, not {other:?}"),
        }
    }

    #[test]
    fn ids_come_back_to_the_letter() {
        for id in [r#""7""#, "7", "0", "-1", r#""a b""#, r#""A\n""#, "123456789012345678901234567890"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Message::Request(request) = decode(body.as_bytes()).unwrap() else { panic!("a request") };

            assert_eq!(success(&request.id, "{}"), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        }
    }

    #[test]
    fn what_is_no_id_is_an_invalid_request() {
        for id in ["null", "true", "{}", "[]", "1.5", "1e3", "1.5e400", r#""\ud800""#] {
            assert_eq!(code(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)), RpcError::INVALID_REQUEST);
        }
    }

    #[test]
    fn what_is_no_json_is_a_parse_error_and_what_is_no_message_an_invalid_request() {
        for body in ["", "{", "\u{feff}{}", r#"{"jsonrpc":"2.0","#, r#"{"id":1,"id":2,"#, "{}x", "nul", "[1,", "1 2"] {
            assert_eq!(code(body), RpcError::PARSE, "{body}");
        }
        for body in [
            "{}",
            "1",
            "1e400",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","\ud800":1}"#,
            "null",
            r#""x""#,
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
        ] {
            assert_eq!(code(body), RpcError::INVALID_REQUEST, "{body}");
        }
        assert!(matches!(decode(b" \n[]"), Err(DecodeError::Batch)));
    }

    #[test]
    fn bytes_that_are_no_utf8_are_no_json_wherever_they_stand() {
        for body in [
            b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}".as_slice(),
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"unknown\":\"\xff\"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xc3\"}}",
            b"[\"\xed\xa0\x80\"]",
        ] {
            let Err(DecodeError::Invalid { error, .. }) = decode(body) else { panic!("{body:?} is refused") };
            assert_eq!(error.code, RpcError::PARSE, "{body:?}");
        }
    }

    #[test]
    fn an_invalid_request_with_a_readable_id_is_answered_by_that_id() {
        let Err(DecodeError::Invalid { id, .. }) = decode(br#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#) else {
            panic!("refused")
        };

        assert_eq!(id.unwrap().as_json(), r#""x""#);
    }

    #[test]
    fn deep_nesting_is_read_without_recursion() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{}{}}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );

        assert!(matches!(decode(deep.as_bytes()), Ok(Message::Request(_))));
    }
}

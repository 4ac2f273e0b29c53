//! What comes back for one JSON-RPC request: plain JSON or a stream that ends in the response.

use serde_json::Value;

use crate::{EventStream, PATIENCE, Response, within};

/// A request under way. Dropping it closes its connection.
#[derive(Debug)]
pub struct Call {
    id: Value,
    status: u16,
    headers: Headers,
    body: Body,
}

type Headers = Vec<(String, Option<String>)>;

#[derive(Debug)]
enum Body {
    Json(Option<Value>),
    Events(Box<EventStream>),
}

/// The headers that tests ask about.
const HEADERS: [&str; 8] = [
    "allow",
    "cache-control",
    "content-encoding",
    "content-type",
    "mcp-protocol-version",
    "mcp-session-id",
    "retry-after",
    "x-accel-buffering",
];

impl Call {
    /// Takes up `response` as the answer to the request `id`.
    pub async fn new(id: Value, response: Response) -> Self {
        let status = response.status;
        let headers =
            HEADERS.iter().map(|name| ((*name).to_owned(), response.header(name).map(str::to_owned))).collect();
        let body = match response.media_type() {
            "text/event-stream" => Body::Events(Box::new(response.events())),
            _ => Body::Json(Some(response.json().await)),
        };
        Self { id, status, headers, body }
    }

    /// The next message of the stream, or the one plain message; the last one is the response.
    ///
    /// # Panics
    /// When none comes.
    pub async fn message(&mut self) -> Value {
        match &mut self.body {
            Body::Json(message) => message.take().expect("plain JSON is one message"),
            Body::Events(events) => events.message().await,
        }
    }

    /// Waits for the response, and keeps what came before it.
    ///
    /// # Panics
    /// When it does not come.
    pub async fn finish(mut self) -> Reply {
        let what = format!("the response to {}", self.id);
        let (before, message) = within(PATIENCE * 2, &what, async {
            let mut before = Vec::new();
            loop {
                let message = self.message().await;
                if message.get("method").is_none() {
                    return (before, message);
                }
                before.push(message);
            }
        })
        .await;
        if let Body::Events(events) = &mut self.body {
            assert_eq!(events.event().await, None, "nothing follows the response");
        }
        let streamed = matches!(self.body, Body::Events(_));
        Reply { status: self.status, headers: self.headers, streamed, before, message }
    }
}

/// A finished request.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    headers: Headers,
    /// It came as an event stream.
    pub streamed: bool,
    /// The notifications before the response.
    pub before: Vec<Value>,
    /// The response.
    pub message: Value,
}

impl Reply {
    /// The value of one of the headers that matter here.
    ///
    /// # Panics
    /// When `name` is none of them.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(known, _)| known == name).expect("the header is kept");
        value.as_deref()
    }

    /// The result.
    ///
    /// # Panics
    /// When it is an error.
    pub fn result(&self) -> &Value {
        self.message.get("result").unwrap_or_else(|| panic!("no result: {} {}", self.status, self.message))
    }

    /// The error.
    ///
    /// # Panics
    /// When it is none.
    pub fn error(&self) -> RpcError {
        let error = self.message.get("error").unwrap_or_else(|| panic!("no error: {} {}", self.status, self.message));
        RpcError::of(error)
    }

    /// The HTTP status and the JSON-RPC error's code.
    pub fn refusal(&self) -> (u16, i64) {
        (self.status, self.error().code)
    }
}

/// A JSON-RPC error.
#[derive(Clone, Debug)]
pub struct RpcError {
    /// Which kind.
    pub code: i64,
    /// One sentence.
    pub message: String,
    /// More of it; null for nothing.
    pub data: Value,
}

impl RpcError {
    /// Reads an error object.
    ///
    /// # Panics
    /// When it lacks what every error has.
    pub fn of(error: &Value) -> Self {
        let code = error["code"].as_i64().unwrap_or_else(|| panic!("an error without code: {error}"));
        let message = error["message"].as_str().unwrap_or_else(|| panic!("an error without message: {error}"));
        assert!(!message.is_empty(), "an error's message says something");
        Self { code, message: message.to_owned(), data: error["data"].clone() }
    }
}

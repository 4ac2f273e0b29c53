//! A client of revision 2026-07-28: no session, every request describes itself.

use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};

use crate::{
    Call, Endpoint, EventStream, Reply, Request,
    legacy::{BOTH, uri_in},
};

/// The stateless revision.
pub const MODERN: &str = "2026-07-28";

/// The prefix of the protocol's own `_meta` keys.
const PREFIX: &str = "io.modelcontextprotocol";

/// A `_meta` key of the protocol.
pub fn meta(name: &str) -> String {
    format!("{PREFIX}/{name}")
}

/// A modern client. Nothing connects its requests but its own counting of ids.
#[derive(Debug)]
pub struct ModernClient {
    endpoint: Endpoint,
    last_id: AtomicI64,
}

impl ModernClient {
    /// A client of this endpoint.
    pub fn new(endpoint: &Endpoint) -> Self {
        Self { endpoint: endpoint.clone(), last_id: AtomicI64::new(0) }
    }

    /// `params` with the `_meta` that every request must have; members that are already there stay.
    pub fn params(mut params: Value) -> Value {
        let object = params.as_object_mut().expect("params are an object");
        let members = object.entry("_meta").or_insert_with(|| json!({}));
        let members = members.as_object_mut().expect("_meta is an object");
        members.entry(meta("protocolVersion")).or_insert_with(|| json!(MODERN));
        members.entry(meta("clientCapabilities")).or_insert_with(|| json!({}));
        members.entry(meta("clientInfo")).or_insert_with(|| json!({"name": "switchyard-tests", "version": "1"}));
        params
    }

    /// A complete and correct request, for tests to send or to spoil.
    pub fn post(&self, id: &Value, method: &str, params: Value) -> Request {
        let params = Self::params(params);
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str().map(str::to_owned),
            "resources/read" => params["uri"].as_str().map(str::to_owned),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str().map(str::to_owned),
            _ => None,
        };
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let request = self.endpoint.request("POST").header("Accept", BOTH).json(&body);
        let request = request.header("MCP-Protocol-Version", MODERN).header("Mcp-Method", method);
        name.into_iter().fold(request, |request, name| request.header("Mcp-Name", &name))
    }

    /// Sends a request and waits for its response.
    pub async fn request(&self, method: &str, params: Value) -> Reply {
        self.start(method, params).await.finish().await
    }

    /// Sends a request and returns once its answer begins.
    pub async fn start(&self, method: &str, params: Value) -> Call {
        let id = json!(self.next_id());
        let response = self.post(&id, method, params).send().await;
        Call::new(id, response).await
    }

    /// An id that is not in use.
    pub fn next_id(&self) -> i64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Calls a tool and returns its result.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await.result().clone()
    }

    /// Opens a `subscriptions/listen` stream and takes its acknowledgement.
    ///
    /// # Panics
    /// When the first message is another one.
    pub async fn listen(&self, notifications: Value) -> Listener {
        self.listen_as(json!(self.next_id()), notifications).await
    }

    /// Like [`listen`](Self::listen), with an id of the test's choice.
    pub async fn listen_as(&self, id: Value, notifications: Value) -> Listener {
        Listener::open(self, id, json!({"notifications": notifications})).await
    }

    /// The URI of the served file of that name.
    ///
    /// # Panics
    /// When no page of the list has it.
    pub async fn uri_of(&self, name: &str) -> String {
        let mut cursor = Value::Null;
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            let page = self.request("resources/list", params).await.result().clone();
            if let Some(uri) = uri_in(&page, name) {
                return uri;
            }
            cursor = page["nextCursor"].clone();
            assert!(!cursor.is_null(), "no resource is named `{name}`");
        }
    }
}

/// An open `subscriptions/listen` stream. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Listener {
    id: Value,
    /// Its events, for tests that look closer.
    pub events: EventStream,
    /// What the server agreed to send.
    pub acknowledged: Value,
}

impl Listener {
    /// Opens a stream with these parameters, and takes its acknowledgement.
    ///
    /// # Panics
    /// When the first message is another one.
    pub async fn open(client: &ModernClient, id: Value, params: Value) -> Self {
        let mut events = client.post(&id, "subscriptions/listen", params).send().await.events();
        let first = events.message().await;
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        let mut listener = Self { id, events, acknowledged: Value::Null };
        listener.assert_tagged(&first);
        listener.acknowledged = first["params"]["notifications"].clone();
        listener
    }

    /// The next notification.
    ///
    /// # Panics
    /// When it lacks the subscription's id.
    pub async fn next(&mut self) -> Value {
        let message = self.events.message().await;
        self.assert_tagged(&message);
        message
    }

    /// The closing result.
    ///
    /// # Panics
    /// When the stream ends in another way; updates before it are passed over.
    pub async fn closing_result(&mut self) -> Value {
        loop {
            let message = self.events.message().await;
            if message.get("method").is_none() {
                assert_eq!(message["id"], self.id, "{message}");
                return message["result"].clone();
            }
        }
    }

    fn assert_tagged(&self, message: &Value) {
        assert_eq!(message["params"]["_meta"][meta("subscriptionId")], self.id, "{message}");
    }
}

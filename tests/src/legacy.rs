//! A client of the four revisions that open a session with `initialize`, over Streamable HTTP.

use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};

use crate::{Call, Endpoint, EventStream, Reply, Request, Response};

/// A revision with sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// 2024-11-05.
    R1,
    /// 2025-03-26.
    R2,
    /// 2025-06-18.
    R3,
    /// 2025-11-25.
    R4,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 4] = [Self::R1, Self::R2, Self::R3, Self::R4];

    /// As it stands on the wire.
    pub const fn date(self) -> &'static str {
        match self {
            Self::R1 => "2024-11-05",
            Self::R2 => "2025-03-26",
            Self::R3 => "2025-06-18",
            Self::R4 => "2025-11-25",
        }
    }

    /// Whether its clients send `MCP-Protocol-Version` after the handshake.
    pub const fn has_version_header(self) -> bool {
        matches!(self, Self::R3 | Self::R4)
    }
}

/// One session of a legacy client.
#[derive(Debug)]
pub struct LegacyClient {
    endpoint: Endpoint,
    revision: Revision,
    session: String,
    /// What the server said of itself.
    pub handshake: Value,
    last_id: AtomicI64,
}

impl LegacyClient {
    /// Opens a session: `initialize`, then `notifications/initialized`.
    ///
    /// # Panics
    /// When the server does not agree to `revision` or gives no session.
    pub async fn connect(endpoint: &Endpoint, revision: Revision) -> Self {
        let client = Self::handshake(endpoint, revision).await;
        let noted = client.notify("notifications/initialized", json!({})).await;
        assert_eq!(noted.status, 202, "the end of the handshake was refused");
        client
    }

    /// Sends `initialize` alone, so the session is not ready yet.
    pub async fn handshake(endpoint: &Endpoint, revision: Revision) -> Self {
        let response = Self::initialize(endpoint, revision.date()).send().await;
        let call = Call::new(json!(0), response).await;
        let reply = call.finish().await;
        assert_eq!(reply.result()["protocolVersion"], revision.date(), "another revision was negotiated");
        let session = reply.header("mcp-session-id").expect("a session was opened").to_owned();
        let handshake = reply.result().clone();
        Self { endpoint: endpoint.clone(), revision, session, handshake, last_id: AtomicI64::new(0) }
    }

    /// The request that opens a session of `version`, which need not exist.
    pub fn initialize(endpoint: &Endpoint, version: &str) -> Request {
        let params = json!({"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "switchyard-tests", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        endpoint.request("POST").header("Accept", BOTH).json(&body)
    }

    /// The same session by way of another gateway.
    #[must_use]
    pub fn at(&self, endpoint: &Endpoint) -> Self {
        Self {
            endpoint: endpoint.clone(),
            revision: self.revision,
            session: self.session.clone(),
            handshake: self.handshake.clone(),
            // Ids are never used twice in a session, and this one's are far from the other's.
            last_id: AtomicI64::new(self.last_id.fetch_add(1_000_000, Ordering::Relaxed) + 500_000),
        }
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The negotiated revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// A POST of this session.
    pub fn post(&self, body: &Value) -> Request {
        self.with_session(self.endpoint.request("POST")).header("Accept", BOTH).json(body)
    }

    /// The GET that opens a standing stream of this session.
    pub fn get(&self) -> Request {
        self.with_session(self.endpoint.request("GET")).header("Accept", "text/event-stream")
    }

    fn with_session(&self, request: Request) -> Request {
        let request = request.header("Mcp-Session-Id", &self.session);
        if self.revision.has_version_header() {
            return request.header("MCP-Protocol-Version", self.revision.date());
        }
        request
    }

    /// Sends a request and waits for its response.
    pub async fn request(&self, method: &str, params: Value) -> Reply {
        self.start(method, params).await.finish().await
    }

    /// Sends a request and returns once its answer begins.
    pub async fn start(&self, method: &str, params: Value) -> Call {
        let id = json!(self.next_id());
        self.start_as(id, method, params).await
    }

    /// Like [`start`](Self::start), with an id of the test's choice.
    pub async fn start_as(&self, id: Value, method: &str, params: Value) -> Call {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let response = self.post(&body).send().await;
        Call::new(id, response).await
    }

    /// An id that this session has not used.
    pub fn next_id(&self) -> i64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Calls a tool and returns its result.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await.result().clone()
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> Response {
        self.post(&json!({"jsonrpc": "2.0", "method": method, "params": params})).send().await
    }

    /// Opens a standing stream.
    pub async fn listen(&self) -> EventStream {
        self.get().send().await.events()
    }

    /// Ends the session.
    pub async fn delete(&self) -> Response {
        self.with_session(self.endpoint.request("DELETE")).send().await
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

/// What every client can take.
pub(crate) const BOTH: &str = "application/json, text/event-stream";

/// The URI of the resource of a page whose URI ends with `name` as URIs spell it.
pub(crate) fn uri_in(page: &Value, name: &str) -> Option<String> {
    let resources = page["resources"].as_array().expect("a list of resources");
    let uris = resources.iter().map(|resource| resource["uri"].as_str().expect("a resource has a URI"));
    uris.map(str::to_owned).find(|uri| uri.ends_with(&format!("/{name}")))
}

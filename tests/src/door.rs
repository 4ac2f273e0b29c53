//! Every way into a server, for tests of what holds on all of them.

use serde_json::{Value, json};

use crate::{Folder, HttpClient, LineClient, Revision, SseClient, Stage, StdioClient, Talker, WebSocketClient};

/// A way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE.
    Sse,
    /// WebSocket.
    WebSocket,
    /// Plain TCP, a message a line.
    Tcp,
    /// A Unix socket, a message a line.
    Unix,
    /// Standard input and output of `switchyard stdio --connect`, and Streamable HTTP behind it.
    Bridge,
}

impl Door {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Http, Self::Sse, Self::WebSocket, Self::Tcp, Self::Unix, Self::Bridge];

    /// Those whose connection is the session.
    pub const CONNECTIONS: [Self; 4] = [Self::Sse, Self::WebSocket, Self::Tcp, Self::Unix];

    /// A client that has come in and said nothing yet.
    ///
    /// # Panics
    /// When it is not let in.
    pub async fn enter(self, stage: &Stage) -> AnyClient {
        let http = stage.node.mcp();
        match self {
            Self::Http => AnyClient::Http(HttpClient::new(&http)),
            Self::Sse => AnyClient::Sse(Box::new(SseClient::connect(http.address, "/sse").await)),
            Self::WebSocket => AnyClient::WebSocket(WebSocketClient::connect(http.address, "/ws").await),
            Self::Tcp => AnyClient::Line(LineClient::tcp(stage.node.tcp()).await),
            Self::Unix => AnyClient::Line(LineClient::unix(stage.unix_path()).await),
            Self::Bridge => {
                let bridge = StdioClient::start_with(&Folder::empty(), &["--connect", &http.to_string()]);
                AnyClient::Stdio(Box::new(bridge))
            }
        }
    }

    /// A client in a session, which can be asked what `capabilities` say.
    pub async fn session(self, stage: &Stage, revision: Revision, capabilities: &Value) -> AnyClient {
        let mut client = self.enter(stage).await;
        let params = json!({"protocolVersion": revision.date(), "capabilities": capabilities,
            "clientInfo": {"name": "switchyard-tests", "version": "1"}});
        let answer = client.ask("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], revision.date(), "{answer}");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
        client
    }
}

/// A client of any transport.
pub enum AnyClient {
    /// Over Streamable HTTP.
    Http(HttpClient),
    /// Over HTTP+SSE.
    Sse(Box<SseClient>),
    /// Over WebSocket.
    WebSocket(WebSocketClient),
    /// Over a plain socket.
    Line(LineClient),
    /// Over standard input and output.
    Stdio(Box<StdioClient>),
}

impl AnyClient {
    /// Answers a request of the server.
    pub async fn answer(&mut self, request: &Value, result: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string()).await;
    }

    /// Refuses a request of the server.
    pub async fn refuse(&mut self, request: &Value, code: i64, message: &str) {
        let error = json!({"code": code, "message": message});
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string()).await;
    }
}

impl Talker for AnyClient {
    async fn say(&mut self, message: &str) {
        match self {
            Self::Http(client) => client.say(message).await,
            Self::Sse(client) => client.say(message).await,
            Self::WebSocket(client) => client.say(message).await,
            Self::Line(client) => client.say(message).await,
            Self::Stdio(client) => client.say(message).await,
        }
    }

    async fn hear(&mut self) -> Option<Value> {
        match self {
            Self::Http(client) => client.hear().await,
            Self::Sse(client) => client.hear().await,
            Self::WebSocket(client) => client.hear().await,
            Self::Line(client) => client.hear().await,
            Self::Stdio(client) => client.hear().await,
        }
    }

    fn next_id(&mut self) -> i64 {
        match self {
            Self::Http(client) => client.next_id(),
            Self::Sse(client) => client.next_id(),
            Self::WebSocket(client) => client.next_id(),
            Self::Line(client) => client.next_id(),
            Self::Stdio(client) => client.next_id(),
        }
    }

    async fn cancel(&mut self, id: &Value) {
        match self {
            Self::Http(client) => client.cancel(id).await,
            Self::Sse(client) => client.cancel(id).await,
            Self::WebSocket(client) => client.cancel(id).await,
            Self::Line(client) => client.cancel(id).await,
            Self::Stdio(client) => client.cancel(id).await,
        }
    }
}

//! Streamable HTTP for whoever speaks in messages: what is said goes out in a POST, and what comes back on any of the
//! streams is heard in the order in which it came.

use std::{collections::HashMap, panic::resume_unwind, time::Duration};

use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinError, JoinSet},
};

use crate::{Endpoint, Frame, MODERN, PATIENCE, Request, Response, Talker, legacy::BOTH, meta, within};

/// How many messages wait for the test.
const HEARD: usize = 256;

/// A client that need not know what a POST is. Dropping it hangs up everywhere.
#[derive(Debug)]
pub struct HttpClient {
    endpoint: Endpoint,
    /// Whether answers may be streams.
    pub takes_streams: bool,
    /// The session's id and revision, once there is one.
    session: Option<(String, String)>,
    tell: mpsc::Sender<Value>,
    heard: mpsc::Receiver<Value>,
    /// The requests whose answers are coming.
    streams: JoinSet<()>,
    stateless: HashMap<String, AbortHandle>,
    last_id: i64,
}

impl HttpClient {
    /// A client of this endpoint, without a session yet.
    pub fn new(endpoint: &Endpoint) -> Self {
        let (tell, heard) = mpsc::channel(HEARD);
        Self {
            endpoint: endpoint.clone(),
            takes_streams: true,
            session: None,
            tell,
            heard,
            streams: JoinSet::new(),
            stateless: HashMap::new(),
            last_id: 0,
        }
    }

    /// The same client, whose messages go to another gateway from now on.
    pub fn go_to(&mut self, endpoint: &Endpoint) {
        self.endpoint = endpoint.clone();
    }

    /// The session's id.
    ///
    /// # Panics
    /// Before there is one.
    pub fn session(&self) -> &str {
        self.session.as_ref().map(|(id, _)| id).expect("a session was opened")
    }

    fn in_session(&self, request: Request) -> Request {
        let Some((id, revision)) = &self.session else { return request };
        let request = request.header("Mcp-Session-Id", id);
        if matches!(revision.as_str(), "2025-06-18" | "2025-11-25") {
            return request.header("MCP-Protocol-Version", revision);
        }
        request
    }

    async fn shake_hands(&mut self, message: &Value) {
        let response = self.post(message).send().await;
        let id = response.header("mcp-session-id").expect("a session was opened").to_owned();
        let answer = response.json().await;
        let revision = answer["result"]["protocolVersion"].as_str().expect("a revision was agreed on").to_owned();
        self.session = Some((id, revision));
        self.tell.try_send(answer).expect("there is room");
    }

    fn post(&self, message: &Value) -> Request {
        let accept = if self.takes_streams { BOTH } else { "application/json" };
        self.endpoint.request("POST").header("Accept", accept).json(message)
    }

    fn stateless(&self, message: &Value) -> Request {
        let method = message["method"].as_str().expect("a request has a method");
        let request = self.post(message).header("MCP-Protocol-Version", MODERN).header("Mcp-Method", method);
        let name = match method {
            "tools/call" | "prompts/get" => message["params"]["name"].as_str(),
            "resources/read" => message["params"]["uri"].as_str(),
            _ => None,
        };
        name.into_iter().fold(request, |request, name| request.header("Mcp-Name", name))
    }

    /// Sends a request, and lets its answer be heard when it comes.
    fn follow(&mut self, request: Request) -> AbortHandle {
        let tell = self.tell.clone();
        self.streams.spawn(async move {
            // Whoever has hung up hears nothing.
            let Some(response) = request.try_send().await else { return };
            hear(response, &tell).await;
        })
    }

    async fn note(&mut self, message: &Value) {
        let response = self.in_session(self.post(message)).send().await;
        let status = response.status;
        assert_eq!(status, 202, "{message} was refused: {}", response.text().await);
        if message["method"] == "notifications/initialized" {
            let stream = self.in_session(self.endpoint.request("GET")).header("Accept", "text/event-stream");
            let (response, tell) = (stream.send().await, self.tell.clone());
            self.streams.spawn(async move { hear(response, &tell).await });
        }
    }
}

/// What was wrong with a message that nobody waited for is wrong with the test.
impl Drop for HttpClient {
    fn drop(&mut self) {
        while let Some(ended) = self.streams.try_join_next() {
            if !std::thread::panicking() {
                spread(ended);
            }
        }
    }
}

/// Fails as the task did, unless it was only given up.
fn spread(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        resume_unwind(error.into_panic());
    }
}

async fn hear(response: Response, tell: &mpsc::Sender<Value>) {
    if response.media_type() != "text/event-stream" {
        let text = response.text().await;
        if !text.is_empty() {
            let message = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no message: `{text}`"));
            tell.send(message).await.expect("the client lives");
        }
        return;
    }
    let mut events = response.events();
    // As long as the server likes: it is the test that is in a hurry.
    while let Some(frame) = events.frame_within(Duration::MAX).await {
        let Frame::Event(event) = frame else { continue };
        if !event.data.is_empty() && tell.send(event.message()).await.is_err() {
            return;
        }
    }
}

impl Talker for HttpClient {
    async fn say(&mut self, message: &str) {
        let message: Value = serde_json::from_str(message).expect("what is said here is JSON");
        let is_request = message.get("id").is_some() && message.get("method").is_some();
        let is_stateless = message["params"]["_meta"].get(meta("protocolVersion")).is_some();
        if message["method"] == "initialize" && !is_stateless {
            self.shake_hands(&message).await;
        } else if is_request && is_stateless {
            let running = self.follow(self.stateless(&message));
            self.stateless.insert(message["id"].to_string(), running);
        } else if is_request {
            self.follow(self.in_session(self.post(&message)));
        } else {
            self.note(&message).await;
        }
    }

    async fn hear(&mut self) -> Option<Value> {
        let next = async {
            loop {
                tokio::select! {
                    biased;
                    message = self.heard.recv() => return message,
                    Some(ended) = self.streams.join_next() => spread(ended),
                }
            }
        };
        within(PATIENCE, "a message", next).await
    }

    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// A stateless request is given up by hanging up.
    async fn cancel(&mut self, id: &Value) {
        match self.stateless.remove(&id.to_string()) {
            Some(running) => running.abort(),
            None => {
                let params = json!({"requestId": id});
                let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
                self.say(&message.to_string()).await;
            }
        }
    }
}

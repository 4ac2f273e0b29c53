//! A client of HTTP+SSE: a stream to listen to, and an address to POST to.

use std::net::SocketAddr;

use serde_json::Value;

use crate::{EventStream, Request, Talker};

/// A client and its stream. Dropping it hangs up.
#[derive(Debug)]
pub struct SseClient {
    events: EventStream,
    /// What the server said of the address for messages.
    pub endpoint: String,
    /// Where messages go: the address as a client resolves it.
    posts: Request,
    last_id: i64,
}

impl SseClient {
    /// Opens a stream at `path`, such as `/sse`.
    ///
    /// # Panics
    /// When its first event does not say where messages go.
    pub async fn connect(address: SocketAddr, path: &str) -> Self {
        let request = Request::new(address, "GET", path).header("Accept", "text/event-stream");
        let mut events = request.send().await.events();
        let first = events.event().await.expect("a stream begins with an event");
        assert_eq!(first.name, "endpoint");
        let posts = Request::new(address, "POST", &resolved(path, &first.data));
        Self { events, endpoint: first.data, posts, last_id: 0 }
    }

    /// A message on its way to the address for messages, for tests to change.
    pub fn post(&self, body: impl Into<Vec<u8>>) -> Request {
        self.posts.clone().header("Content-Type", "application/json").body(body)
    }

    /// The same stream, whose messages go to another gateway from now on.
    #[must_use]
    pub fn posting_to(mut self, address: SocketAddr) -> Self {
        self.posts = self.posts.to(address).header("Host", &address.to_string());
        self
    }

    /// The next event's name and message.
    ///
    /// # Panics
    /// When the stream ends.
    pub async fn event(&mut self) -> (String, Value) {
        let event = self.events.event().await.expect("the stream stays open");
        (event.name.clone(), event.message())
    }

    /// Hangs up, and returns the address for messages.
    pub fn hang_up(self) -> Request {
        self.posts
    }
}

/// A relative reference, resolved as clients do.
fn resolved(base: &str, reference: &str) -> String {
    if reference.starts_with('/') {
        return reference.to_owned();
    }
    let folder = base.rfind('/').map_or("", |end| &base[..=end]);
    format!("{folder}{reference}")
}

impl Talker for SseClient {
    async fn say(&mut self, message: &str) {
        let response = self.post(message).send().await;
        let status = response.status;
        assert_eq!(status, 202, "{message} was refused: {}", response.text().await);
    }

    async fn hear(&mut self) -> Option<Value> {
        loop {
            match self.events.event().await {
                Some(event) if event.data.is_empty() => {}
                Some(event) => return Some(event.message()),
                None => return None,
            }
        }
    }

    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }
}

//! HTTP/1.1 byte by byte: a request is exactly what the test wrote.
//!
//! Every request has a connection of its own, so dropping its response (or event stream) is the client hanging up.

use std::{fmt, net::SocketAddr};

use futures_util::future::{Either, select};
use serde_json::Value;
use tokio::{
    io::{AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::{PATIENCE, Response, record::Record, response::Head, within};

/// Where MCP is served.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The listener.
    pub address: SocketAddr,
    /// The path on it, such as `/mcp`.
    pub path: String,
}

impl Endpoint {
    /// The endpoint that `http://ADDRESS/PATH` names.
    ///
    /// # Panics
    /// When `url` has another form.
    pub fn parse(url: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("`{url}` is no http URL"));
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        let address = address.parse().unwrap_or_else(|_| panic!("`{url}` has no IP address and port"));
        Self { address, path: format!("/{path}") }
    }

    /// A request to this endpoint.
    pub fn request(&self, method: &str) -> Request {
        Request::new(self.address, method, &self.path)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "http://{}{}", self.address, self.path)
    }
}

/// A request, and where it goes.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) to: SocketAddr,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunked: bool,
}

impl Request {
    /// A request without body; its only header is `Host`.
    pub fn new(to: SocketAddr, method: &str, path: &str) -> Self {
        let headers = vec![("Host".to_owned(), to.to_string())];
        Self { to, method: method.to_owned(), path: path.to_owned(), headers, body: Vec::new(), chunked: false }
    }

    /// Sets a header, spelled as given, in place of one of the same name.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        let mut request = self.without(name);
        request.headers.push((name.to_owned(), value.to_owned()));
        request
    }

    /// Leaves a header out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(existing, _)| !existing.eq_ignore_ascii_case(name));
        self
    }

    /// Sets the path.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    /// Sends to another listener, with the same headers.
    #[must_use]
    pub fn to(mut self, address: SocketAddr) -> Self {
        self.to = address;
        self
    }

    /// Sets the body, with its length in the head.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a JSON body, with its media type.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// Sends the body in chunks, so nobody is told its length.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// Sends it, and returns once the head of the response has come.
    ///
    /// # Panics
    /// When nobody listens, or no response comes.
    pub async fn send(self) -> Response {
        let what = format!("the answer to {} {} at {}", self.method, self.path, self.to);
        within(PATIENCE, &what, self.exchange()).await.unwrap_or_else(|error| panic!("no {what}: {error}"))
    }

    /// Like [`send`](Self::send), but `None` when the connection fails or breaks before a response.
    pub async fn try_send(self) -> Option<Response> {
        let what = format!("the answer to {} {} at {}", self.method, self.path, self.to);
        within(PATIENCE, &what, self.exchange()).await.ok()
    }

    async fn exchange(self) -> std::io::Result<Response> {
        // Made before there is a connection, for a server does not wait for long until a request comes.
        let bytes = self.bytes();
        let record = self.record();
        let stream = TcpStream::connect(self.to).await?;
        stream.set_nodelay(true)?;
        let (read, mut write) = tokio::io::split(stream);
        let mut read = BufReader::new(read);

        // A server may refuse a large body before it has read it; then the answer counts, not the broken write.
        let head = {
            let answered = std::pin::pin!(Head::read(&mut read));
            let sent = std::pin::pin!(write.write_all(&bytes));
            match select(answered, sent).await {
                Either::Left((head, _)) => head?,
                Either::Right((_, answered)) => answered.await?,
            }
        };
        if let Some(session) = head.header("mcp-session-id") {
            record.opened(session);
        }
        let is_post = self.method == "POST";
        Ok(Response::new(head, read, write, record, is_post))
    }

    /// The record that it belongs to, with what it says noted.
    pub(crate) fn record(&self) -> Record {
        let (version, session) = (self.value("MCP-Protocol-Version"), self.value("Mcp-Session-Id"));
        Record::of(&self.body, version, session, session_in(&self.path))
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(existing, _)| existing.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let has_body = !self.body.is_empty() || self.method == "POST";
        if self.chunked {
            head += "Transfer-Encoding: chunked\r\n";
        } else if has_body {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        let mut bytes = (head + "\r\n").into_bytes();
        if self.chunked {
            for chunk in self.body.chunks(64 * 1024) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        } else {
            bytes.extend(&self.body);
        }
        bytes
    }
}

/// The session in an address for messages.
pub(crate) fn session_in(address: &str) -> Option<&str> {
    let (_, query) = address.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("session_id="))
}

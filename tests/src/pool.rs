//! One connection that is kept and used again, as pools of clients do; every other client here opens one a request.

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::{Endpoint, PATIENCE, Request, body::Place, response::Head, within};

/// A connection over which request after request goes, each once the one before has its whole answer.
#[derive(Debug)]
pub struct KeptConnection {
    stream: BufReader<TcpStream>,
}

impl KeptConnection {
    /// Connects.
    ///
    /// # Panics
    /// When nobody listens.
    pub async fn open(endpoint: &Endpoint) -> Self {
        let stream = TcpStream::connect(endpoint.address).await.expect("the listener accepts");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends a request, and returns the status and the last JSON of the answer: its body, or its last event's data.
    ///
    /// # Panics
    /// When the server closes the connection, or its answer ends with it.
    pub async fn exchange(&mut self, request: &Request) -> (u16, Value) {
        within(PATIENCE, "an answer on a kept connection", async {
            let record = request.record();
            self.stream.write_all(&request.bytes()).await.expect("the server reads");
            let head = Head::read(&mut self.stream).await;
            let head = head.unwrap_or_else(|error| panic!("no answer to {request:?} on the same connection: {error}"));
            let mut place = match head.header("content-length") {
                Some(length) => Place::Plain(length.parse().expect("a length is a number")),
                None if head.header("transfer-encoding") == Some("chunked") => Place::ChunkSize(String::new()),
                None if matches!(head.status, 202 | 204) => Place::Ended,
                None => panic!("the answer ends with the connection"),
            };
            let mut body = Vec::new();
            while !matches!(place, Place::Ended | Place::Plain(0)) {
                let byte = self.stream.read_u8().await.expect("the answer comes whole");
                let (_, piece) = place.advance(&[byte]).expect("the answer is framed");
                body.extend(piece.unwrap_or_default());
            }
            if matches!(place, Place::Ended) && head.header("transfer-encoding").is_some() {
                // The empty line behind the last chunk.
                let mut end = [0; 2];
                self.stream.read_exact(&mut end).await.expect("the answer comes whole");
            }
            let text = String::from_utf8(body).expect("the answer is UTF-8");
            if let Some(session) = head.header("mcp-session-id") {
                record.opened(session);
            }
            let events: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            let messages = if events.is_empty() { vec![text.as_str()] } else { events };
            let messages: Vec<_> =
                messages.into_iter().filter_map(|message| serde_json::from_str(message).ok()).collect();
            messages.iter().for_each(|message| record.heard(message));
            (head.status, messages.last().cloned().unwrap_or_default())
        })
        .await
    }
}

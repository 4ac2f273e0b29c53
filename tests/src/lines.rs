//! A client of a plain socket: a message a line.

use std::{net::SocketAddr, path::Path};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpStream, UnixStream},
};

use crate::{PATIENCE, Talker, record::Record, within};

/// A client at the other end of a socket. Dropping it closes the connection.
pub struct LineClient {
    input: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    output: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    last_id: i64,
    /// What was written of a line whose end is to come.
    unfinished: Vec<u8>,
    record: Record,
}

impl LineClient {
    /// Connects to a TCP listener.
    ///
    /// # Panics
    /// When nobody listens.
    pub async fn tcp(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the listener accepts");
        let (read, write) = stream.into_split();
        Self::new(read, write)
    }

    /// Connects to a Unix socket.
    ///
    /// # Panics
    /// When nobody listens.
    pub async fn unix(path: impl AsRef<Path>) -> Self {
        let stream = UnixStream::connect(path).await.expect("the listener accepts");
        let (read, write) = stream.into_split();
        Self::new(read, write)
    }

    fn new(read: impl AsyncRead + Send + Unpin + 'static, write: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (input, output) = (Some(Box::new(write) as _), BufReader::new(Box::new(read) as _));
        Self { input, output, last_id: 0, unfinished: Vec::new(), record: Record::default() }
    }

    /// Writes bytes as they are.
    ///
    /// # Panics
    /// When the server does not read.
    pub async fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).await.expect("the server reads");
    }

    /// The same, for a server that may have closed the connection.
    ///
    /// # Errors
    /// The connection is closed.
    pub async fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.unfinished.extend(bytes);
        if let Some(end) = self.unfinished.iter().rposition(|byte| *byte == b'\n') {
            let lines: Vec<u8> = self.unfinished.drain(..=end).collect();
            lines.split(|byte| *byte == b'\n').for_each(|line| self.record.sent(line));
        }
        let input = self.input.as_mut().expect("it was not ended");
        within(PATIENCE, "the server to read", input.write_all(bytes)).await
    }

    /// Says that nothing more will be said, and goes on listening.
    pub async fn end(&mut self) {
        let mut input = self.input.take().expect("it was not ended before");
        input.shutdown().await.expect("the connection is open");
    }
}

impl Talker for LineClient {
    async fn say(&mut self, message: &str) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        // A reset is a way to close, too.
        match within(PATIENCE, "a message", self.output.read_line(&mut line)).await {
            Ok(0) | Err(_) => None,
            Ok(_) => {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: `{line}`"));
                self.record.heard(&message);
                Some(message)
            }
        }
    }

    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }
}

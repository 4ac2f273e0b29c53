//! `switchyard stdio` and whoever started it, talking over its standard streams.

use std::{
    process::Stdio,
    sync::atomic::{AtomicI64, Ordering},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout},
};

use crate::{Finished, Folder, ModernClient, NodeOptions, PATIENCE, Talker, record::Record, within};

/// A client at the other end of the pipe.
#[derive(Debug)]
pub struct StdioClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: AtomicI64,
    record: Record,
}

impl StdioClient {
    /// Starts the server in `folder`.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(folder: &Folder) -> Self {
        Self::start_with(folder, &[])
    }

    /// Starts the server in `folder`, with more arguments.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start_with(folder: &Folder, arguments: &[&str]) -> Self {
        let mut command = NodeOptions::new(folder, &["stdio"]).arguments(arguments).into_command();
        let mut child = command.stdin(Stdio::piped()).spawn().expect("the program can be started");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, input, output, last_id: AtomicI64::new(0), record: Record::default() }
    }

    /// The same client of a bridge to a server that the test plays by hand, in whose messages only the test's own
    /// shorthand would be judged.
    #[must_use]
    pub fn relayed(self) -> Self {
        self.record.relay();
        self
    }

    /// Writes one line as it is.
    ///
    /// # Panics
    /// When the server does not read.
    pub async fn write(&mut self, line: impl AsRef<[u8]>) {
        line.as_ref().split(|byte| *byte == b'\n').for_each(|line| self.record.sent(line));
        let input = self.input.as_mut().expect("standard input is open");
        let line = [line.as_ref(), b"\n"].concat();
        within(PATIENCE, "the server to read a line", input.write_all(&line)).await.expect("the server reads");
    }

    /// The next line of standard output, which must be a JSON-RPC message; `None` at its end.
    ///
    /// # Panics
    /// When nothing comes, or something else.
    pub async fn message(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = within(PATIENCE, "a message on standard output", self.output.read_line(&mut line)).await;
        if read.expect("standard output is UTF-8") == 0 {
            return None;
        }
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no protocol on stdout: `{line}`"));
        assert!(message.is_array() || message["jsonrpc"] == "2.0", "no protocol on stdout: `{line}`");
        self.record.heard(&message);
        Some(message)
    }

    /// Opens a legacy session and returns what the server says of itself.
    pub async fn handshake(&mut self, version: &str) -> Value {
        let params = json!({"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "switchyard-tests", "version": "1"}});
        let answer = self.legacy("initialize", params).await;
        self.write(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
        answer["result"].clone()
    }

    /// Sends a request of the session and returns its response; notifications before it are passed over.
    pub async fn legacy(&mut self, method: &str, params: Value) -> Value {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed);
        self.write(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
        self.response(&json!(id)).await
    }

    /// Sends a modern request and returns its response.
    pub async fn modern(&mut self, method: &str, params: Value) -> Value {
        self.legacy(method, ModernClient::params(params)).await
    }

    /// The response to the request `id`; notifications before it are passed over.
    ///
    /// # Panics
    /// When standard output ends before it.
    pub async fn response(&mut self, id: &Value) -> Value {
        loop {
            let message = self.message().await.expect("standard output stays open");
            if message.get("method").is_none() && message["id"] == *id {
                return message;
            }
        }
    }

    /// Closes standard input and waits for the server's end. Its last messages are checked like all others.
    pub async fn close(mut self) -> Finished {
        self.input = None;
        while self.message().await.is_some() {}
        let ended = within(PATIENCE, "the end of the server", self.child.wait_with_output()).await;
        let output = ended.expect("it can be waited for");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Finished { code: output.status.code(), stdout: String::new(), stderr }
    }
}

impl Talker for StdioClient {
    async fn say(&mut self, message: &str) {
        self.write(message).await;
    }

    async fn hear(&mut self) -> Option<Value> {
        self.message().await
    }

    fn next_id(&mut self) -> i64 {
        self.last_id.fetch_add(1, Ordering::Relaxed)
    }
}

//! An HTTP server whose every answer the test writes by hand, and whose every request it reads.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{PATIENCE, within};

/// A listener on loopback. Each request has a connection of its own.
#[derive(Debug)]
pub struct Scripted {
    listener: TcpListener,
    address: SocketAddr,
}

/// A request that waits for its answer. Dropping it hangs up.
#[derive(Debug)]
pub struct Asked {
    /// Its method.
    pub method: String,
    head: String,
    /// Its body, as JSON; `Null` for none.
    pub body: Value,
    connection: TcpStream,
}

/// An answer that is a stream of events. Dropping it hangs up.
#[derive(Debug)]
pub struct Streaming(TcpStream);

impl Scripted {
    /// Starts to listen.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        Self { listener, address }
    }

    /// Where it serves.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The next request.
    ///
    /// # Panics
    /// When none comes, or it breaks off.
    pub async fn next(&self) -> Asked {
        let accepted = within(PATIENCE, "a request", self.listener.accept()).await;
        let (mut connection, _) = accepted.expect("connections can be accepted");
        let mut bytes = Vec::new();
        let asked = within(PATIENCE, "a whole request", async {
            loop {
                if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head is text");
                    let length = header(&head, "content-length").map_or(0, |length| length.parse().expect("a number"));
                    if bytes.len() >= end + 4 + length {
                        let body = &bytes[end + 4..];
                        return (
                            head,
                            if body.is_empty() { Value::Null } else { serde_json::from_slice(body).expect("JSON") },
                        );
                    }
                }
                assert!(connection.read_buf(&mut bytes).await.expect("the request comes whole") > 0, "it broke off");
            }
        });
        let (head, body) = asked.await;
        let method = head.split(' ').next().expect("a head begins with a method").to_owned();
        Asked { method, head, body, connection }
    }
}

impl Asked {
    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// Answers with a status, headers and a body.
    pub async fn answer(mut self, status: u16, headers: &[(&str, &str)], body: &str) {
        let mut answer = format!("HTTP/1.1 {status} Answer\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            answer += &format!("{name}: {value}\r\n");
        }
        answer += &format!("\r\n{body}");
        self.connection.write_all(answer.as_bytes()).await.expect("somebody waits for the answer");
    }

    /// Answers with the result of the request, as JSON.
    pub async fn result(self, result: Value) {
        let id = &self.body["id"];
        let answer = serde_json::json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        self.answer(200, &[("Content-Type", "application/json")], &answer).await;
    }

    /// Begins to answer with events.
    pub async fn stream(mut self) -> Streaming {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";
        self.connection.write_all(head.as_bytes()).await.expect("somebody waits for the answer");
        Streaming(self.connection)
    }
}

impl Streaming {
    /// Sends lines as they are.
    pub async fn send(&mut self, lines: &str) {
        self.0.write_all(lines.as_bytes()).await.expect("somebody reads the stream");
    }

    /// Waits until the other side has hung up.
    pub async fn given_up(mut self) {
        let mut rest = [0; 64];
        let end = async { while self.0.read(&mut rest).await.is_ok_and(|read| read > 0) {} };
        within(PATIENCE, "the stream to be given up", end).await;
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    headers.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

//! A web server whose answers the test gives by hand.
//!
//! Tools that ask a URL can so be held in the middle of their work, and the moment at which they give up is seen:
//! they hang up.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{PATIENCE, within};

/// A listener on loopback.
#[derive(Debug)]
pub struct Backend {
    listener: TcpListener,
    address: SocketAddr,
}

impl Backend {
    /// Starts to listen.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        Self { listener, address }
    }

    /// A URL of it; `path` begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The next request, held until the test answers it.
    ///
    /// # Panics
    /// When none comes.
    pub async fn next_request(&self) -> Held {
        let accepted = within(PATIENCE, "a request at the backend", self.listener.accept()).await;
        let (mut connection, _) = accepted.expect("connections can be accepted");
        let mut head = Vec::new();
        while !head.windows(4).any(|window| window == b"\r\n\r\n") {
            let read = within(PATIENCE, "the head of a request", connection.read_buf(&mut head)).await;
            assert!(read.expect("the request comes whole") > 0, "the request broke off");
        }
        let head = String::from_utf8_lossy(&head);
        let path = head.split(' ').nth(1).expect("a request has a path").to_owned();
        Held { path, connection }
    }
}

/// A request that waits for its answer. Dropping it hangs up.
#[derive(Debug)]
pub struct Held {
    /// What was asked for.
    pub path: String,
    connection: TcpStream,
}

impl Held {
    /// Answers with 200 and an empty body.
    pub async fn answer(mut self) {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        self.connection.write_all(answer).await.expect("somebody waits for the answer");
    }

    /// Waits until whoever asked has hung up.
    ///
    /// # Panics
    /// When they go on waiting.
    pub async fn given_up(mut self) {
        let mut rest = [0; 64];
        let end = async {
            // A reset is a way to hang up, too.
            while self.connection.read(&mut rest).await.is_ok_and(|read| read > 0) {}
        };
        within(PATIENCE, "the request to be given up", end).await;
    }
}

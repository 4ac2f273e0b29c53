//! Every transport beside Streamable HTTP: what all of them do, what each does alone, and what they do to bad peers.

#![allow(clippy::unwrap_used)]

mod all;
mod bridge;
mod draining;
mod giving_up;
mod http_sse;
mod ids;
mod limits;
mod pings;
mod progress_words;
mod questions;
mod questions_adapted;
mod questions_by_result;
mod questions_early;
mod questions_late;
mod reports;
mod sockets;
mod sse_cluster;
mod unasked;
mod websocket;

use std::path::PathBuf;

use serde_json::{Value, json};
use switchyard_tests::{Backend, Folder, LineClient, Node, NodeOptions, SseClient, WebSocketClient, eventually};

/// One process with all its doors open, and the folder that it serves.
struct One {
    folder: Folder,
    node: Node,
    sockets: Folder,
}

impl One {
    async fn start() -> Self {
        Self::start_with(json!({})).await
    }

    /// With these options of `server`.
    async fn start_with(server: Value) -> Self {
        let (folder, sockets) = (Folder::sample(), Folder::empty());
        let mut config = folder.config();
        config["server"] = server;
        let unix = sockets.path().join("switchyard");
        let options = NodeOptions::serve(&folder).config(&config);
        let doors = ["--listen-tcp", "127.0.0.1:0", "--listen-unix", unix.to_str().unwrap()];
        let node = options.arguments(&doors).start().await;
        Self { folder, node, sockets }
    }

    async fn websocket(&self) -> WebSocketClient {
        WebSocketClient::connect(self.node.mcp().address, "/ws").await
    }

    async fn sse(&self) -> SseClient {
        SseClient::connect(self.node.mcp().address, "/sse").await
    }

    async fn tcp(&self) -> LineClient {
        LineClient::tcp(self.node.tcp()).await
    }

    async fn unix(&self) -> LineClient {
        LineClient::unix(self.unix_path()).await
    }

    fn unix_path(&self) -> PathBuf {
        self.sockets.path().join("switchyard")
    }

    /// How many streams of a kind are open.
    async fn open(&self, kind: &str) -> usize {
        let metrics = self.node.admin("/metrics").await.text().await;
        let start = format!("switchyard_open_streams{{kind=\"{kind}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&start)).map_or(0, |count| count.parse().unwrap())
    }

    /// Waits until so many streams of a kind are open.
    async fn until_open(&self, kind: &str, count: usize) {
        eventually(&format!("{count} open streams of kind {kind}"), async || {
            (self.open(kind).await == count).then_some(())
        })
        .await;
    }
}

/// The parameters of a call that lasts until the backend answers.
fn held_by(backend: &Backend) -> Value {
    json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}})
}

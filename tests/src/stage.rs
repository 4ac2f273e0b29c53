//! One process with every role and every door open, and beside it a service whose answers the test gives.

use std::path::PathBuf;

use serde_json::{Value, json};
use switchyard_state::testing::RedisServer;

use crate::{Folder, ModernClient, Node, NodeOptions, Offered, ServiceNode};

/// A server, what it serves, and the service that stands beside it.
pub struct Stage {
    /// The service.
    pub service: ServiceNode,
    /// The server.
    pub node: Node,
    /// What the server itself serves.
    pub folder: Folder,
    /// Where both find each other.
    pub redis: RedisServer,
    sockets: Folder,
}

impl Stage {
    /// A stage whose service offers one tool, `held`, and one prompt of that name without arguments.
    pub async fn start() -> Self {
        let prompt = Offered::prompt_like(&json!({"name": "held"}));
        Self::start_with(&[Offered::tool("held"), prompt], &json!({})).await
    }

    /// A stage whose service offers this, with these options of `server`.
    pub async fn start_with(offered: &[Offered], server: &Value) -> Self {
        let (folder, sockets, redis) = (Folder::sample(), Folder::empty(), RedisServer::start().await);
        let mut config = folder.config();
        config["server"] = server.clone();
        let unix = sockets.path().join("switchyard");
        let options = NodeOptions::serve(&folder).config(&config);
        let doors = ["--listen-tcp", "127.0.0.1:0", "--listen-unix", unix.to_str().expect("a path is text")];
        let member = ["--redis", &redis.url(), "--bus-listen", "127.0.0.1:0"];
        let node = options.arguments(&doors).arguments(&member).start().await;
        let service = ServiceNode::start(&redis, offered).await;
        let stage = Self { service, node, folder, redis, sockets };
        stage.service.known_to(&stage.modern()).await;
        stage
    }

    /// A stateless client.
    pub fn modern(&self) -> ModernClient {
        ModernClient::new(&self.node.mcp())
    }

    /// Where clients of the Unix socket connect.
    pub fn unix_path(&self) -> PathBuf {
        self.sockets.path().join("switchyard")
    }

    /// The value of a metric without labels; 0 where it was never counted.
    ///
    /// # Panics
    /// When its value is no number.
    pub async fn metric(&self, name: &str) -> f64 {
        let metrics = self.node.admin("/metrics").await.text().await;
        let start = format!("{name} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&start));
        value.map_or(0.0, |value| value.parse().expect("a metric is a number"))
    }
}

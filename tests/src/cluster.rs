//! A cluster of separate processes around a Redis of its own.

use serde_json::json;
use switchyard_state::testing::RedisServer;

use crate::{Balancer, Endpoint, Folder, LegacyClient, ModernClient, Node, NodeOptions, Revision, eventually};

/// How many nodes of each role a cluster begins with.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Where clients connect.
    pub gateways: usize,
    /// Nodes that run tools.
    pub tools: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Self { gateways: 2, tools: 1 }
    }
}

/// Separate processes, one role each, one node of the roles that [`Shape`] does not count. They serve one folder.
pub struct Cluster {
    /// What everybody serves.
    pub folder: Folder,
    /// Where the state is.
    pub redis: RedisServer,
    /// Where clients connect, in the order of their start.
    pub gateways: Vec<Node>,
    /// The nodes that run tools, in the order of their start.
    pub tools: Vec<Node>,
    /// The nodes of the other roles.
    pub others: Vec<Node>,
    environment: Vec<(String, String)>,
}

impl Cluster {
    /// Starts a cluster of this shape.
    pub async fn start(shape: Shape) -> Self {
        Self::start_with(shape, &[]).await
    }

    /// Starts a cluster whose nodes have these environment variables.
    pub async fn start_with(shape: Shape, environment: &[(&str, &str)]) -> Self {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let redis = RedisServer::start().await;
        let mut cluster = Self {
            folder: Folder::sample(),
            redis,
            gateways: Vec::new(),
            tools: Vec::new(),
            others: Vec::new(),
            environment,
        };
        for role in ["events", "resources", "prompts"] {
            let node = cluster.node(role).await;
            cluster.others.push(node);
        }
        for _ in 0..shape.tools {
            let node = cluster.node("tools").await;
            cluster.tools.push(node);
        }
        for _ in 0..shape.gateways {
            let node = cluster.node("gateway").await;
            cluster.gateways.push(node);
        }
        cluster.settle().await;
        cluster
    }

    /// Starts one more node. It is for the caller to keep.
    pub async fn node(&self, role: &str) -> Node {
        let options = NodeOptions::serve(&self.folder).config(&self.folder.config()).member(&self.redis.url(), role);
        let set = |options: NodeOptions, (name, value): &(String, String)| options.env(name, value);
        self.environment.iter().fold(options, set).start().await
    }

    /// A balancer in front of the gateways there are now.
    pub async fn balancer(&self) -> Balancer {
        Balancer::start(self.gateways.iter().map(Node::mcp)).await
    }

    /// Where the gateway that was started as number `index` is.
    pub fn gateway(&self, index: usize) -> Endpoint {
        self.gateways[index].mcp()
    }

    /// A legacy session, opened at the first gateway.
    pub async fn legacy(&self, revision: Revision) -> LegacyClient {
        LegacyClient::connect(&self.gateway(0), revision).await
    }

    /// A modern client of one gateway.
    pub fn modern(&self, index: usize) -> ModernClient {
        ModernClient::new(&self.gateway(index))
    }

    /// Waits until every gateway knows what the cluster offers.
    async fn settle(&self) {
        for gateway in &self.gateways {
            let client = ModernClient::new(&gateway.mcp());
            eventually("a gateway to know every service", async || {
                for (method, list) in
                    [("tools/list", "tools"), ("prompts/list", "prompts"), ("resources/list", "resources")]
                {
                    let reply = client.request(method, json!({})).await;
                    let entries = reply.message["result"][list].as_array()?;
                    if entries.is_empty() {
                        return None;
                    }
                }
                Some(())
            })
            .await;
        }
    }
}

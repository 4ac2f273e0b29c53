//! One process with all roles, seen from outside: both eras, every status and code that clients rely on.

#![allow(clippy::unwrap_used)]

mod admin;
mod batches;
mod cancelling;
mod configuration;
mod content;
mod discovery;
mod envelopes;
mod eras;
mod handshake;
mod headers;
mod ids;
mod ladder;
mod lifecycle;
mod lists;
mod long_calls;
mod origins;
mod pools;
mod private;
mod prompts;
mod resources;
mod resuming;
mod resuming_questions;
mod sessions;
mod sizes;
mod stdio;
mod streams;
mod subscriptions;
mod tools;
mod updates;

use serde_json::Value;
use switchyard_tests::{Endpoint, Folder, LegacyClient, ModernClient, Node, NodeOptions, Revision};

/// One process and the folder that it serves.
struct One {
    folder: Folder,
    node: Node,
}

impl One {
    /// Serves a sample folder.
    async fn start() -> Self {
        let folder = Folder::sample();
        let config = folder.config();
        Self::with(folder, &config).await
    }

    /// Serves a sample folder with more in its configuration: members of `more` replace those of the usual one.
    async fn start_with(more: Value) -> Self {
        let folder = Folder::sample();
        let mut config = folder.config();
        for (name, value) in more.as_object().expect("a configuration is an object") {
            config[name] = value.clone();
        }
        Self::with(folder, &config).await
    }

    async fn with(folder: Folder, config: &Value) -> Self {
        let node = NodeOptions::serve(&folder).config(config).start().await;
        Self { folder, node }
    }

    fn mcp(&self) -> Endpoint {
        self.node.mcp()
    }

    async fn legacy(&self, revision: Revision) -> LegacyClient {
        LegacyClient::connect(&self.mcp(), revision).await
    }

    fn modern(&self) -> ModernClient {
        ModernClient::new(&self.mcp())
    }
}

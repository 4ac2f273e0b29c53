//! The peer: rmcp as its own examples set it up, with the same echo tool.
//!
//! It answers 2026-07-28 without a session, in plain JSON (its faster form), and 2025-11-25 in sessions.

use std::net::Ipv4Addr;

use axum::serve::ListenerExt;
use rmcp::{
    ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    model::{ServerCapabilities, ServerConfig},
    schemars, tool, tool_handler, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};

use crate::{error::BenchError, servers};

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct EchoArguments {
    /// What to say back.
    message: String,
}

#[derive(Clone)]
struct Peer {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Peer {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Says back what it was told.")]
    async fn echo(&self, Parameters(EchoArguments { message }): Parameters<EchoArguments>) -> String {
        message
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

/// Serves until the process is ended, on the runtime that one gets by default.
pub fn serve(port: u16) -> Result<(), BenchError> {
    let runtime = tokio::runtime::Runtime::new().map_err(|source| BenchError::Runtime { source })?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(BenchError::serve)?;
        servers::announce("clients", listener.local_addr().map_err(BenchError::serve)?);
        // Its event streams are several small writes, which would otherwise wait for each other's acknowledgement.
        let listener = listener.tap_io(|socket| socket.set_nodelay(true).unwrap_or_default());
        // A clone of one server for every session or request: building the router anew would only cost it time.
        let peer = Peer::new();
        let service: StreamableHttpService<Peer, LocalSessionManager> = StreamableHttpService::new(
            move || Ok(peer.clone()),
            Default::default(),
            StreamableHttpServerConfig::default().with_json_response(true),
        );
        let router = axum::Router::new().nest_service("/mcp", service);
        axum::serve(listener, router).await.map_err(BenchError::serve)
    })
}

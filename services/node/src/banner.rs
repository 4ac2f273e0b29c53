//! What a person reads when the server starts: where it is, what it serves, and how to connect a client.

use std::{fmt::Write, net::SocketAddr, path::Path};

use serde_json::json;

/// What is told.
pub struct Banner<'a> {
    /// Where clients connect.
    pub clients: SocketAddr,
    /// Where operators look.
    pub admin: SocketAddr,
    /// The directories served, as they were configured.
    pub directories: Vec<String>,
    /// The numbers of tools, prompts, templates and resource providers.
    pub offers: (usize, usize, usize, usize),
    /// The one directory served, where it is all that distinguishes this server from one without options.
    pub directory: Option<&'a Path>,
    /// The configuration file, which a client that starts the server itself needs too.
    pub config: Option<&'a Path>,
    /// The cluster's name, if there is one.
    pub cluster: Option<&'a str>,
}

impl Banner<'_> {
    /// The text, with an empty line around each part.
    pub fn text(&self) -> String {
        let url = format!("http://{}/mcp", named(self.clients));
        let (tools, prompts, _, _) = self.offers;
        let mut text = format!("\nSwitchyard {} serves MCP at {url}\n\n", env!("CARGO_PKG_VERSION"));
        for directory in &self.directories {
            _ = writeln!(text, "  files     {directory} (read-only)");
        }
        _ = writeln!(text, "  tools     {tools}");
        _ = writeln!(text, "  prompts   {prompts}");
        match self.cluster {
            Some(cluster) => _ = writeln!(text, "  cluster   {cluster}"),
            None => _ = writeln!(text, "  state     in this process; it is gone when the process ends"),
        }
        _ = writeln!(text, "  operators http://{} (/metrics, /healthz, /readyz)", named(self.admin));
        _ = writeln!(text, "\nClients that speak Streamable HTTP:\n\n{:#}", http_client(&url));
        if self.cluster.is_none() {
            _ = writeln!(text, "\nClients that start the server themselves (stdio):\n\n{:#}", self.stdio_client());
        }
        _ = writeln!(text, "\nCtrl-C stops it.");
        text
    }

    fn stdio_client(&self) -> serde_json::Value {
        let program = std::env::current_exe().map_or_else(|_| "switchyard".into(), |path| path.display().to_string());
        let mut args = vec!["stdio".to_owned()];
        // Clients start it wherever they like, so the directory is named.
        args.extend(self.directory.map(|directory| directory.display().to_string()));
        if let Some(config) = self.config {
            let config = std::path::absolute(config).unwrap_or_else(|_| config.to_owned());
            args.extend(["--config".to_owned(), config.display().to_string()]);
        }
        json!({ "mcpServers": { "switchyard": { "command": program, "args": args } } })
    }
}

fn http_client(url: &str) -> serde_json::Value {
    json!({ "mcpServers": { "switchyard": { "type": "http", "url": url } } })
}

/// An address as a client on this machine writes it.
fn named(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("localhost:{}", address.port());
    }
    address.to_string()
}

//! The command line.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};
use serde_json::json;
use switchyard_config::Sources;

use crate::options::Role;

/// An MCP server: one process on a laptop, or a cluster of any size.
#[derive(Debug, Parser)]
#[command(name = "switchyard", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve clients over HTTP: everything in this process, or the roles named of a cluster
    ///
    /// Without options it serves the files below the current directory, the built-in tools and the sample prompts at
    /// http://127.0.0.1:3000/mcp, keeping its state in memory. Every key of the configuration file can also be set by
    /// an environment variable: `server.port` is SWITCHYARD_SERVER_PORT.
    Serve(Box<ServeArgs>),

    /// Serve one client over standard input and output, as desktop applications start it
    Stdio(StdioArgs),

    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Ask a running node whether it is well; exits 0 when it is
    Health(HealthArgs),
}

/// Options of `serve`.
#[derive(Debug, Default, Args)]
pub struct ServeArgs {
    /// The directory whose files are served, read-only [default: the current one]
    #[arg(value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,

    /// The configuration file, JSON or YAML
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The address that clients connect to [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub host: Option<String>,

    /// The port that clients connect to; 0 takes a free one [default: 3000]
    #[arg(long, short)]
    pub port: Option<u16>,

    /// Serve newline-delimited messages over plain TCP, too; a loopback address [default: nowhere]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen_tcp: Option<SocketAddr>,

    /// Let --listen-tcp be an address that other machines reach; whoever connects there is served
    #[arg(long)]
    pub allow_remote_tcp: bool,

    /// Serve newline-delimited messages over a Unix socket, too, made for this user alone [default: nowhere]
    #[arg(long, value_name = "PATH")]
    pub listen_unix: Option<PathBuf>,

    /// A role of this node; repeat it for more [default: all of them]
    #[arg(long = "role", value_name = "ROLE", value_delimiter = ',')]
    pub roles: Vec<Role>,

    /// The Redis of the cluster, such as redis://10.0.0.5:6379; without one the state stays in this process
    #[arg(long, value_name = "URL")]
    pub redis: Option<String>,

    /// The cluster's name: nodes with one name and one Redis belong together [default: switchyard]
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,

    /// Where other nodes reach this one [default: the address that leads to Redis, with the bus port]
    #[arg(long, value_name = "HOST:PORT")]
    pub advertise: Option<String>,

    /// Where this node listens for other nodes, in a cluster [default: 0.0.0.0:3100]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub bus_listen: Option<SocketAddr>,

    /// Where /metrics, /healthz, /readyz and grpc.health.v1 are [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub admin_listen: Option<SocketAddr>,

    /// What is logged: a level, or levels by module such as `warn,switchyard_gateway=debug` [default: info]
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,

    /// How log lines look: compact, pretty or json [default: compact]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
}

/// Options of `stdio`.
#[derive(Debug, Args)]
pub struct StdioArgs {
    /// The directory whose files are served, read-only [default: the current one]
    #[arg(value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,

    /// The configuration file, JSON or YAML
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Serve what the MCP server at this URL serves, by Streamable HTTP, in place of this machine's own files and tools
    #[arg(long, value_name = "URL", conflicts_with_all = ["directory", "config"])]
    pub connect: Option<String>,

    /// What is logged, to standard error: a level, or levels by module [default: warn]
    #[arg(long, value_name = "FILTER", default_value = "warn", hide_default_value = true)]
    pub log: String,
}

/// What can be looked at.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the JSON Schema of the configuration file
    Schema,
    /// Check a configuration file without starting anything; exits 0 when it is right
    Check {
        /// The file
        file: PathBuf,
    },
}

/// Options of `health`.
#[derive(Debug, Args)]
pub struct HealthArgs {
    /// The node's admin listener
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9090")]
    pub admin: SocketAddr,
}

/// Environment variables that begin like options and are none: the log says itself what it reads, the others are for
/// docker-compose.
const NOT_OPTIONS: [&str; 4] = ["SWITCHYARD_LOG", "SWITCHYARD_IMAGE", "SWITCHYARD_DATA", "SWITCHYARD_PORT"];

fn common(config: Option<PathBuf>, directory: Option<PathBuf>) -> Sources {
    let mut sources = Sources::new().environment(std::env::vars_os()).except(NOT_OPTIONS);
    if let Some(file) = config {
        sources = sources.file(file);
    }
    if let Some(directory) = directory {
        let directory = directory.to_string_lossy();
        sources = sources.option("DIRECTORY", "resources", json!([{ "type": "filesystem", "path": directory }]));
    }
    sources
}

impl ServeArgs {
    /// Where the configuration comes from.
    pub fn sources(self) -> Sources {
        let roles: Vec<_> = self.roles.iter().map(|role| role.name()).collect();
        let texts = [
            ("--host", "server.host", self.host),
            ("--listen-tcp", "server.listenTcp", self.listen_tcp.map(|address| address.to_string())),
            ("--listen-unix", "server.listenUnix", self.listen_unix.map(|path| path.to_string_lossy().into_owned())),
            ("--redis", "cluster.redis", self.redis),
            ("--cluster", "cluster.name", self.cluster),
            ("--advertise", "cluster.advertise", self.advertise),
            ("--bus-listen", "cluster.listen", self.bus_listen.map(|address| address.to_string())),
            ("--admin-listen", "admin.listen", self.admin_listen.map(|address| address.to_string())),
            ("--log", "telemetry.log", self.log),
            ("--log-format", "telemetry.logFormat", self.log_format),
        ];
        let mut sources = common(self.config, self.directory);
        for (name, path, value) in texts {
            if let Some(value) = value {
                sources = sources.option(name, path, value);
            }
        }
        if let Some(port) = self.port {
            sources = sources.option("--port", "server.port", port);
        }
        if self.allow_remote_tcp {
            sources = sources.option("--allow-remote-tcp", "server.allowRemoteTcp", true);
        }
        if !roles.is_empty() {
            sources = sources.option("--role", "cluster.roles", roles);
        }
        sources
    }
}

impl StdioArgs {
    /// Where the configuration comes from.
    pub fn sources(self) -> Sources {
        common(self.config, self.directory).option("--log", "telemetry.log", self.log)
    }
}

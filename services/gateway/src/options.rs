//! Options of the gateway role.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use switchyard_access::{AllowedHost, AllowedOrigin};
use switchyard_config::duration;

/// Where clients connect, and what they may ask for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct GatewayOptions {
    /// The address that clients connect to. Anything but a loopback address is reachable from other machines.
    pub host: IpAddr,

    /// The port that clients connect to; 0 takes a free one.
    pub port: u16,

    /// Where clients connect that speak newline-delimited messages over plain TCP, such as `127.0.0.1:3001`; by
    /// default nowhere.
    pub listen_tcp: Option<SocketAddr>,

    /// Lets `listenTcp` be an address that other machines reach. Whoever connects there is served.
    pub allow_remote_tcp: bool,

    /// Where clients connect that speak newline-delimited messages over a Unix socket: a path that is made at the
    /// start for this user alone, and removed at the end; by default nowhere.
    pub listen_unix: Option<PathBuf>,

    /// Serves TLS. Not supported yet: only `false` is accepted.
    pub ssl_enabled: bool,

    /// Web pages that may connect, such as `https://app.example.com`; pages of this machine always may.
    pub allowed_origins: Vec<AllowedOrigin>,

    /// Names under which clients reach this server, such as `mcp.example.com`. While it listens on a loopback
    /// address only loopback names are accepted beside them; elsewhere an empty list accepts any name.
    pub allowed_hosts: Vec<AllowedHost>,

    /// The largest request body accepted, in bytes.
    pub max_body_bytes: usize,

    /// How long a request's body may take to arrive, such as `30s`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub body_timeout: Duration,

    /// How long a session outlives its last request or open stream, such as `30m`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub session_ttl: Duration,

    /// How often an idle stream carries a comment, so that nobody between takes it for dead.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub keep_alive: Duration,

    /// How long a client should wait before it comes back for the rest of a stream, where its revision has a way to say
    /// that.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub stream_retry: Duration,

    /// How long a client on a connection of its own (WebSocket, HTTP+SSE, sockets) may be silent, such as `5m`. Before
    /// that it is asked for a sign of life: over WebSocket each `keepAlive`, in sessions on the others after half of it.
    /// One that waits for an answer is not silent.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub idle_timeout: Duration,

    /// How long a client may leave what is sent to it unread before its connection is cut, such as `30s`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub write_timeout: Duration,

    /// How long a call may run before its answer becomes a stream.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub stream_after: Duration,

    /// How long a call may go without progress where its tool does not say, such as `5m`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub call_timeout: Duration,

    /// How long a call may run in all, whatever it reports.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub call_timeout_max: Duration,

    /// How long a client without a session may take to answer what a call asked it, such as `1h`; after that its
    /// `requestState` is refused.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub answer_timeout: Duration,

    /// How many calls run through this gateway at a time; more are refused at once.
    pub max_calls: usize,

    /// How many streams for notifications are open at this gateway at a time; more are refused at once.
    pub max_streams: usize,

    /// How many clients are on connections of their own (WebSocket, HTTP+SSE, sockets) at this gateway at a time; more
    /// are refused at once.
    pub max_connections: usize,

    /// How many requests of one such connection run at a time, open streams of notifications included; more are
    /// refused at once.
    pub max_requests_per_connection: usize,

    /// How many entries a page of a list has.
    pub page_size: u32,

    /// How many threads serve connections; 0 for one a processor.
    pub workers: usize,

    /// What a client is told this server is for.
    pub instructions: String,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            host: [127, 0, 0, 1].into(),
            port: 3000,
            listen_tcp: None,
            allow_remote_tcp: false,
            listen_unix: None,
            ssl_enabled: false,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            max_body_bytes: 4 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            session_ttl: Duration::from_secs(30 * 60),
            keep_alive: Duration::from_secs(15),
            stream_retry: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(5 * 60),
            write_timeout: Duration::from_secs(30),
            stream_after: Duration::from_secs(1),
            call_timeout: Duration::from_secs(5 * 60),
            call_timeout_max: Duration::from_secs(60 * 60),
            answer_timeout: Duration::from_secs(60 * 60),
            max_calls: 10_000,
            max_streams: 20_000,
            max_connections: 10_000,
            max_requests_per_connection: 256,
            page_size: 200,
            workers: 0,
            instructions: String::new(),
        }
    }
}

//! The configuration as a whole: each part's own options under one roof.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;
use switchyard_access::Access;
use switchyard_bus::BusOptions;
use switchyard_config::duration;
use switchyard_events::EventsOptions;
use switchyard_gateway::GatewayOptions;
use switchyard_prompts::PromptOptions;
use switchyard_resources::{ResourceOptions, ServiceOptions};
use switchyard_state::{LogLimits, ReplyLimits, redis::RedisOptions};
use switchyard_tasks::TaskOptions;
use switchyard_telemetry::TelemetryOptions;
use switchyard_tools::{ToolLimits, ToolOptions};

/// The configuration of a Switchyard node. One file serves every node of a cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Options {
    /// Where clients connect, and what they may ask for.
    pub server: GatewayOptions,
    /// What is served as resources; by default the files below the current directory.
    pub resources: Vec<ResourceOptions>,
    /// How resources are read.
    pub resource_limits: ServiceOptions,
    /// Settings of built-in tools; one that is not listed is as it is by default.
    pub tools: Vec<ToolOptions>,
    /// How many tools run.
    pub tool_limits: ToolLimits,
    /// When calls become tasks, and how long those are kept.
    pub tasks: TaskOptions,
    /// Where prompts come from.
    pub prompts: PromptOptions,
    /// How events are kept.
    pub events: EventsOptions,
    /// What this node is in a cluster.
    pub cluster: ClusterOptions,
    /// The bus between nodes.
    pub bus: BusOptions,
    /// Where operators look.
    pub admin: AdminOptions,
    /// How the node stops.
    pub drain: DrainOptions,
    /// Logs and traces.
    pub telemetry: TelemetryOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            server: GatewayOptions::default(),
            resources: vec![ResourceOptions::default()],
            resource_limits: ServiceOptions::default(),
            tools: Vec::new(),
            tool_limits: ToolLimits::default(),
            tasks: TaskOptions::default(),
            prompts: PromptOptions::default(),
            events: EventsOptions::default(),
            cluster: ClusterOptions::default(),
            bus: BusOptions::default(),
            admin: AdminOptions::default(),
            drain: DrainOptions::default(),
            telemetry: TelemetryOptions::default(),
        }
    }
}

/// What a node is in a cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterOptions {
    /// The roles of this node.
    pub roles: Vec<Role>,

    /// The Redis that the cluster shares, such as `redis://:password@10.0.0.5:6379`. Without it the state stays in this
    /// process, which then has all roles.
    pub redis: Option<Secret>,

    /// The cluster's name: nodes with one name and one Redis belong together.
    pub name: String,

    /// Where this node listens for other nodes.
    pub listen: SocketAddr,

    /// Where other nodes reach this one, as `host:port`; by default the address that leads to Redis, with the port of
    /// `listen`.
    pub advertise: Option<String>,

    /// How long Redis may take to answer before it counts as away, such as `1s`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub redis_timeout: Duration,

    /// How much of the event log is kept.
    pub log: LogLimits,

    /// How much is kept of the replies that clients of sessions may go on with after their stream broke off.
    pub replies: ReplyLimits,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            roles: Role::ALL.to_vec(),
            redis: None,
            name: "switchyard".into(),
            listen: ([0, 0, 0, 0], 3100).into(),
            advertise: None,
            redis_timeout: Duration::from_secs(1),
            log: LogLimits::default(),
            replies: ReplyLimits::default(),
        }
    }
}

/// A text that is never printed.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("…")
    }
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Takes clients' connections.
    Gateway,
    /// Runs tools.
    Tools,
    /// Lists, reads and watches resources.
    Resources,
    /// Renders prompts.
    Prompts,
    /// Keeps the event log and feeds gateways from it.
    Events,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 5] = [Self::Gateway, Self::Tools, Self::Resources, Self::Prompts, Self::Events];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
            Self::Events => "events",
        }
    }
}

/// Where operators look.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AdminOptions {
    /// Where `/metrics`, `/healthz`, `/readyz` and `grpc.health.v1` are.
    pub listen: SocketAddr,
}

impl Default for AdminOptions {
    fn default() -> Self {
        Self { listen: ([127, 0, 0, 1], 9090).into() }
    }
}

/// How a node stops.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DrainOptions {
    /// How long a node of a cluster goes on serving once it was told to stop, so that balancers and other nodes learn
    /// of it, such as `3s`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub delay: Duration,

    /// How long everything that runs may take to finish, the delay included, such as `25s`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub grace: Duration,
}

impl Default for DrainOptions {
    fn default() -> Self {
        Self { delay: Duration::from_secs(3), grace: Duration::from_secs(25) }
    }
}

/// What is wrong with options that fit their schema.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// Something that comes later.
    #[error("`{key}`: {what} is not supported yet; {instead}")]
    NotYet {
        /// The key.
        key: &'static str,
        /// What was asked for.
        what: &'static str,
        /// What is possible.
        instead: &'static str,
    },

    /// Roles without a cluster.
    #[error(
        "`cluster.roles`: a node with some of the roles needs a cluster; `cluster.redis` (`--redis URL`) says which"
    )]
    RolesWithoutRedis,

    /// A node that does nothing.
    #[error("`cluster.roles`: a node has at least one role of gateway, tools, resources, prompts and events")]
    NoRoles,

    /// A door for everybody, without saying so.
    #[error(
        "`server.listenTcp`: other machines reach `{address}`, and whoever connects there is served; \
         `server.allowRemoteTcp` (`--allow-remote-tcp`) says that this is meant"
    )]
    RemoteTcp {
        /// The address.
        address: SocketAddr,
    },

    /// A Redis that cannot be one.
    #[error("`cluster.redis`: {reason}")]
    Redis {
        /// What is wrong with it.
        reason: String,
    },

    /// A time in which nothing can happen.
    #[error("`{key}` must be longer than 0")]
    NoTime {
        /// The key.
        key: &'static str,
    },

    /// A bound that lets nothing through.
    #[error("`{key}` must be at least 1")]
    Zero {
        /// The key.
        key: &'static str,
    },
}

impl Options {
    /// What the schema cannot say.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn check(&self) -> Result<Access, OptionsError> {
        if self.server.ssl_enabled {
            let instead = "put a proxy that does TLS in front, and set it to `false`";
            return Err(OptionsError::NotYet { key: "server.sslEnabled", what: "TLS", instead });
        }
        if self.cluster.roles.is_empty() {
            return Err(OptionsError::NoRoles);
        }
        if self.cluster.redis.is_none() && Role::ALL.iter().any(|role| !self.has(*role)) {
            return Err(OptionsError::RolesWithoutRedis);
        }
        if let Some(address) = self.server.listen_tcp
            && !address.ip().to_canonical().is_loopback()
            && !self.server.allow_remote_tcp
        {
            return Err(OptionsError::RemoteTcp { address });
        }
        for (key, bound) in [
            ("server.maxBodyBytes", self.server.max_body_bytes),
            ("server.maxCalls", self.server.max_calls),
            ("server.maxStreams", self.server.max_streams),
            ("server.maxConnections", self.server.max_connections),
            ("server.maxRequestsPerConnection", self.server.max_requests_per_connection),
            ("server.pageSize", self.server.page_size as usize),
            ("bus.maxMessageBytes", self.bus.max_message_bytes),
        ] {
            if bound == 0 {
                return Err(OptionsError::Zero { key });
            }
        }
        for (key, time) in [
            ("server.bodyTimeout", self.server.body_timeout),
            ("server.sessionTtl", self.server.session_ttl),
            ("server.keepAlive", self.server.keep_alive),
            ("server.callTimeout", self.server.call_timeout),
            ("server.callTimeoutMax", self.server.call_timeout_max),
            ("cluster.redisTimeout", self.cluster.redis_timeout),
            ("drain.grace", self.drain.grace),
            ("tasks.ttl", self.tasks.ttl),
            ("tasks.pollInterval", self.tasks.poll_interval),
        ] {
            if time.is_zero() {
                return Err(OptionsError::NoTime { key });
            }
        }
        Ok(Access::new(&self.server.allowed_origins, &self.server.allowed_hosts, self.server.host))
    }

    /// Whether this node has a role.
    pub fn has(&self, role: Role) -> bool {
        self.cluster.roles.contains(&role)
    }

    /// The address that clients connect to.
    pub const fn clients(&self) -> (IpAddr, u16) {
        (self.server.host, self.server.port)
    }

    /// The Redis of the cluster, if there is a cluster.
    pub fn redis(&self) -> Option<RedisOptions> {
        let url = self.cluster.redis.as_ref()?.0.clone();
        let timeout = u64::try_from(self.cluster.redis_timeout.as_millis()).unwrap_or(u64::MAX);
        Some(RedisOptions {
            url,
            cluster: self.cluster.name.clone(),
            timeout_ms: timeout.try_into().unwrap_or(RedisOptions::default().timeout_ms),
            log: self.cluster.log.clone(),
            replies: self.cluster.replies.clone(),
            tasks: self.tasks.limits(),
        })
    }
}

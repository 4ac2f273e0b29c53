//! One process: its services, its place in the cluster, its listeners, and how it stops.
//!
//! Everything that can be wrong with options ends the start before a port opens. Ports open before anything is
//! announced. A node that is told to stop first leaves the registry, then finishes what runs.

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use switchyard_access::Access;
use switchyard_bus::{Bus, Discovery, Health, Local};
use switchyard_events::EventService;
use switchyard_files::Watching;
use switchyard_gateway::{Dispatch, Gateway, Ledger, Letterbox, Parts, sockets, stdio};
use switchyard_prompts::PromptService;
use switchyard_resources::{ResourceOptions, ResourceService};
use switchyard_state::{Entry, Limits, NodeId, NodeRecord, Registry, StoreError, Stores, memory, redis};
use switchyard_telemetry::{Guard, Metrics, TelemetryOptions};
use switchyard_tools::{Backends, ToolService};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::{oneshot, watch},
    time::{Instant, timeout_at},
};
use tracing::{info, warn};

use crate::{
    NodeError, admin,
    banner::Banner,
    bridge,
    listeners::{self, bind},
    options::{Options, OptionsError, Role},
    publish::ByBus,
    report,
    signals::StopSignals,
    unix_socket::UnixSocket,
};

/// What the command line said that a client which starts the server itself has to say too.
#[derive(Clone, Copy, Debug)]
pub struct Started<'a> {
    /// The configuration file.
    pub config: Option<&'a Path>,
    /// The directory to serve.
    pub directory: Option<&'a Path>,
}

/// How often the state store is asked whether it is there.
const STORE_CHECK: Duration = Duration::from_secs(1);

/// How long the last traces may take to leave.
const LAST_TRACES: Duration = Duration::from_secs(2);

/// The services of this node, and what they offer.
struct Services {
    local: Local,
    entries: Vec<watch::Receiver<Vec<Entry>>>,
    ledger: Ledger,
    /// What watches files, to be told when the node stops.
    watching: Option<Arc<ResourceService>>,
    /// Keep the pictures of directories current that are searched here and served elsewhere.
    pictures: Vec<Watching>,
    /// Gives the services the bus once there is one.
    bus: watch::Sender<Option<Bus>>,
}

/// A node that takes part in the cluster, or is all of it.
struct Node {
    id: NodeId,
    bus: Bus,
    discovery: Discovery,
    gateway: Option<Arc<Gateway>>,
    /// Kept for as long as the node is.
    _pictures: Vec<Watching>,
}

/// Whether services could be made of these options, without keeping them.
///
/// # Errors
/// What is wrong.
pub fn check(options: &Options) -> Result<(), NodeError> {
    let (runtime, _) = runtime()?;
    runtime.block_on(async {
        stores(options)?;
        make_services(options, &memory::stores(), &node_id(), &Metrics::new()).await.map(drop)
    })
}

/// Serves clients over HTTP, and other nodes, until a signal says to stop.
///
/// # Errors
/// The node could not start.
pub fn serve(options: Options, started: Started<'_>) -> Result<(), NodeError> {
    let access = options.check()?;
    let id = node_id();
    let telemetry = telemetry(&options, &id)?;
    let (runtime, services) = runtime()?;
    let metrics = Metrics::new();
    let (stores, made) = runtime.block_on(async {
        let stores = stores(&options)?;
        let made = make_services(&options, &stores, &id, &metrics).await?;
        Ok::<_, NodeError>((stores, made))
    })?;
    let listening = Listening::new(&options)?;

    let served = actix_rt::System::new()
        .block_on(run(&options, started, access, id, stores, metrics, made, listening, &services));
    telemetry.shutdown(LAST_TRACES);
    runtime.shutdown_background();
    served
}

/// Serves one client over standard input and output, until it ends its input.
///
/// # Errors
/// The node could not start, or standard input or output failed.
pub fn stdio(options: Options) -> Result<(), NodeError> {
    let access = options.check()?;
    let id = node_id();
    let telemetry = telemetry(&options, &id)?;
    let (runtime, services) = runtime()?;
    let stores = memory::stores();
    let metrics = Metrics::new();
    let made = runtime.block_on(make_services(&options, &stores, &id, &metrics))?;

    actix_rt::System::new().block_on(async {
        let node = join(&options, access, id, &stores, &metrics, made, String::new(), &services).await?;
        let gateway = node.gateway.expect("a node without a cluster has every role");
        let dispatch = Dispatch { gateway: gateway.clone(), bus: node.bus };
        let mut stop = StopSignals::listen();
        let mut conversation = pin!(stdio::serve(dispatch, tokio::io::stdin(), tokio::io::stdout()));
        let served = tokio::select! {
            served = &mut conversation => served,
            () = stop.next() => {
                gateway.drain();
                tokio::time::timeout(options.drain.grace, conversation).await.unwrap_or(Ok(()))
            }
        };
        if let Err(source) = served {
            report(&NodeError::System { what: "standard input or output failed", source });
            telemetry.shutdown(LAST_TRACES);
            std::process::exit(1);
        }
        telemetry.shutdown(LAST_TRACES);
        // A read of standard input cannot be called back, and nothing else is left to wait for.
        std::process::exit(0)
    })
}

/// Serves one client over standard input and output with what the server at `url` serves.
///
/// # Errors
/// The log's filter or the URL cannot be read, or the server gave the client's session up.
pub fn bridge(url: &str, log: String) -> Result<(), NodeError> {
    let options = TelemetryOptions { log: Some(log), ..TelemetryOptions::default() };
    let telemetry = switchyard_telemetry::init(&options, &[])?;
    let bridged = bridge::run(url);
    telemetry.shutdown(LAST_TRACES);
    bridged
}

/// The listeners of a node.
struct Listening {
    clients: Option<TcpListener>,
    tcp: Option<TcpListener>,
    unix: Option<UnixSocket>,
    admin: TcpListener,
    bus: Option<TcpListener>,
}

impl Listening {
    fn new(options: &Options) -> Result<Self, NodeError> {
        let clients = match options.has(Role::Gateway) {
            true => Some(bind(options.clients().into(), "clients", "`server.port` (`--port`)")?),
            false => None,
        };
        let tcp = options.server.listen_tcp.filter(|_| options.has(Role::Gateway));
        let tcp = tcp.map(|address| bind(address, "clients", "`server.listenTcp` (`--listen-tcp`)")).transpose()?;
        let unix = options.server.listen_unix.as_deref().filter(|_| options.has(Role::Gateway));
        let unix = unix.map(UnixSocket::bind).transpose()?;
        let admin = bind(options.admin.listen, "operators", "`admin.listen` (`--admin-listen`)")?;
        let bus = match options.cluster.redis.is_some() {
            true => Some(bind(options.cluster.listen, "other nodes", "`cluster.listen` (`--bus-listen`)")?),
            false => None,
        };
        Ok(Self { clients, tcp, unix, admin, bus })
    }
}

/// A fresh name: random, so that it is unique even for nodes started in the same instant from one image.
fn node_id() -> NodeId {
    NodeId(uuid::Uuid::new_v4().simple().to_string()[..12].to_owned())
}

/// The services' runtime: apart from the connections' threads, so that a busy tool stalls no connection.
fn runtime() -> Result<(Runtime, Handle), NodeError> {
    let built = Builder::new_multi_thread().thread_name("services").enable_all().build();
    let runtime = built.map_err(|source| NodeError::System { what: "the services' threads cannot start", source })?;
    let handle = runtime.handle().clone();
    Ok((runtime, handle))
}

fn stores(options: &Options) -> Result<Stores, NodeError> {
    match options.redis() {
        Some(redis) => redis::connect(&redis).map_err(|error| match error {
            StoreError::Option { option: "url", reason } => OptionsError::Redis { reason }.into(),
            other => other.into(),
        }),
        None => {
            let limits = Limits { log: options.cluster.log.clone(), ..Limits::default() };
            Ok(memory::stores_within(&limits))
        }
    }
}

fn telemetry(options: &Options, id: &NodeId) -> Result<Guard, NodeError> {
    let attributes = [("service.instance.id", id.0.clone()), ("service.version", env!("CARGO_PKG_VERSION").to_owned())];
    Ok(switchyard_telemetry::init(&options.telemetry, &attributes)?)
}

/// Makes the services of this node's roles, on the runtime that this is polled on.
async fn make_services(
    options: &Options,
    stores: &Stores,
    id: &NodeId,
    metrics: &Arc<Metrics>,
) -> Result<Services, NodeError> {
    let (bus, bus_later) = watch::channel(None);
    let ledger = Ledger::new(id.clone(), options.server.max_calls);
    let mut local = Local::default();
    let mut entries = Vec::new();
    let mut watching = None;
    let mut pictures = Vec::new();

    if options.has(Role::Resources) {
        let (registry, publish) = (stores.registry.clone(), Arc::new(ByBus(bus_later)));
        let started =
            ResourceService::start(&options.resources, &options.resource_limits, registry, id.clone(), publish);
        let resources = Arc::new(started.map_err(|error| failed("resources", error))?);
        entries.push(resources.entries());
        local.resources = Some(resources.clone());
        watching = Some(resources);
    }
    if options.has(Role::Tools) {
        let files = match &watching {
            Some(resources) => resources.files().to_vec(),
            None => {
                let files = ResourceOptions::open_files(&options.resources).map_err(|error| failed("tools", error))?;
                for root in &files {
                    pictures.push(root.watch().map_err(|error| failed("tools", error))?);
                }
                files
            }
        };
        let tools = ToolService::new(&options.tools, &options.tool_limits, &Backends { files })
            .map_err(|error| failed("tools", error))?;
        tools.register(metrics);
        entries.push(tools.entries());
        local.tools = Some(Arc::new(tools));
    }
    if options.has(Role::Prompts) {
        let prompts = PromptService::start(&options.prompts).await.map_err(|error| failed("prompts", error))?;
        entries.push(prompts.entries());
        local.prompts = Some(Arc::new(prompts));
    }
    if options.has(Role::Events) {
        let events = EventService::with_options(stores.log.clone(), options.events.clone());
        events.register(metrics);
        local.events = Some(Arc::new(events));
    }
    if options.has(Role::Gateway) {
        local.gateway = Some(Arc::new(Letterbox::new(ledger.clone())));
    }
    Ok(Services { local, entries, ledger, watching, pictures, bus })
}

fn failed(role: &'static str, source: impl std::error::Error + Send + Sync + 'static) -> NodeError {
    NodeError::Service { role, source: source.into() }
}

/// Announces the node and starts its gateway, if it has that role. Called within the actix system.
#[allow(clippy::too_many_arguments)] // each is made once, and here they meet
async fn join(
    options: &Options,
    access: Access,
    id: NodeId,
    stores: &Stores,
    metrics: &Arc<Metrics>,
    made: Services,
    address: String,
    services: &Handle,
) -> Result<Node, NodeError> {
    let record = NodeRecord {
        id: id.clone(),
        address,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        roles: options.cluster.roles.iter().map(|role| role.name().to_owned()).collect(),
        entries: Vec::new(),
    };
    let starting = Discovery::start(stores.registry.clone(), stores.log.clone(), record, made.entries);
    let discovery = services.spawn(starting).await.expect("starting does not panic")?;
    let bus = Bus::new(id.clone(), made.local, &discovery, options.bus.clone(), services.clone());
    made.bus.send_replace(Some(bus.clone()));
    let calls = bus.clone();
    metrics.watch("bus_calls_in_flight", "Calls in flight at each node", "node", move || {
        let count = |(node, calls): (NodeId, usize)| (node.0, i64::try_from(calls).unwrap_or(i64::MAX));
        calls.in_flight().into_iter().map(count).collect()
    });

    let gateway = options.has(Role::Gateway).then(|| {
        Gateway::start(Parts {
            options: options.server.clone(),
            access,
            node: id.clone(),
            ledger: made.ledger,
            bus: &bus,
            discovery: discovery.clone(),
            stores,
            metrics: metrics.clone(),
        })
    });
    discovery.settled().await;
    if let Some(gateway) = &gateway {
        gateway.caught_up().await;
    }
    Ok(Node { id, bus, discovery, gateway, _pictures: made.pictures })
}

#[allow(clippy::too_many_arguments)] // each is made once, and here they meet
async fn run(
    options: &Options,
    started: Started<'_>,
    access: Access,
    id: NodeId,
    stores: Stores,
    metrics: Arc<Metrics>,
    made: Services,
    listening: Listening,
    services: &Handle,
) -> Result<(), NodeError> {
    let system = |what| move |source| NodeError::System { what, source };
    let admin_address = listening.admin.local_addr().map_err(system("the admin listener has no address"))?;
    let health = Health::default();
    let serving = Arc::new(AtomicBool::new(true));

    let watching = made.watching.clone();
    let mut bus_address = String::new();
    let (stop_bus, bus_stops) = oneshot::channel::<()>();
    let mut bus_server = None;
    if let Some(listener) = listening.bus {
        let bound = listener.local_addr().map_err(system("the bus listener has no address"))?;
        bus_address = listeners::advertised(options, bound);
        let (local, health, options) = (made.local.clone(), health.clone(), options.bus.clone());
        // Owned here: it is told to stop below, and waited for.
        bus_server = Some(services.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("it was just bound, without blocking");
            let stopping = async move { _ = bus_stops.await };
            if let Err(error) = switchyard_bus::serve(listener, local, health, &options, stopping).await {
                tracing::error!(error = &error as &dyn std::error::Error, "the bus listener failed");
            }
        }));
        eprintln!("listening bus={bound}");
    }

    let node = join(options, access, id, &stores, &metrics, made, bus_address, services).await?;
    let (stop_admin, admin_stops) = oneshot::channel::<()>();
    let told = admin::Told {
        node: node.id.clone(),
        roles: options.cluster.roles.iter().map(|role| role.name()).collect(),
        metrics,
        serving: serving.clone(),
        store: watch_store(stores.registry.clone(), services),
    };
    let admin_health = health.clone();
    let admin_server = services.spawn(async move {
        let stopping = async move { _ = admin_stops.await };
        if let Err(error) = admin::serve(listening.admin, told, admin_health, stopping).await {
            tracing::error!(error = &error as &dyn std::error::Error, "the admin listener failed");
        }
    });
    eprintln!("listening admin=http://{admin_address}");

    let server = match (&node.gateway, listening.clients) {
        (Some(gateway), Some(listener)) => {
            let server = switchyard_gateway::serve(gateway, &node.bus, listener, options.drain.grace)
                .map_err(system("the clients' listener cannot be used"))?;
            eprintln!("listening clients=http://{}/mcp", server.address);
            print!("{}", banner(options, started, server.address, admin_address, gateway));
            Some(server)
        }
        _ => None,
    };
    // Held until the end: then the file of the Unix socket goes.
    let (unix, _unix_file) = listening.unix.map(UnixSocket::split).unzip();
    let sockets = node.gateway.as_ref().map(|gateway| {
        let tcp = listening.tcp;
        for address in tcp.iter().filter_map(|listener| listener.local_addr().ok()) {
            eprintln!("listening tcp={address}");
        }
        if let (Some(_), Some(path)) = (&unix, &options.server.listen_unix) {
            eprintln!("listening unix={}", path.display());
        }
        sockets::serve(gateway, &node.bus, sockets::SocketListeners { tcp, unix })
    });
    let sockets = sockets.transpose().map_err(system("the clients' sockets cannot be used"))?;
    let mut stop = StopSignals::listen();
    eprintln!("ready");
    info!(node = %node.id, roles = ?options.cluster.roles, "this node serves");

    stop.next().await;
    let until = Instant::now() + options.drain.grace;
    info!(node = %node.id, "this node stops: it takes nothing new and finishes what runs");
    serving.store(false, Ordering::Relaxed);
    health.set_serving(false).await;
    let draining = async {
        if let Some(watching) = watching {
            watching.stop().await;
        }
        node.discovery.leave().await;
        if options.cluster.redis.is_some() {
            // Balancers and other nodes learn of it meanwhile, and until they have, they are served.
            tokio::time::sleep(options.drain.delay.min(options.drain.grace)).await;
        }
        if let Some(gateway) = &node.gateway {
            gateway.drain();
        }
        if let Some(server) = &server {
            server.stop().await;
        }
        if let Some(sockets) = sockets {
            sockets.stop().await;
        }
        _ = stop_bus.send(());
        if let Some(server) = bus_server {
            _ = server.await;
        }
    };
    tokio::select! {
        drained = timeout_at(until, draining) => if drained.is_err() {
            let running = node.gateway.as_ref().map_or(0, |gateway| gateway.running());
            warn!(running, "the grace period is over; what still runs is cut off");
        },
        () = stop.next() => warn!("told to stop again; what still runs is cut off"),
    }
    _ = stop_admin.send(());
    _ = tokio::time::timeout(Duration::from_millis(500), admin_server).await;
    info!(node = %node.id, "this node has stopped");
    Ok(())
}

fn banner(
    options: &Options,
    started: Started<'_>,
    clients: SocketAddr,
    admin: SocketAddr,
    gateway: &Gateway,
) -> String {
    let directories: Vec<PathBuf> = match options.has(Role::Resources) {
        true => options.resources.iter().map(ResourceOptions::shown_path).collect(),
        false => Vec::new(),
    };
    let is_told = started.directory.is_some() || started.config.is_none();
    let only = directories.first().filter(|_| is_told && directories.len() == 1);
    let banner = Banner {
        clients,
        admin,
        directories: directories.iter().map(|path| path.display().to_string()).collect(),
        offers: gateway.offers(),
        directory: only.map(PathBuf::as_path),
        config: started.config,
        cluster: options.cluster.redis.as_ref().map(|_| options.cluster.name.as_str()),
    };
    banner.text()
}

/// Whether the store answers, asked again and again for as long as somebody wants to know.
fn watch_store(registry: Arc<dyn Registry>, services: &Handle) -> watch::Receiver<bool> {
    let (here, watched) = watch::channel(true);
    // Ends when nobody looks any more.
    services.spawn(async move {
        loop {
            here.send_replace(registry.nodes().await.is_ok());
            tokio::select! {
                () = here.closed() => return,
                () = tokio::time::sleep(STORE_CHECK) => {}
            }
        }
    });
    watched
}

//! One process: its services, its place in the cluster, its listeners, and how it stops.
//!
//! Everything that can be wrong with options ends the start before a port opens. Ports open before anything is
//! announced. A node that is told to stop first leaves the registry, then finishes what runs.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use switchyard_access::Access;
use switchyard_bus::Health;
use switchyard_gateway::{Dispatch, Gateway, sockets, stdio};
use switchyard_resources::ResourceOptions;
use switchyard_state::{Limits, NodeId, Registry, StoreError, Stores, memory, redis};
use switchyard_telemetry::{Guard, Metrics, TelemetryOptions};
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
    listeners::{self, Listening},
    member::join,
    options::{Options, OptionsError, Role},
    report,
    services::Services,
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

/// How long telling the store may take of tasks that were cut off.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long the last traces may take to leave.
const LAST_TRACES: Duration = Duration::from_secs(2);

/// Whether services could be made of these options, without keeping them.
///
/// # Errors
/// What is wrong.
pub fn check(options: &Options) -> Result<(), NodeError> {
    let (runtime, _) = runtime()?;
    runtime.block_on(async {
        stores(options)?;
        Services::make(options, &memory::stores(), &node_id(), &Metrics::new()).await.map(drop)
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
        let made = Services::make(&options, &stores, &id, &metrics).await?;
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
    let made = runtime.block_on(Services::make(&options, &stores, &id, &metrics))?;

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
            let (cluster, tasks) = (&options.cluster, options.tasks.limits());
            let limits = Limits { log: cluster.log.clone(), replies: cluster.replies.clone(), tasks };
            Ok(memory::stores_within(&limits))
        }
    }
}

fn telemetry(options: &Options, id: &NodeId) -> Result<Guard, NodeError> {
    let attributes = [("service.instance.id", id.0.clone()), ("service.version", env!("CARGO_PKG_VERSION").to_owned())];
    Ok(switchyard_telemetry::init(&options.telemetry, &attributes)?)
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

    let (watching, tasks) = (made.watching.clone(), made.tasks.clone());
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
        if let Some(tasks) = &tasks {
            tasks.emptied().await;
        }
    };
    tokio::select! {
        drained = timeout_at(until, draining) => if drained.is_err() {
            let running = node.gateway.as_ref().map_or(0, |gateway| gateway.running());
            warn!(running, "the grace period is over; what still runs is cut off");
        },
        () = stop.next() => warn!("told to stop again; what still runs is cut off"),
    }
    if let Some(tasks) = &tasks {
        _ = tokio::time::timeout(LAST_WORDS, tasks.give_up()).await;
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

//! Where clients connect: transports, sessions, both eras of the protocol.
//!
//! A request goes from its transport ([`http`], [`websocket`], [`sse_transport`], [`stdio`], [`sockets`]) through [`dispatch`] to the service that answers it, and the
//! answer streams back. Sessions are records in the store, calls entries of a table, open streams actors; none of them
//! ties a client to this gateway.

mod asking;
mod audience;
mod batch;
mod calls;
mod catalog;
mod connection;
mod conversation;
pub mod dispatch;
mod event_id;
mod facts;
mod failure;
mod floor;
mod http;
mod keep_alive;
mod ledger;
mod letters;
mod media;
mod observe;
mod options;
mod pending;
mod places;
mod replies;
mod resuming;
mod running;
mod seal;
mod sessions;
mod silence;
pub mod sockets;
mod sse;
mod sse_transport;
pub mod stdio;
mod subscriptions;
mod tasks;
#[cfg(feature = "testing")]
pub mod testing;
mod websocket;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use actix::{Actor, Addr};
use actix_web::{App, HttpServer, dev::ServerHandle, web};
use arc_swap::ArcSwap;
use switchyard_access::Access;
use switchyard_bus::{Bus, Discovery};
use switchyard_mcp::Refusal;
use switchyard_state::{EventLog, NodeId, Registry, ReplyLog, SessionStore, Snapshot, Stores, TaskStore};
use switchyard_telemetry::{Metrics, metrics::Counter};
use tokio::sync::watch;

pub use dispatch::Dispatch;
pub use ledger::Ledger;
pub use letters::Letterbox;
pub use options::GatewayOptions;

use catalog::Catalog;
use places::{Place, Places};
use seal::Seal;
use subscriptions::{Fanout, HowFar};

/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may be idle between requests.
const CONNECTION_IDLE: Duration = Duration::from_secs(75);

/// How long a gateway that starts may take to hear what happened before it.
const CATCH_UP: Duration = Duration::from_secs(3);

/// The name of the keys that seal what stateless clients carry from round to round.
const SEAL: &str = "request-state";

/// How often the cluster's keys are looked at: a new one is used, and one that has run out no more.
const KEYS: Duration = Duration::from_secs(60);

/// What all threads of a gateway share.
pub struct Gateway {
    pub(crate) options: GatewayOptions,
    pub(crate) node: NodeId,
    pub(crate) access: Access,
    pub(crate) catalog: catalog::Current,
    pub(crate) ledger: Ledger,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) replies: Arc<dyn ReplyLog>,
    pub(crate) tasks: Arc<dyn TaskStore>,
    registry: Arc<dyn Registry>,
    pub(crate) fanout: Addr<Fanout>,
    pub(crate) discovery: Discovery,
    pub(crate) metrics: Arc<Metrics>,
    /// Answers of clients that nobody waited for.
    pub(crate) unasked: Counter,
    /// Tasks that this gateway removed because their time to live was over.
    pub(crate) expired: Counter,
    seal: ArcSwap<Seal>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    draining: watch::Sender<bool>,
    streams: Places,
    connections: Places,
}

/// What a gateway is made of.
pub struct Parts<'a> {
    /// Its options.
    pub options: GatewayOptions,
    /// Who may connect.
    pub access: Access,
    /// The node that it is on.
    pub node: NodeId,
    /// What this node's [`Letterbox`] looks into.
    pub ledger: Ledger,
    /// The way to the services.
    pub bus: &'a Bus,
    /// The nodes there are.
    pub discovery: Discovery,
    /// What they share.
    pub stores: &'a Stores,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl Gateway {
    /// A gateway that knows what the cluster offers and hears every fact. Runs on the calling actix system.
    pub fn start(parts: Parts<'_>) -> Arc<Self> {
        let Parts { options, access, node, ledger, bus, discovery, stores, metrics } = parts;
        let sessions = stores.sessions.clone();
        let fanout = Fanout::new(bus.clone(), discovery.clone(), sessions, options.session_ttl, ledger.clone());
        let snapshot = discovery.snapshot();
        let unasked = Counter::default();
        metrics.register("answers_dropped", "Answers of clients that nobody waited for", unasked.clone());
        let expired = Counter::default();
        metrics.register("tasks_expired", "Tasks that were removed when their time to live was over", expired.clone());
        let gateway = Arc::new(Self {
            streams: Places::new(options.max_streams, metrics.clone()),
            connections: Places::new(options.max_connections, metrics.clone()),
            options,
            node,
            access,
            catalog: catalog::Current::default(),
            ledger,
            sessions: stores.sessions.clone(),
            log: stores.log.clone(),
            replies: stores.replies.clone(),
            tasks: stores.tasks.clone(),
            registry: stores.registry.clone(),
            fanout: fanout.start(),
            discovery,
            metrics,
            unasked,
            expired,
            seal: ArcSwap::from_pointee(Seal::new(&[], Duration::ZERO)),
            snapshot: snapshot.clone(),
            draining: watch::Sender::new(false),
        });
        gateway.take(&snapshot.borrow());
        // Owned by the gateway: it ends when the gateway is gone, or discovery.
        actix_rt::spawn(follow(Arc::downgrade(&gateway), snapshot));
        // Likewise.
        actix_rt::spawn(tasks::expire(Arc::downgrade(&gateway), bus.clone()));
        gateway
    }

    fn take(&self, snapshot: &Snapshot) {
        self.catalog.store(Arc::new(Catalog::of(snapshot)));
        self.discovery.set_seen(snapshot.version);
    }

    /// Takes the keys that the cluster seals with. While the store is away no call can ask a stateless client.
    async fn take_keys(&self) {
        match self.registry.secret(SEAL).await {
            Ok(keys) => self.seal.store(Arc::new(Seal::new(&keys, self.options.answer_timeout))),
            Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "the sealing keys cannot be had"),
        }
    }

    /// Waits until the gateway has heard every fact of the log so far, so that its first clients hear only what is new
    /// to them. Gives up after a few seconds, for a store that is away must not keep anybody out.
    pub async fn caught_up(&self) {
        self.take_keys().await;
        let catching_up = async {
            let Ok(end) = self.log.position().await else { return };
            while let Ok((position, epoch)) = self.fanout.send(HowFar).await
                && (position < end.last || epoch != end.epoch)
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(CATCH_UP, catching_up).await.is_err() {
            tracing::warn!("the event log could not be followed to its end in time");
        }
    }

    /// Builds the catalogue from the newest picture of the nodes, if that has not been done yet.
    pub(crate) fn catch_up_with_nodes(&self) {
        let snapshot = self.snapshot.borrow().clone();
        self.take(&snapshot);
    }

    /// What seals the state of calls that ask their client.
    pub(crate) fn seal(&self) -> Arc<Seal> {
        self.seal.load_full()
    }

    /// What is on offer: the numbers of tools, prompts, resource templates and resource providers.
    pub fn offers(&self) -> (usize, usize, usize, usize) {
        let catalog = self.catalog.load();
        (catalog.tools.len(), catalog.prompts.len(), catalog.templates.len(), catalog.providers.len())
    }

    /// Ends every stream of notifications with a last word where the client's revision has one, and takes no new ones.
    pub fn drain(&self) {
        self.draining.send_replace(true);
    }

    /// How many calls run through this gateway.
    pub fn running(&self) -> usize {
        self.ledger.calls.running()
    }

    pub(crate) fn draining(&self) -> watch::Receiver<bool> {
        self.draining.subscribe()
    }

    /// A place for a stream of notifications.
    pub(crate) fn stream(&self, kind: &'static str) -> Result<Place, Refusal> {
        self.place(&self.streams, kind, "too many streams are open already; try again shortly")
    }

    /// A place for a client on a connection of its own.
    pub(crate) fn connection(&self, kind: &'static str) -> Result<Place, Refusal> {
        self.place(&self.connections, kind, "too many clients are connected already; try again shortly")
    }

    fn place(&self, places: &Places, kind: &'static str, none: &'static str) -> Result<Place, Refusal> {
        if *self.draining.borrow() {
            return Err(failure::overloaded("this gateway is about to stop; another one will take the stream"));
        }
        places.take(kind).ok_or_else(|| failure::overloaded(none))
    }
}

/// Keeps the catalogue and the keys current for as long as the gateway lives.
async fn follow(gateway: std::sync::Weak<Gateway>, mut snapshot: watch::Receiver<Arc<Snapshot>>) {
    let mut keys = tokio::time::interval(KEYS);
    loop {
        tokio::select! {
            changed = snapshot.changed() => {
                let (Ok(()), Some(gateway)) = (changed, gateway.upgrade()) else { return };
                let newest = snapshot.borrow_and_update().clone();
                gateway.take(&newest);
            }
            _ = keys.tick() => {
                let Some(gateway) = gateway.upgrade() else { return };
                gateway.take_keys().await;
            }
        }
    }
}

/// The clients' HTTP listener.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    handle: ServerHandle,
}

/// Serves clients on `listener`. `grace` is how long [`Server::stop`] waits for requests that run.
///
/// # Errors
/// The listener cannot be used.
pub fn serve(gateway: &Arc<Gateway>, bus: &Bus, listener: TcpListener, grace: Duration) -> io::Result<Server> {
    let address = listener.local_addr()?;
    let (gateway, bus) = (gateway.clone(), bus.clone());
    let write_timeout = gateway.options.write_timeout;
    let workers = match gateway.options.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        some => some,
    };
    let server = HttpServer::new(move || {
        // Called once on each thread, so that each has connections of its own.
        let dispatch = Dispatch { gateway: gateway.clone(), bus: bus.for_thread() };
        App::new().app_data(web::Data::new(dispatch)).configure(http::routes).configure(sse_transport::routes)
    })
    .workers(workers)
    .client_request_timeout(HEAD_TIMEOUT)
    .keep_alive(CONNECTION_IDLE)
    .tcp_nodelay(true)
    .on_connect(move |connection, _| {
        // One that is gone already is found out by whoever reads from it.
        if let Some(socket) = connection.downcast_ref::<actix_web::rt::net::TcpStream>() {
            _ = keep_alive::watch(socket, write_timeout);
        }
    })
    // A client that closes its side has gone: that is how a stateless client cancels.
    .h1_allow_half_closed(false)
    .shutdown_timeout(grace.as_secs().max(1))
    .disable_signals()
    .listen(listener)?
    .run();
    let handle = server.handle();
    // Ends with `stop`.
    actix_rt::spawn(server);
    Ok(Server { address, handle })
}

impl Server {
    /// Takes no more connections, and returns when the running requests are done or the grace period is over.
    pub async fn stop(&self) {
        self.handle.stop(true).await;
    }
}

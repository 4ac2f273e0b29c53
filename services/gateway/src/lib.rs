//! Where clients connect: transports, sessions, both eras of the protocol.
//!
//! A request goes from its transport ([`http`], [`stdio`]) through [`dispatch`] to the service that answers it, and the
//! answer streams back. Sessions are records in the store, calls entries of a table, open streams actors; none of them
//! ties a client to this gateway.

mod audience;
mod calls;
mod catalog;
mod connection;
pub mod dispatch;
mod facts;
mod failure;
mod http;
mod ledger;
mod letters;
mod media;
mod observe;
mod options;
mod pending;
mod running;
mod sessions;
mod sse;
pub mod stdio;
mod subscriptions;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr};
use actix_web::{App, HttpServer, dev::ServerHandle, web};
use switchyard_access::Access;
use switchyard_bus::{Bus, Discovery};
use switchyard_mcp::Refusal;
use switchyard_state::{EventLog, NodeId, SessionStore, Snapshot, Stores};
use switchyard_telemetry::Metrics;
use tokio::sync::watch;

pub use dispatch::Dispatch;
pub use ledger::Ledger;
pub use letters::Letterbox;
pub use options::GatewayOptions;

use catalog::Catalog;
use subscriptions::{Fanout, HowFar};

/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may be idle between requests.
const CONNECTION_IDLE: Duration = Duration::from_secs(75);

/// How long a gateway that starts may take to hear what happened before it.
const CATCH_UP: Duration = Duration::from_secs(3);

/// What all threads of a gateway share.
pub struct Gateway {
    pub(crate) options: GatewayOptions,
    pub(crate) node: NodeId,
    pub(crate) access: Access,
    pub(crate) catalog: catalog::Current,
    pub(crate) ledger: Ledger,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) fanout: Addr<Fanout>,
    pub(crate) discovery: Discovery,
    pub(crate) metrics: Arc<Metrics>,
    draining: watch::Sender<bool>,
    streams: Arc<AtomicUsize>,
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

/// An open stream's place among those that may be open; dropping it frees the place.
pub(crate) struct StreamTicket(Arc<AtomicUsize>);

impl Gateway {
    /// A gateway that knows what the cluster offers and hears every fact. Runs on the calling actix system.
    pub fn start(parts: Parts<'_>) -> Arc<Self> {
        let Parts { options, access, node, ledger, bus, discovery, stores, metrics } = parts;
        let fanout =
            Fanout::new(bus.clone(), discovery.clone(), stores.sessions.clone(), node.clone(), options.session_ttl);
        let snapshot = discovery.snapshot();
        let gateway = Arc::new(Self {
            options,
            node,
            access,
            catalog: catalog::Current::default(),
            ledger,
            sessions: stores.sessions.clone(),
            log: stores.log.clone(),
            fanout: fanout.start(),
            discovery,
            metrics,
            draining: watch::Sender::new(false),
            streams: Arc::default(),
        });
        gateway.take(&snapshot.borrow());
        // Owned by the gateway: it ends when the gateway is gone, or discovery.
        actix_rt::spawn(follow(Arc::downgrade(&gateway), snapshot));
        gateway
    }

    fn take(&self, snapshot: &Snapshot) {
        self.catalog.store(Arc::new(Catalog::of(snapshot)));
        self.discovery.set_seen(snapshot.version);
    }

    /// Waits until the gateway has heard every fact of the log so far, so that its first clients hear only what is new
    /// to them. Gives up after a few seconds, for a store that is away must not keep anybody out.
    pub async fn caught_up(&self) {
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

    pub(crate) fn stream_ticket(&self) -> Result<StreamTicket, Refusal> {
        if *self.draining.borrow() {
            return Err(failure::overloaded("this gateway is about to stop; another one will take the stream"));
        }
        if self.streams.fetch_add(1, Ordering::Relaxed) >= self.options.max_streams {
            self.streams.fetch_sub(1, Ordering::Relaxed);
            return Err(failure::overloaded("too many streams are open already; try again shortly"));
        }
        Ok(StreamTicket(self.streams.clone()))
    }
}

impl Drop for StreamTicket {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Keeps the catalogue current for as long as the gateway lives.
async fn follow(gateway: std::sync::Weak<Gateway>, mut snapshot: watch::Receiver<Arc<Snapshot>>) {
    while snapshot.changed().await.is_ok() {
        let Some(gateway) = gateway.upgrade() else { return };
        let newest = snapshot.borrow_and_update().clone();
        gateway.take(&newest);
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
    let workers = match gateway.options.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        some => some,
    };
    let server = HttpServer::new(move || {
        // Called once on each thread, so that each has connections of its own.
        let dispatch = Dispatch { gateway: gateway.clone(), bus: bus.for_thread() };
        App::new().app_data(web::Data::new(dispatch)).configure(http::routes)
    })
    .workers(workers)
    .client_request_timeout(HEAD_TIMEOUT)
    .keep_alive(CONNECTION_IDLE)
    .tcp_nodelay(true)
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

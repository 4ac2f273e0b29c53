//! Nodes for tests: real listeners on loopback, each on a runtime of its own so that it can be killed, and a service
//! whose tools do what their names say.
#![allow(clippy::unwrap_used, dead_code, missing_docs)]

use std::{
    net::{self, Ipv4Addr},
    process,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream};
use switchyard_bus::{Bus, BusOptions, CallEvents, Discovery, Health, Local, serve};
use switchyard_proto::v1::{
    Accepted, CallEvent, CallToolRequest, Failure, Progress, ToolResult, call_event::Event, tools_server::Tools,
};
use switchyard_state::{NodeId, NodeRecord, Stores, memory};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    runtime::{Builder, Handle, Runtime},
    sync::{Notify, oneshot, watch},
    time::{Instant, sleep, timeout},
};
use tonic::{Request, Response, Status};

/// How long anything may take before a test fails, on a machine that is busy with other things too.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A tools service that counts what happens to its calls.
#[derive(Default)]
pub struct Stub {
    pub name: String,
    /// Calls that ever came.
    pub calls: AtomicUsize,
    /// Calls that run now.
    pub running: Arc<AtomicUsize>,
    /// The traceparents that came.
    pub traces: std::sync::Mutex<Vec<String>>,
    /// Lets `wait` go on.
    pub go: Arc<Notify>,
}

impl Stub {
    pub fn named(name: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), ..Self::default() })
    }

    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }
}

/// Counts a call for as long as it lives.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn count(running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Ordering::SeqCst);
        Self(running.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub fn accepted() -> CallEvent {
    CallEvent { event: Some(Event::Accepted(Accepted {})) }
}

pub fn progress(step: f64) -> CallEvent {
    CallEvent { event: Some(Event::Progress(Progress { progress: step, ..Progress::default() })) }
}

/// A panic without a backtrace, which may take a second to write while the node does nothing else.
fn silent_panic() -> ! {
    std::panic::resume_unwind(Box::new("the tool panicked"))
}

/// Of a KiB.
fn wordy_progress(step: f64) -> CallEvent {
    CallEvent {
        event: Some(Event::Progress(Progress { progress: step, message: "x".repeat(1024), ..Progress::default() })),
    }
}

pub fn result(text: &str) -> CallEvent {
    let content_json = text.as_bytes().to_vec().into();
    CallEvent { event: Some(Event::Tool(ToolResult { content_json, ..ToolResult::default() })) }
}

#[tonic::async_trait]
impl Tools for Stub {
    type CallStream = CallEvents;

    async fn call(&self, request: Request<CallToolRequest>) -> Result<Response<CallEvents>, Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let running = Running::count(&self.running);
        let request = request.into_inner();
        self.traces.lock().unwrap().push(request.context.unwrap_or_default().traceparent);
        let name = self.name.clone();
        let events = match request.name.as_str() {
            "echo" => stream::iter([Ok(accepted()), Ok(result(&name))]).boxed(),
            "size" => {
                let size = request.arguments_json.len().to_string();
                stream::iter([Ok(accepted()), Ok(result(&size))]).boxed()
            }
            "hang" => stream::iter([Ok(accepted())]).chain(stream::pending()).boxed(),
            "hang before accepting" => std::future::pending().await,
            "wait" => {
                let go = self.go.clone();
                let last = stream::once(async move {
                    go.notified().await;
                    Ok(result("done"))
                });
                stream::iter([Ok(accepted())]).chain(last).boxed()
            }
            "wait big" => {
                let go = self.go.clone();
                let last = stream::once(async move {
                    go.notified().await;
                    Ok(result(&"x".repeat(2 * 1024 * 1024)))
                });
                stream::iter([Ok(accepted())]).chain(last).boxed()
            }
            "not started" => return Err(Failure::not_started("this node is full")),
            "unavailable" => return Err(Status::unavailable("the backend is away")),
            "unknown" => return Err(Failure::unknown("unknown", "no tool is named `unknown`")),
            "fail late" => stream::iter([Ok(accepted()), Err(Failure::not_started("too late to say so"))]).boxed(),
            "no result" => stream::iter([Ok(accepted())]).boxed(),
            "panic" => silent_panic(),
            "panic late" => stream::iter([Ok(accepted())]).chain(stream::once(async { silent_panic() })).boxed(),
            "big" => stream::iter([Ok(accepted()), Ok(result(&"x".repeat(2 * 1024 * 1024)))]).boxed(),
            "chatter" => {
                stream::iter((0..100).map(|step| Ok(progress(f64::from(step))))).chain(stream::pending()).boxed()
            }
            // More than may be on its way unread.
            "flood" => stream::iter((0..2_000).map(|step| Ok(wordy_progress(f64::from(step)))))
                .chain(stream::iter([Ok(result("flooded"))]))
                .boxed(),
            other => panic!("no stub for `{other}`"),
        };
        let events = events.map(move |event| {
            let _held = &running;
            event
        });
        Ok(Response::new(events.boxed()))
    }
}

pub fn call(name: &str) -> CallToolRequest {
    CallToolRequest { name: name.to_owned(), ..CallToolRequest::default() }
}

/// A node that serves a stub, on a runtime of its own.
pub struct Node {
    pub id: NodeId,
    pub address: String,
    pub stub: Arc<Stub>,
    pub health: Health,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<Runtime>,
}

impl Node {
    pub async fn start(name: &str) -> Self {
        Self::at(name, &place(), BusOptions::default()).await
    }

    pub async fn at(name: &str, address: &str, options: BusOptions) -> Self {
        let stub = Stub::named(name);
        let local = Local { tools: Some(stub.clone()), ..Local::default() };
        let mut node = Self::serving(name, address, local, options).await;
        node.stub = stub;
        node
    }

    /// A node that listens and says that it does not serve yet.
    pub async fn unready(name: &str, address: &str) -> Self {
        let stub = Stub::named(name);
        let local = Local { tools: Some(stub.clone()), ..Local::default() };
        let health = Health::default();
        health.set_serving(false).await;
        let mut node = Self::with_health(name, address, local, BusOptions::default(), health).await;
        node.stub = stub;
        node
    }

    /// A node with any services.
    pub async fn serving(name: &str, address: &str, local: Local, options: BusOptions) -> Self {
        Self::with_health(name, address, local, options, Health::default()).await
    }

    async fn with_health(name: &str, address: &str, local: Local, options: BusOptions, health: Health) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = bind(address).await;
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = oneshot::channel::<()>();
        let (served, told) = (local, health.clone());
        let listener = listener.into_std().unwrap();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            let stopped = async move { drop(stopped.await) };
            serve(listener, served, told, &options, stopped).await.unwrap();
        });
        let id = NodeId(name.to_owned());
        Self { id, address, stub: Arc::default(), health, stop: Some(stop), runtime: Some(runtime) }
    }

    pub fn record(&self) -> NodeRecord {
        record(&self.id.0, &self.address, &["tools"])
    }

    /// Ends it like a crash: sockets are closed, nothing is said.
    pub fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // On a thread of its own, for a runtime may not be waited for on one of another runtime.
            std::thread::spawn(move || runtime.shutdown_timeout(PATIENCE)).join().unwrap();
        }
    }

    /// Tells it to stop.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where a node may listen. Its host is one that no other node of any test has, so that nobody else gets its port while
/// it is away. Where loopback has a single host, that one.
fn place() -> String {
    static NODES: AtomicU32 = AtomicU32::new(0);
    let number = (process::id() << 9) | (NODES.fetch_add(1, Ordering::Relaxed) % 512);
    let host = Ipv4Addr::from_bits(0x7f80_0000 | (number & 0x7f_ffff));
    let host = if net::TcpListener::bind((host, 0)).is_ok() { host } else { Ipv4Addr::LOCALHOST };
    format!("{host}:0")
}

async fn bind(address: &str) -> TcpListener {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        sleep(Duration::from_millis(5)).await;
    }
}

pub fn record(id: &str, address: &str, roles: &[&str]) -> NodeRecord {
    NodeRecord {
        id: NodeId(id.to_owned()),
        address: address.to_owned(),
        version: "1".into(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        entries: Vec::new(),
    }
}

/// The caller's side: a gateway that knows some nodes.
pub struct Gateway {
    pub bus: Bus,
    pub discovery: Discovery,
    pub stores: Stores,
    pub nodes: Vec<NodeId>,
}

impl Gateway {
    pub async fn knowing(nodes: &[&Node]) -> Self {
        Self::with(nodes, Local::default(), BusOptions::default()).await
    }

    pub async fn with(nodes: &[&Node], local: Local, options: BusOptions) -> Self {
        let stores = memory::stores();
        for node in nodes {
            stores.registry.announce(&node.record()).await.unwrap();
        }
        let mut roles = vec!["gateway"];
        if local.tools.is_some() {
            roles.push("tools");
        }
        let own = record("gateway", "", &roles);
        let discovery =
            Discovery::start(stores.registry.clone(), stores.log.clone(), own.clone(), Vec::new()).await.unwrap();
        let nodes: Vec<NodeId> = nodes.iter().map(|node| node.id.clone()).collect();
        keep_alive(&stores, nodes.clone());
        let bus = Bus::new(own.id, local, &discovery, options, Handle::current());
        Self { bus, discovery, stores, nodes }
    }

    /// A bus among the nodes of `stores`.
    pub async fn joining(stores: &Stores, id: &str, roles: &[&str], local: Local) -> (Bus, Discovery) {
        let own = record(id, "", roles);
        let discovery =
            Discovery::start(stores.registry.clone(), stores.log.clone(), own.clone(), Vec::new()).await.unwrap();
        let bus = Bus::new(own.id, local, &discovery, BusOptions::default(), Handle::current());
        (bus, discovery)
    }

    pub async fn call(&self, tool: &str) -> Result<CallEvents, Status> {
        within("an answer", Box::pin(self.bus.tools.call(&self.nodes, call(tool)))).await
    }

    /// The text of a tool's result.
    pub async fn text(&self, tool: &str) -> Result<String, Status> {
        let mut events = self.call(tool).await?;
        loop {
            let event = within("an event", events.next()).await.expect("a result comes last")?;
            if let Some(Event::Tool(result)) = event.event {
                return Ok(String::from_utf8(result.content_json.to_vec()).unwrap());
            }
        }
    }
}

/// Nodes of these tests send no heartbeats of their own.
pub fn keep_alive(stores: &Stores, nodes: Vec<NodeId>) {
    let registry = Arc::downgrade(&stores.registry);
    tokio::spawn(async move {
        while let Some(registry) = registry.upgrade() {
            for id in &nodes {
                registry.heartbeat(id, None).await.unwrap();
            }
            sleep(Duration::from_millis(200)).await;
        }
    });
}

pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

pub async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// A wire to a node that can be frozen: connections stay open, and nothing comes through.
pub struct Wire {
    pub address: String,
    frozen: watch::Sender<bool>,
}

impl Wire {
    pub async fn to(node: &str) -> Self {
        let listener = bind("127.0.0.1:0").await;
        let address = listener.local_addr().unwrap().to_string();
        let (frozen, state) = watch::channel(false);
        let node = node.to_owned();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(&node).await.unwrap();
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                tokio::spawn(carry(near_in, far_out, state.clone()));
                tokio::spawn(carry(far_in, near_out, state.clone()));
            }
        });
        Self { address, frozen }
    }

    pub fn freeze(&mut self, frozen: bool) {
        self.frozen.send_replace(frozen);
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut frozen: watch::Receiver<bool>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if frozen.wait_for(|frozen| !frozen).await.is_err() || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

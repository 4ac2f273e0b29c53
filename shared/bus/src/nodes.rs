//! The nodes as this process knows them: addresses from the registry, our own calls in flight, and who is ejected.
//!
//! A node whose connection broke or cannot be made is ejected: it is called only when no other candidate is left. One
//! task an ejected node asks for its health until it serves again, or is gone from the registry.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use rand::RngExt as _;
use switchyard_state::{NodeId, Snapshot};
use tokio::{
    runtime::Handle,
    sync::watch,
    time::{sleep, timeout},
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use crate::{link::Link, pause::jittered};

/// The pauses between two tests of an ejected node grow from the first to the last.
const PROBE_FIRST: Duration = Duration::from_millis(50);
const PROBE_LAST: Duration = Duration::from_secs(2);

/// How long a test may take, its connect aside.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// One node, for as long as it keeps its address.
pub(crate) struct Node {
    pub id: NodeId,
    pub address: String,
    in_flight: AtomicUsize,
    ejected: AtomicBool,
}

impl Node {
    fn new(id: NodeId, address: String) -> Arc<Self> {
        Arc::new(Self { id, address, in_flight: AtomicUsize::new(0), ejected: AtomicBool::new(false) })
    }

    /// A call of ours begins there.
    pub fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that began there is over.
    pub fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many of our calls run there.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }
}

/// One state of the registry.
pub(crate) struct Table {
    pub snapshot: Arc<Snapshot>,
    nodes: HashMap<NodeId, Arc<Node>>,
}

impl Table {
    pub fn get(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.nodes.get(id)
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.values()
    }
}

/// All nodes, shared by every thread.
pub(crate) struct Nodes {
    pub own: NodeId,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    table: ArcSwap<Table>,
    /// Where ejected nodes are tested.
    runtime: Handle,
}

impl Nodes {
    pub fn new(own: NodeId, snapshot: watch::Receiver<Arc<Snapshot>>, runtime: Handle) -> Arc<Self> {
        let node = Node::new(own.clone(), String::new());
        let table = Table { snapshot: Arc::default(), nodes: HashMap::from([(own.clone(), node)]) };
        Arc::new(Self { own, snapshot, table: ArcSwap::from_pointee(table), runtime })
    }

    /// The table of the newest snapshot. Nodes that stay keep their counts.
    pub fn table(&self) -> Arc<Table> {
        let table = self.table.load();
        if Arc::ptr_eq(&table.snapshot, &self.snapshot.borrow()) {
            return Arc::clone(&table);
        }
        self.table.rcu(|old| old.followed_by(&self.snapshot.borrow(), &self.own));
        self.table.load_full()
    }

    /// Of two random candidates the one with fewer of our calls in flight; an ejected one only when no other is left.
    pub fn choose(&self, table: &Table, ids: &[NodeId], local: bool, except: Option<&NodeId>) -> Option<Arc<Node>> {
        let candidates: Vec<&Arc<Node>> = ids
            .iter()
            .filter(|id| Some(*id) != except)
            .filter_map(|id| table.get(id))
            .filter(|node| if node.id == self.own { local } else { !node.address.is_empty() })
            .collect();
        let open: Vec<&Arc<Node>> =
            candidates.iter().copied().filter(|node| !node.ejected.load(Ordering::Relaxed)).collect();
        let among = if open.is_empty() { candidates } else { open };

        let first = random_below(among.len())?;
        // Another one, if there is any.
        let second = random_below(among.len() - 1).map_or(first, |step| (first + 1 + step) % among.len());
        let (first, second) = (among[first], among[second]);
        let fewer = if second.in_flight() < first.in_flight() { second } else { first };
        Some(fewer.clone())
    }

    /// Takes a node out until it serves again.
    pub fn eject(self: &Arc<Self>, node: &Arc<Node>) {
        // One that left the registry was not lost.
        if !self.knows(node) || node.ejected.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::warn!(node = %node.id, address = node.address, "a node is not reachable");
        // Ends when the node serves again or is gone from the registry, or nobody uses the bus any more.
        self.runtime.spawn(probe(Arc::downgrade(self), node.clone()));
    }

    fn knows(&self, node: &Arc<Node>) -> bool {
        self.table().get(&node.id).is_some_and(|known| Arc::ptr_eq(known, node))
    }
}

impl Table {
    fn followed_by(&self, snapshot: &Arc<Snapshot>, own: &NodeId) -> Self {
        let kept = |id: &NodeId, address: &str| {
            self.nodes.get(id).filter(|node| node.address == address || id == own).cloned()
        };
        let mut nodes: HashMap<NodeId, Arc<Node>> = snapshot
            .nodes
            .iter()
            .map(|record| {
                let node = kept(&record.id, &record.address)
                    .unwrap_or_else(|| Node::new(record.id.clone(), record.address.clone()));
                (record.id.clone(), node)
            })
            .collect();
        if let Some(node) = self.nodes.get(own) {
            nodes.insert(own.clone(), node.clone());
        }
        Self { snapshot: snapshot.clone(), nodes }
    }
}

fn random_below(count: usize) -> Option<usize> {
    (count > 0).then(|| rand::rng().random_range(0..count))
}

async fn probe(nodes: Weak<Nodes>, node: Arc<Node>) {
    let mut pause = PROBE_FIRST;
    loop {
        sleep(jittered(pause)).await;
        if !nodes.upgrade().is_some_and(|nodes| nodes.knows(&node)) {
            return;
        }
        if serves(&node.address).await {
            tracing::info!(node = %node.id, "a node is reachable again");
            node.ejected.store(false, Ordering::Relaxed);
            return;
        }
        pause = (pause * 2).min(PROBE_LAST);
    }
}

async fn serves(address: &str) -> bool {
    let Ok(link) = Link::connect(address, || ()).await else { return false };
    let mut health = HealthClient::with_origin(link.clone(), link.origin());
    let answer = timeout(PROBE_TIMEOUT, health.check(HealthCheckRequest::default())).await;
    matches!(answer, Ok(Ok(reply)) if reply.get_ref().status() == ServingStatus::Serving)
}

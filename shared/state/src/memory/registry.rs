//! The node registry of one process, where all roles are one node, or several in a test.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{
    catalogue::{self, Listed, Offers},
    secrets::Secrets,
};
use crate::{
    Announced, CENTURY, EXPIRY, Heartbeat, NodeId, NodeRecord, Registry, Secret, Snapshot, StoreError,
    registry::{GATEWAY, SILENCE, random_secret},
};

/// Nodes, leases and secrets.
#[derive(Default)]
pub struct MemoryRegistry {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    version: u64,
    generation: u64,
    nodes: BTreeMap<NodeId, Member>,
    listed: Listed,
    /// The generation that `listed` shows.
    settled: u64,
    /// When anybody was last heard of.
    heard: Option<Instant>,
    /// Nobody is removed before.
    grace: Option<Instant>,
    /// Swept whenever one is taken.
    leases: HashMap<String, (NodeId, Instant)>,
    secrets: Secrets,
}

struct Member {
    record: NodeRecord,
    offers: Offers,
    heard: Instant,
    /// The version that a gateway reported.
    seen: u64,
}

impl MemoryRegistry {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }
}

impl State {
    /// Notes that somebody was heard of, and removes nodes that were silent for too long.
    fn sweep(&mut self, now: Instant) {
        if self.heard.is_none_or(|heard| now.duration_since(heard) > SILENCE) {
            self.grace = Some(now + EXPIRY);
        }
        self.heard = Some(now);
        if self.grace.is_some_and(|grace| now < grace) {
            return;
        }
        let before = self.nodes.len();
        self.nodes.retain(|_, member| member.lives(now));
        if self.nodes.len() < before {
            self.generation += 1;
        }
    }

    fn announce(&mut self, node: &NodeRecord, now: Instant) {
        let before = self.nodes.get_mut(&node.id);
        if let Some(member) = before
            && member.record == *node
        {
            member.heard = now;
            return;
        }
        self.generation += 1;
        let (offers, seen) = self.nodes.remove(&node.id).map(|member| (member.offers, member.seen)).unwrap_or_default();
        let offers = catalogue::offers(&node.entries, &offers, self.generation);
        self.nodes.insert(node.id.clone(), Member { record: node.clone(), offers, heard: now, seen });
    }

    /// What all that did to the catalogue.
    fn settle(&mut self) -> Announced {
        if self.settled == self.generation {
            return Announced { version: self.version, generation: self.generation, changed: Vec::new() };
        }
        self.settled = self.generation;
        let listed = catalogue::listed(self.nodes.values().map(|member| &member.offers));
        let changed = catalogue::differing(&self.listed, &listed);
        if !changed.is_empty() {
            self.version += 1;
            self.listed = listed;
        }
        Announced { version: self.version, generation: self.generation, changed }
    }
}

impl Member {
    fn lives(&self, now: Instant) -> bool {
        now.duration_since(self.heard) <= EXPIRY
    }

    fn is_gateway(&self) -> bool {
        self.record.roles.iter().any(|role| role == GATEWAY)
    }
}

#[async_trait]
impl Registry for MemoryRegistry {
    async fn announce(&self, node: &NodeRecord) -> Result<Announced, StoreError> {
        let now = Instant::now();
        let mut state = self.state();
        state.announce(node, now);
        state.sweep(now);
        Ok(state.settle())
    }

    async fn heartbeat(&self, node: &NodeId, seen: Option<u64>) -> Result<Heartbeat, StoreError> {
        let now = Instant::now();
        let mut state = self.state();
        let member = state.nodes.get_mut(node);
        let known = member.is_some();
        if let Some(member) = member {
            member.heard = now;
            member.seen = seen.unwrap_or(member.seen);
        }
        state.sweep(now);
        Ok(Heartbeat { known, now: state.settle() })
    }

    async fn leave(&self, node: &NodeId) -> Result<Announced, StoreError> {
        let mut state = self.state();
        if state.nodes.remove(node).is_some() {
            state.generation += 1;
        }
        state.sweep(Instant::now());
        Ok(state.settle())
    }

    async fn nodes(&self) -> Result<Snapshot, StoreError> {
        let state = self.state();
        let nodes = state.nodes.values().map(|member| member.record.clone()).collect();
        Ok(Snapshot { version: state.version, generation: state.generation, nodes, listed: state.listed.clone() })
    }

    async fn caught_up(&self, version: u64) -> Result<bool, StoreError> {
        let now = Instant::now();
        let state = self.state();
        let mut gateways = state.nodes.values().filter(|member| member.is_gateway() && member.lives(now));
        Ok(gateways.all(|gateway| gateway.seen >= version))
    }

    async fn lease(&self, name: &str, node: &NodeId, ttl: Duration) -> Result<bool, StoreError> {
        let now = Instant::now();
        let mut state = self.state();
        state.leases.retain(|_, (_, until)| *until > now);
        if state.leases.get(name).is_some_and(|(holder, _)| holder != node) {
            return Ok(false);
        }
        state.leases.insert(name.to_owned(), (node.clone(), now + ttl.min(CENTURY)));
        Ok(true)
    }

    async fn release(&self, name: &str, node: &NodeId) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.leases.get(name).is_some_and(|(holder, _)| holder == node) {
            state.leases.remove(name);
        }
        Ok(())
    }

    async fn secret(&self, name: &str) -> Result<Vec<Secret>, StoreError> {
        let new = random_secret()?;
        Ok(self.state().secrets.get(name, new))
    }

    async fn rotate(&self, name: &str, keep: Duration) -> Result<(), StoreError> {
        let new = random_secret()?;
        self.state().secrets.rotate(name, new, keep);
        Ok(())
    }
}

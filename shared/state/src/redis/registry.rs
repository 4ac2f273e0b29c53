//! The node registry of a cluster. Times are Redis' own, so the nodes' clocks may differ.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use redis::{Script, ScriptInvocation, pipe};
use serde::Deserialize;
use tracing::warn;

use super::{
    keys::{self, Keys, millis},
    link::Link,
};
use crate::{
    Announced, EXPIRY, Entry, EntryKind, Heartbeat, NodeId, NodeRecord, Registry, Secret, Snapshot, StoreError,
    registry::{GATEWAY, MAX_SECRETS, SILENCE, random_secret},
};

/// Nodes, leases and secrets that every node of a cluster sees.
pub struct RedisRegistry {
    keys: Arc<Keys>,
    link: Arc<Link>,
    announce: Script,
    heartbeat: Script,
    leave: Script,
    caught_up: Script,
    lease_take: Script,
    lease_release: Script,
    secret: Script,
    secret_rotate: Script,
}

/// What `outcome` of `nodes_head.lua` returns.
type Outcome = (u64, u64, Vec<String>);

/// The version and the generation, once there are any.
type Numbers = (Option<u64>, Option<u64>);
type Fields = BTreeMap<String, String>;

impl RedisRegistry {
    pub fn new(keys: Arc<Keys>, link: Arc<Link>) -> Self {
        Self {
            keys,
            link,
            announce: script(include_str!("nodes_announce.lua")),
            heartbeat: script(include_str!("nodes_heartbeat.lua")),
            leave: script(include_str!("nodes_leave.lua")),
            caught_up: Script::new(include_str!("nodes_caught_up.lua")),
            lease_take: Script::new(include_str!("lease_take.lua")),
            lease_release: Script::new(include_str!("lease_release.lua")),
            secret: Script::new(include_str!("secret.lua")),
            secret_rotate: Script::new(include_str!("secret_rotate.lua")),
        }
    }

    /// A call of a script that [`script`] made, with what `nodes_head.lua` takes.
    fn call<'a>(&self, script: &'a Script, node: &NodeId) -> ScriptInvocation<'a> {
        let Keys { nodes, offers, heard, gateways, listed, state, .. } = &*self.keys;
        let mut call = script.key(&[nodes, offers, heard, gateways, listed, state][..]);
        call.arg(millis(EXPIRY)).arg(millis(SILENCE)).arg(millis(keys::IDLE)).arg(&node.0);
        call
    }
}

#[async_trait]
impl Registry for RedisRegistry {
    async fn announce(&self, node: &NodeRecord) -> Result<Announced, StoreError> {
        let record = serde_json::to_string(node).expect("a record has only string keys");
        let mut call = self.call(&self.announce, &node.id);
        call.arg(record).arg(offers(&node.entries)).arg(node.roles.iter().any(|role| role == GATEWAY));
        self.link.script(&self.keys.nodes, &call).await.map(announced)
    }

    async fn heartbeat(&self, node: &NodeId, seen: Option<u64>) -> Result<Heartbeat, StoreError> {
        let mut call = self.call(&self.heartbeat, node);
        call.arg(seen.map(|version| version.to_string()).unwrap_or_default());
        let (known, version, generation, kinds) = self.link.script(&self.keys.nodes, &call).await?;
        Ok(Heartbeat { known, now: announced((version, generation, kinds)) })
    }

    async fn leave(&self, node: &NodeId) -> Result<Announced, StoreError> {
        self.link.script(&self.keys.nodes, &self.call(&self.leave, node)).await.map(announced)
    }

    async fn nodes(&self) -> Result<Snapshot, StoreError> {
        let mut commands = pipe();
        commands
            .atomic()
            .hmget(&self.keys.state, &["version", "generation"])
            .hgetall(&self.keys.nodes)
            .hgetall(&self.keys.listed);
        let ((version, generation), records, listed): (Numbers, Fields, Fields) =
            self.link.pipeline(&self.keys.nodes, &commands).await?;
        Ok(Snapshot {
            version: version.unwrap_or_default(),
            generation: generation.unwrap_or_default(),
            nodes: records.iter().filter_map(|(id, record)| node(id, record)).collect(),
            listed: listed.into_iter().filter_map(|(name, digest)| Some((parse_name(&name)?, digest))).collect(),
        })
    }

    async fn caught_up(&self, version: u64) -> Result<bool, StoreError> {
        let mut call = self.caught_up.key(&self.keys.gateways);
        call.key(&self.keys.heard).arg(version).arg(millis(EXPIRY));
        self.link.script(&self.keys.gateways, &call).await
    }

    async fn lease(&self, name: &str, node: &NodeId, ttl: Duration) -> Result<bool, StoreError> {
        let key = self.keys.lease(name);
        self.link.script(&key, self.lease_take.key(&key).arg(&node.0).arg(millis(ttl))).await
    }

    async fn release(&self, name: &str, node: &NodeId) -> Result<(), StoreError> {
        let key = self.keys.lease(name);
        self.link.script(&key, self.lease_release.key(&key).arg(&node.0)).await
    }

    async fn secret(&self, name: &str) -> Result<Vec<Secret>, StoreError> {
        let key = self.keys.secret(name);
        let new = random_secret()?;
        let mut call = self.secret.key(&key);
        let secrets: Vec<Vec<u8>> = self.link.script(&key, call.arg(&new).arg(millis(keys::IDLE))).await?;
        let secrets: Result<_, _> = secrets.into_iter().map(|secret| Secret::try_from(secret).map_err(drop)).collect();
        // The library's own error would show what there is.
        secrets.map_err(|()| StoreError::Record { key, source: "a key of it is not 32 bytes long".into() })
    }

    async fn rotate(&self, name: &str, keep: Duration) -> Result<(), StoreError> {
        let key = self.keys.secret(name);
        let new = random_secret()?;
        let mut call = self.secret_rotate.key(&key);
        call.arg(&new).arg(millis(keys::IDLE)).arg(millis(keep)).arg(MAX_SECRETS);
        self.link.script(&key, &call).await
    }
}

/// A script that begins with `nodes_head.lua`.
fn script(body: &str) -> Script {
    Script::new(&format!("{}\n{body}", include_str!("nodes_head.lua")))
}

/// What scripts need to know of a node's entries: `[[kind:name, digest], …]`, one for each name.
fn offers(entries: &[Entry]) -> String {
    let digests: BTreeMap<_, _> = entries.iter().map(|entry| (listed_name(entry), &entry.digest)).collect();
    serde_json::to_string(&digests.into_iter().collect::<Vec<_>>()).expect("strings are always JSON")
}

fn listed_name(entry: &Entry) -> String {
    format!("{}:{}", kind_name(entry.kind), entry.name)
}

/// The kind and name that [`listed_name`] joined; `None` for a kind that only newer nodes know.
fn parse_name(listed: &str) -> Option<(EntryKind, String)> {
    let (kind, name) = listed.split_once(':')?;
    Some((parse_kind(kind)?, name.to_owned()))
}

/// As in JSON.
const fn kind_name(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Tool => "tool",
        EntryKind::Prompt => "prompt",
        EntryKind::Template => "template",
        EntryKind::Provider => "provider",
    }
}

fn parse_kind(name: &str) -> Option<EntryKind> {
    let all = [EntryKind::Tool, EntryKind::Prompt, EntryKind::Template, EntryKind::Provider];
    all.into_iter().find(|kind| kind_name(*kind) == name)
}

/// Kinds that only newer nodes know change nothing for this one.
fn announced((version, generation, kinds): Outcome) -> Announced {
    let changed: BTreeSet<_> = kinds.iter().filter_map(|name| parse_kind(name)).collect();
    Announced { version, generation, changed: changed.into_iter().collect() }
}

/// What a node announced, without entries that this version does not understand. A record that is broken costs only
/// that node its place.
fn node(id: &str, record: &str) -> Option<NodeRecord> {
    match readable(record) {
        Ok(node) => Some(node),
        Err(error) => {
            warn!(node = id, error = &error as &dyn std::error::Error, "left out a node whose record cannot be read");
            None
        }
    }
}

fn readable(record: &str) -> Result<NodeRecord, serde_json::Error> {
    let mut record: serde_json::Value = serde_json::from_str(record)?;
    if let Some(entries) = record.get_mut("entries").and_then(serde_json::Value::as_array_mut) {
        entries.retain(|entry| Entry::deserialize(entry).is_ok());
    }
    NodeRecord::deserialize(record)
}

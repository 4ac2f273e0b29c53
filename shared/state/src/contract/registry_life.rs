//! What every registry does with nodes that fall silent. These take as long as nodes may be silent, so they run
//! side by side.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use super::{
    Fresh, fresh_stores,
    registry::{node, tool},
};
use crate::{EXPIRY, EntryKind, NodeId, Registry, testing::eventually};

type Shared = Arc<dyn Registry>;

pub async fn all(fresh: Fresh<'_>) {
    let registry = || fresh_stores(fresh).registry;
    tokio::join!(
        a_silent_node_is_removed_and_one_caller_is_told(registry()),
        nobody_is_removed_right_after_all_were_silent(registry()),
        a_gateway_that_is_silent_holds_nobody_back(registry()),
    );
}

async fn a_silent_node_is_removed_and_one_caller_is_told(registry: Shared) {
    let [silent, one, two] = ["silent", "one", "two"].map(|id| NodeId(id.into()));
    let silent_since = Instant::now();
    registry.announce(&node("silent", &["tools"], vec![tool("echo", "1")])).await.unwrap();
    registry.announce(&node("one", &["tools"], vec![])).await.unwrap();
    let before = registry.announce(&node("two", &["tools"], vec![])).await.unwrap();

    let mut told = Vec::new();
    let after = eventually(async || {
        let (one, two) = tokio::join!(registry.heartbeat(&one, None), registry.heartbeat(&two, None));
        let heartbeats = [one.unwrap(), two.unwrap()];
        assert!(heartbeats.iter().all(|heartbeat| heartbeat.known));
        told.extend(heartbeats.iter().map(|heartbeat| heartbeat.now.clone()).filter(|now| !now.changed.is_empty()));
        heartbeats.into_iter().map(|heartbeat| heartbeat.now).find(|now| now.version > before.version)
    })
    .await;
    let later = registry.heartbeat(&one, None).await.unwrap().now;

    assert!(silent_since.elapsed() > EXPIRY);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].version, told[0].changed.as_slice()), (after.version, &[EntryKind::Tool][..]));
    assert_eq!((later.version, later.changed), (after.version, vec![]));
    assert!(after.generation > before.generation);
    assert_eq!(ids(&registry).await, [one, two]);
    assert!(!registry.heartbeat(&silent, None).await.unwrap().known);
}

async fn nobody_is_removed_right_after_all_were_silent(registry: Shared) {
    let [first, last] = ["first", "last"].map(|id| NodeId(id.into()));
    registry.announce(&node("first", &["tools"], vec![])).await.unwrap();
    registry.announce(&node("last", &["tools"], vec![tool("echo", "1")])).await.unwrap();

    sleep(EXPIRY + Duration::from_millis(200)).await;
    let back = tokio::join!(registry.heartbeat(&first, None), registry.heartbeat(&last, None));
    for back in [back.0.unwrap(), back.1.unwrap()] {
        assert!(back.known && back.now.changed.is_empty());
    }
    assert_eq!(ids(&registry).await, [first.clone(), last]);

    eventually(async || {
        let heartbeat = registry.heartbeat(&first, None).await.unwrap();
        (heartbeat.now.changed == [EntryKind::Tool]).then_some(())
    })
    .await;
    assert_eq!(ids(&registry).await, [first]);
}

async fn a_gateway_that_is_silent_holds_nobody_back(registry: Shared) {
    let live = NodeId("live".into());
    let silent_since = Instant::now();
    registry.announce(&node("silent", &["gateway"], vec![])).await.unwrap();
    let version = registry.announce(&node("live", &["gateway"], vec![tool("echo", "1")])).await.unwrap().version;
    registry.heartbeat(&live, Some(version)).await.unwrap();
    assert!(!registry.caught_up(version).await.unwrap() || silent_since.elapsed() > EXPIRY);

    eventually(async || {
        registry.heartbeat(&live, Some(version)).await.unwrap();
        registry.caught_up(version).await.unwrap().then_some(())
    })
    .await;
}

async fn ids(registry: &Shared) -> Vec<NodeId> {
    registry.nodes().await.unwrap().nodes.into_iter().map(|node| node.id).collect()
}

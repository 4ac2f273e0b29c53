//! What every registry does with announcements, leases and reports.

use std::{sync::Arc, time::Duration};

use super::{Fresh, fresh_stores, registry_life, secrets};
use crate::{Announced, Entry, EntryKind, NodeId, NodeRecord, Registry, TaskSupport, testing::eventually};

type Shared = Arc<dyn Registry>;

const LONG: Duration = Duration::from_secs(600);

/// What every [`Registry`] does.
pub async fn registry(fresh: Fresh<'_>) {
    let registry = || fresh_stores(fresh).registry;
    an_announced_node_is_found_as_it_announced_itself(registry()).await;
    an_announcement_tells_which_kinds_changed(registry()).await;
    only_what_is_listed_raises_the_version(registry()).await;
    an_unchanged_announcement_changes_nothing(registry()).await;
    the_digest_that_most_nodes_have_is_listed(registry()).await;
    on_a_tie_the_digest_announced_last_is_listed(registry()).await;
    what_is_announced_unchanged_beside_something_new_wins_no_tie(registry()).await;
    a_node_that_leaves_takes_its_entries_along(registry()).await;
    the_numbers_survive_as_long_as_a_node_lives(registry()).await;
    a_name_offered_twice_by_one_node_counts_once(registry()).await;
    gateways_have_caught_up_once_all_of_them_reported(registry()).await;
    a_lease_has_one_holder_until_it_ends(registry()).await;
    a_lease_is_given_back_by_its_holder_only(registry()).await;
    secrets::all(fresh).await;
    registry_life::all(fresh).await;
}

async fn an_announced_node_is_found_as_it_announced_itself(registry: Shared) {
    let second = node("second", &["tools"], vec![tool("echo", "1"), prompt("ask", "2")]);
    let mut first = node("first", &["gateway", "resources"], vec![]);
    first.entries.push(Entry {
        kind: EntryKind::Provider,
        name: "files: {x}".into(),
        definition: r#"{"n":12345678901234567890,"é":"\u0000"}"#.into(),
        needs: r#"{"sampling":{}}"#.into(),
        prefix: "file:///data/".into(),
        repeatable: true,
        timeout_ms: 300_000,
        tasks: TaskSupport::Never,
        ..tool("", "3")
    });

    registry.announce(&second).await.unwrap();
    let announced = registry.announce(&first).await.unwrap();

    let snapshot = registry.nodes().await.unwrap();
    assert_eq!(snapshot.nodes, [first, second]);
    assert_eq!((snapshot.version, snapshot.generation), (announced.version, announced.generation));
    let listed = [
        ((EntryKind::Tool, "echo".to_owned()), "1".to_owned()),
        ((EntryKind::Prompt, "ask".to_owned()), "2".to_owned()),
        ((EntryKind::Provider, "files: {x}".to_owned()), "3".to_owned()),
    ];
    assert_eq!(snapshot.listed, listed.into());
}

async fn an_announcement_tells_which_kinds_changed(registry: Shared) {
    let one = node("one", &["tools"], vec![tool("echo", "1"), prompt("ask", "1"), prompt("tell", "1")]);
    let only_prompts = node("one", &["tools"], vec![tool("echo", "1"), prompt("ask", "2")]);

    assert_eq!(registry.announce(&one).await.unwrap().changed, [EntryKind::Tool, EntryKind::Prompt]);
    assert_eq!(registry.announce(&only_prompts).await.unwrap().changed, [EntryKind::Prompt]);
}

async fn only_what_is_listed_raises_the_version(registry: Shared) {
    let first = registry.announce(&node("one", &["tools"], vec![tool("echo", "1")])).await.unwrap();

    let same_entries = registry.announce(&node("two", &["tools"], vec![tool("echo", "1")])).await.unwrap();
    let other_entries = registry.announce(&node("two", &["tools"], vec![tool("count", "1")])).await.unwrap();

    assert_eq!((same_entries.version, same_entries.changed), (first.version, vec![]));
    assert!(same_entries.generation > first.generation);
    assert_eq!(other_entries.changed, [EntryKind::Tool]);
    assert!(other_entries.version > first.version && other_entries.generation > same_entries.generation);
}

async fn an_unchanged_announcement_changes_nothing(registry: Shared) {
    let one = node("one", &["tools"], vec![tool("echo", "1")]);
    let first = registry.announce(&one).await.unwrap();

    let again = registry.announce(&one).await.unwrap();

    assert_eq!(again, Announced { changed: vec![], ..first });
}

async fn the_digest_that_most_nodes_have_is_listed(registry: Shared) {
    for (id, digest) in [("one", "old"), ("two", "old"), ("three", "new")] {
        registry.announce(&node(id, &["tools"], vec![tool("echo", digest)])).await.unwrap();
    }
    assert_eq!(listed(&registry, "echo").await, "old");

    let outvoted = registry.announce(&node("two", &["tools"], vec![tool("echo", "new")])).await.unwrap();

    assert_eq!(outvoted.changed, [EntryKind::Tool]);
    assert_eq!(listed(&registry, "echo").await, "new");
}

async fn on_a_tie_the_digest_announced_last_is_listed(registry: Shared) {
    for (id, digest) in [("one", "z"), ("two", "a"), ("three", "m")] {
        let announced = registry.announce(&node(id, &["tools"], vec![tool("echo", digest)])).await.unwrap();

        assert_eq!(announced.changed, [EntryKind::Tool]);
        assert_eq!(listed(&registry, "echo").await, digest);
    }
}

async fn what_is_announced_unchanged_beside_something_new_wins_no_tie(registry: Shared) {
    let old = node("one", &["tools"], vec![tool("echo", "old")]);
    registry.announce(&old).await.unwrap();
    registry.announce(&node("two", &["tools"], vec![tool("echo", "new")])).await.unwrap();

    registry.announce(&old).await.unwrap();
    registry.announce(&node("one", &["tools"], vec![tool("echo", "old"), prompt("ask", "1")])).await.unwrap();

    assert_eq!(listed(&registry, "echo").await, "new");
}

async fn a_node_that_leaves_takes_its_entries_along(registry: Shared) {
    let one = node("one", &["tools"], vec![tool("echo", "1")]);
    let two = node("two", &["prompts"], vec![prompt("ask", "1")]);
    registry.announce(&one).await.unwrap();
    let before = registry.announce(&two).await.unwrap();

    let left = registry.leave(&one.id).await.unwrap();
    let again = registry.leave(&one.id).await.unwrap();

    assert_eq!(left.changed, [EntryKind::Tool]);
    assert!(left.version > before.version && left.generation > before.generation);
    assert_eq!(again, Announced { changed: vec![], ..left });
    assert_eq!(registry.nodes().await.unwrap().nodes, [two]);
    assert!(!registry.heartbeat(&one.id, None).await.unwrap().known);
}

async fn the_numbers_survive_as_long_as_a_node_lives(registry: Shared) {
    registry.announce(&node("one", &["tools"], vec![tool("echo", "1")])).await.unwrap();
    let two = registry.announce(&node("two", &["tools"], vec![])).await.unwrap();

    let left = registry.leave(&NodeId("one".into())).await.unwrap();
    let back = registry.announce(&node("one", &["tools"], vec![tool("echo", "1")])).await.unwrap();

    assert!(two.version < left.version && left.version < back.version);
    assert!(two.generation < left.generation && left.generation < back.generation);
}

async fn a_name_offered_twice_by_one_node_counts_once(registry: Shared) {
    registry.announce(&node("one", &["tools"], vec![tool("echo", "a"), tool("echo", "a")])).await.unwrap();
    registry.announce(&node("two", &["tools"], vec![tool("echo", "b")])).await.unwrap();

    assert_eq!(listed(&registry, "echo").await, "b");
}

async fn gateways_have_caught_up_once_all_of_them_reported(registry: Shared) {
    let [one, two, tools] = ["one", "two", "tools"].map(|id| NodeId(id.into()));
    assert!(registry.caught_up(1).await.unwrap(), "without gateways there is nobody to wait for");
    registry.announce(&node("one", &["gateway"], vec![])).await.unwrap();
    registry.announce(&node("two", &["tools", "gateway"], vec![])).await.unwrap();
    let version = registry.announce(&node("tools", &["tools"], vec![tool("echo", "1")])).await.unwrap().version;

    registry.heartbeat(&tools, Some(version)).await.unwrap();
    registry.heartbeat(&one, Some(version)).await.unwrap();
    registry.heartbeat(&two, Some(version - 1)).await.unwrap();
    assert!(!registry.caught_up(version).await.unwrap());

    registry.heartbeat(&two, Some(version)).await.unwrap();
    registry.heartbeat(&one, None).await.unwrap();
    assert!(registry.caught_up(version).await.unwrap());
    assert!(!registry.caught_up(version + 1).await.unwrap());
}

async fn a_lease_has_one_holder_until_it_ends(registry: Shared) {
    let [one, two] = ["one", "two"].map(|id| NodeId(id.into()));

    assert!(registry.lease("watch", &one, LONG).await.unwrap());
    assert!(!registry.lease("watch", &two, LONG).await.unwrap());
    assert!(registry.lease("another", &two, LONG).await.unwrap());

    assert!(registry.lease("watch", &one, Duration::from_millis(30)).await.unwrap(), "its holder may keep it");
    eventually(async || registry.lease("watch", &two, LONG).await.unwrap().then_some(())).await;
    assert!(!registry.lease("watch", &one, LONG).await.unwrap());
}

async fn a_lease_is_given_back_by_its_holder_only(registry: Shared) {
    let [one, two] = ["one", "two"].map(|id| NodeId(id.into()));
    registry.lease("watch", &one, LONG).await.unwrap();

    registry.release("watch", &two).await.unwrap();
    assert!(!registry.lease("watch", &two, LONG).await.unwrap());

    registry.release("watch", &one).await.unwrap();
    assert!(registry.lease("watch", &two, LONG).await.unwrap());
}

async fn listed(registry: &Shared, tool: &str) -> String {
    registry.nodes().await.unwrap().listed[&(EntryKind::Tool, tool.to_owned())].clone()
}

/// A node that offers `entries`.
pub fn node(id: &str, roles: &[&str], entries: Vec<Entry>) -> NodeRecord {
    NodeRecord {
        id: NodeId(id.into()),
        address: "127.0.0.1:3100".into(),
        version: "1.0.0".into(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        entries,
    }
}

/// A tool, as far as the registry cares.
pub fn tool(name: &str, digest: &str) -> Entry {
    Entry {
        kind: EntryKind::Tool,
        name: name.into(),
        definition: format!(r#"{{"name":"{name}"}}"#),
        digest: digest.into(),
        needs: String::new(),
        prefix: String::new(),
        repeatable: false,
        timeout_ms: 0,
        tasks: TaskSupport::Never,
    }
}

fn prompt(name: &str, digest: &str) -> Entry {
    Entry { kind: EntryKind::Prompt, ..tool(name, digest) }
}

//! Changes are told to the cluster by one node, and by another one when that is gone.

use std::{fs, sync::Arc, time::Duration};

use async_trait::async_trait;
use switchyard_proto::v1::{ListKind, fact::Kind};
use switchyard_resources::{ResourceService, ServiceOptions};
use switchyard_state::{Announced, Heartbeat, NodeId, NodeRecord, Registry, Secret, Snapshot, StoreError};

use super::{Folder, Log, LogState, patient, registry, requests::list, serve, start, start_with};

/// Soon over.
const SHORT: Duration = Duration::from_millis(400);

/// Options by which a node that says nothing is soon replaced. What the others saw they remember for long, because they
/// believe that publishing may take as long.
fn soon_replaced() -> ServiceOptions {
    ServiceOptions { lease: SHORT, ..patient() }
}

async fn ready(service: &ResourceService) {
    list(service, "data", "", 1).await.unwrap();
}

/// Waits until `node` has the lease of the folder's changes.
async fn until_held(registry: &Arc<dyn Registry>, folder: &Folder) {
    let name = format!("watch:{}", folder.uri(""));
    // A lease of no length ends at once, so that asking changes nothing.
    while registry.lease(&name, &NodeId("somebody".into()), Duration::ZERO).await.unwrap() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn field_case_100_a_change_is_told_with_its_own_uri_and_no_other() {
    let folder = Folder::with(&[("x.txt", "1"), ("y.txt", "1"), ("z.txt", "1")]);
    let (_service, log) = serve(&folder).await;

    folder.write("x.txt", "22");
    log.until_updated(&[folder.uri("x.txt")]).await;
    folder.write("y.txt", "22");
    log.until_updated(&[folder.uri("y.txt")]).await;

    assert_eq!(log.updates(), [folder.uri("x.txt"), folder.uri("y.txt")]);
    assert!(!log.is_list_changed());
}

#[tokio::test]
async fn field_case_98_saves_by_rename_are_told() {
    let folder = Folder::with(&[("doc.md", "0")]);
    let (_service, log) = serve(&folder).await;
    for save in 1..=3 {
        folder.write(".doc.md.swp", format!("{save}"));
        fs::rename(folder.path().join(".doc.md.swp"), folder.path().join("doc.md")).unwrap();

        log.until(|log| log.updates().len() == save).await;
    }

    assert!(log.updates().iter().all(|uri| *uri == folder.uri("doc.md")));
    assert!(!log.is_list_changed());
}

#[tokio::test]
async fn new_and_deleted_files_change_the_list() {
    let folder = Folder::with(&[("old.txt", "")]);
    let (_service, log) = serve(&folder).await;

    folder.write("new.txt", "");
    log.until(Log::is_list_changed).await;

    let lists = log.facts().into_iter().filter_map(|fact| match fact.kind {
        Some(Kind::ListChanged(changed)) => Some(changed.list()),
        _ => None,
    });
    assert!(lists.into_iter().all(|list| list == ListKind::Resources));
}

#[tokio::test]
async fn two_nodes_over_one_folder_tell_every_change_once() {
    let folder = Folder::with(&[]);
    let (registry, log) = (registry(), Log::default());
    let one = start(&[folder.source()], &registry, "one", &log).unwrap();
    let two = start(&[folder.source()], &registry, "two", &log).unwrap();
    ready(&one).await;
    ready(&two).await;
    until_held(&registry, &folder).await;
    let uris: Vec<_> = (0..20).map(|number| folder.uri(&format!("{number}.txt"))).collect();
    for number in 0..20 {
        folder.write(&format!("{number}.txt"), "1");
        log.until_updated(&uris[..=number]).await;
    }

    folder.write("last.txt", "");
    log.until_updated(&[folder.uri("last.txt")]).await;

    assert_eq!(log.updates().len(), 21, "{:?}", log.updates());
}

/// A registry that one node loses its way to.
struct Cut(Arc<dyn Registry>);

#[async_trait]
impl Registry for Cut {
    async fn announce(&self, node: &NodeRecord) -> Result<Announced, StoreError> {
        self.0.announce(node).await
    }
    async fn heartbeat(&self, node: &NodeId, seen: Option<u64>) -> Result<Heartbeat, StoreError> {
        self.0.heartbeat(node, seen).await
    }
    async fn leave(&self, node: &NodeId) -> Result<Announced, StoreError> {
        self.0.leave(node).await
    }
    async fn nodes(&self) -> Result<Snapshot, StoreError> {
        self.0.nodes().await
    }
    async fn caught_up(&self, version: u64) -> Result<bool, StoreError> {
        self.0.caught_up(version).await
    }
    async fn lease(&self, name: &str, node: &NodeId, ttl: Duration) -> Result<bool, StoreError> {
        self.0.lease(name, node, ttl).await
    }
    async fn release(&self, _: &str, _: &NodeId) -> Result<(), StoreError> {
        Err(StoreError::Away("cut off".into()))
    }
    async fn secret(&self, name: &str) -> Result<Vec<Secret>, StoreError> {
        self.0.secret(name).await
    }
    async fn rotate(&self, name: &str, keep: Duration) -> Result<(), StoreError> {
        self.0.rotate(name, keep).await
    }
}

#[tokio::test]
async fn when_the_node_that_tells_dies_another_one_tells_what_it_kept_to_itself() {
    for round in 0..5 {
        let folder = Folder::with(&[("a.txt", ""), ("b.txt", "")]);
        let registry = registry();
        // The first node publishes into nothing, and dies without giving its lease back.
        let (lost, log) = (Log::default(), Log::default());
        lost.set(LogState::Hanging);
        let cut: Arc<dyn Registry> = Arc::new(Cut(registry.clone()));
        let one = start_with(&soon_replaced(), &[folder.source()], &cut, "one", &lost).unwrap();
        ready(&one).await;
        until_held(&registry, &folder).await;
        let two = start_with(&soon_replaced(), &[folder.source()], &registry, "two", &log).unwrap();
        ready(&two).await;

        folder.write("a.txt", "before the death");
        tokio::time::sleep(Duration::from_millis(40 * round)).await;
        drop(one);
        folder.write("b.txt", "after the death");

        log.until_updated(&[folder.uri("a.txt"), folder.uri("b.txt")]).await;
        assert_eq!(lost.updates(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_node_that_stops_tells_what_it_has_to_and_hands_over_at_once() {
    let folder = Folder::with(&[("a.txt", ""), ("b.txt", "")]);
    let (registry, log) = (registry(), Log::default());
    let one = start(&[folder.source()], &registry, "one", &log).unwrap();
    ready(&one).await;
    until_held(&registry, &folder).await;
    let two = start_with(&soon_replaced(), &[folder.source()], &registry, "two", &log).unwrap();
    ready(&two).await;
    folder.write("a.txt", "22");

    one.stop().await;

    let name = format!("watch:{}", folder.uri(""));
    let is_free = registry.lease(&name, &NodeId("two".into()), super::LONG).await.unwrap();
    assert!(is_free);
    assert!(list(&one, "data", "", 9).await.is_ok());
    folder.write("b.txt", "22");
    log.until_updated(&[folder.uri("a.txt"), folder.uri("b.txt")]).await;
}

#[tokio::test]
async fn a_node_that_stops_tells_what_it_could_not_tell_before() {
    let folder = Folder::with(&[("a.txt", "")]);
    let (service, log) = serve(&folder).await;
    log.set(LogState::Away);
    folder.write("a.txt", "22");
    log.attempts(2).await;
    log.set(LogState::There);

    service.stop().await;

    assert_eq!(log.updates(), [folder.uri("a.txt")]);
}

#[tokio::test]
async fn changes_that_could_not_be_told_are_told_later_merged_and_without_repeats() {
    let folder = Folder::with(&[("a.txt", "")]);
    let (_service, log) = serve(&folder).await;
    log.set(LogState::Away);
    for number in 0..300 {
        folder.write("a.txt", format!("{number}"));
        folder.write(&format!("new{number}.txt"), "");
    }
    log.attempts(4).await;

    log.set(LogState::There);

    let all: Vec<_> = (0..300).map(|number| folder.uri(&format!("new{number}.txt"))).collect();
    log.until_updated(&all).await;
    log.until_updated(&[folder.uri("a.txt")]).await;
    assert!(log.updates().len() < 400, "{} updates", log.updates().len());
}

#[tokio::test]
async fn a_publishing_whose_answer_was_lost_is_repeated_under_the_same_ids() {
    let folder = Folder::with(&[("a.txt", "")]);
    let (_service, log) = serve(&folder).await;
    log.set(LogState::Silent);
    folder.write("a.txt", "22");
    log.attempts(4).await;

    log.set(LogState::There);

    log.attempts(1).await;
    assert_eq!(log.updates(), [folder.uri("a.txt")]);
    assert!(log.facts()[0].producer_id.starts_with("node/file:///"));
}

#[tokio::test]
async fn a_node_that_cannot_publish_leaves_it_to_one_that_can() {
    let folder = Folder::with(&[("a.txt", "")]);
    let (registry, away, log) = (registry(), Log::default(), Log::default());
    away.set(LogState::Hanging);
    let hasty = ServiceOptions { publish_timeout: SHORT, ..soon_replaced() };
    let one = start_with(&hasty, &[folder.source()], &registry, "one", &away).unwrap();
    ready(&one).await;
    until_held(&registry, &folder).await;
    let two = start_with(&soon_replaced(), &[folder.source()], &registry, "two", &log).unwrap();
    ready(&two).await;

    folder.write("a.txt", "22");

    log.until_updated(&[folder.uri("a.txt")]).await;
}

#[tokio::test]
async fn nothing_is_told_while_nothing_changes() {
    let folder = Folder::with(&[("a.txt", ""), ("sub/b.txt", "")]);
    let (service, log) = serve(&folder).await;
    for _ in 0..20 {
        list(&service, "data", "", 9).await.unwrap();
    }

    folder.write("marker.txt", "");
    log.until_updated(&[folder.uri("marker.txt")]).await;

    assert_eq!(log.updates().len(), 1);
}

#[tokio::test]
async fn dropping_the_service_ends_its_watching() {
    let folder = Folder::with(&[("a.txt", "")]);
    let (service, log) = serve(&folder).await;
    let root = service.files()[0].clone();

    drop(service);

    // A root has one watcher at a time, so once it can be watched again the former one has ended.
    let ended = async {
        while root.watch().is_err() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(super::LONG, ended).await.unwrap();
    assert_eq!(log.updates(), Vec::<String>::new());
}

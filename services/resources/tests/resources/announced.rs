//! What a node announces of its resources.

use switchyard_state::{Entry, EntryKind};

use super::{Folder, Log, registry, start};
use switchyard_resources::ResourceOptions;

async fn entries(sources: &[ResourceOptions]) -> Vec<Entry> {
    start(sources, &registry(), "node", &Log::default()).unwrap().entries().borrow().clone()
}

#[tokio::test]
async fn every_source_is_announced_as_a_provider_and_all_share_one_template() {
    let (one, two) = (Folder::with(&[]), Folder::with(&[]));
    let two_named = two.source_with(|options| options.name = Some("second".into()));

    let entries = entries(&[one.source(), two_named]).await;

    let kinds: Vec<_> = entries.iter().map(|entry| (entry.kind, &*entry.name, &*entry.prefix)).collect();
    assert_eq!(
        kinds,
        [
            (EntryKind::Provider, "data", &*one.uri("")),
            (EntryKind::Template, "file:///{+path}", ""),
            (EntryKind::Provider, "second", &*two.uri("")),
        ]
    );
    assert!(entries.iter().all(|entry| entry.repeatable && entry.digest.len() == 64));
    let template: serde_json::Value = serde_json::from_str(&entries[1].definition).unwrap();
    assert_eq!(template["uriTemplate"], "file:///{+path}");
    assert!(template["name"].is_string() && template["title"].is_string() && template["description"].is_string());
    // Expanded with the path of a file it is that file's URI.
    let expanded = template["uriTemplate"].as_str().unwrap().replace("{+path}", &one.path().display().to_string()[1..]);
    assert_eq!(expanded + "/", one.uri(""));
}

#[tokio::test]
async fn nodes_agree_exactly_if_they_serve_the_same_files() {
    let folder = Folder::with(&[]);
    let digest = async |source: ResourceOptions| entries(&[source]).await[0].digest.clone();

    let first = digest(folder.source()).await;

    assert_eq!(digest(folder.source()).await, first);
    assert_eq!(digest(folder.source_with(|options| options.watch.max_watches = 7)).await, first);
    assert_ne!(digest(folder.source_with(|options| options.gitignore = false)).await, first);
    assert_ne!(digest(folder.source_with(|options| options.max_read_bytes = 7)).await, first);
    assert_ne!(digest(Folder::with(&[]).source()).await, first);
}

//! What the tools say of themselves.

use serde_json::Value;
use switchyard_files::{FilesOptions, Root};
use switchyard_state::EntryKind;
use switchyard_tools::{Backends, ToolOptions, ToolService};

use crate::caller::with;

const ALL: [&str; 5] = ["checkDiskSpace", "checkServiceStatus", "search", "listProcesses", "echo"];

/// A service with every tool.
fn everything(files: &tempfile::TempDir) -> ToolService {
    let root = Root::open(&FilesOptions { path: files.path().to_owned(), ..Default::default() }).unwrap();
    let options = ALL.map(|name| ToolOptions { enabled: Some(true), ..ToolOptions::named(name) });
    with(&options, &Backends { files: vec![root] })
}

#[test]
fn every_definition_is_complete_and_valid() {
    let files = tempfile::tempdir().unwrap();
    let service = everything(&files);
    let entries = service.entries().borrow().clone();

    assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ALL);
    for entry in entries {
        let definition: Value = serde_json::from_str(&entry.definition).unwrap();
        let name = &entry.name;

        assert_eq!(entry.kind, EntryKind::Tool);
        assert_eq!(definition["name"], **name);
        assert!(name.len() <= 64 && name.bytes().all(|one| one.is_ascii_alphanumeric() || b"_-.".contains(&one)));
        for text in ["title", "description"] {
            assert!(!definition[text].as_str().unwrap().is_empty(), "{name} has a {text}");
        }
        for schema in ["inputSchema", "outputSchema"] {
            let schema = &definition[schema];
            jsonschema::draft202012::meta::validate(schema).unwrap();
            assert_eq!(schema["type"], "object", "{name}");
            assert_eq!(schema["additionalProperties"], false, "{name}");
            for (argument, described) in schema["properties"].as_object().unwrap() {
                assert!(described.is_object() && described["type"].is_string(), "{name} {argument}");
            }
        }
        for (argument, described) in definition["inputSchema"]["properties"].as_object().unwrap() {
            assert!(described["description"].is_string(), "{name} says what {argument} is");
        }
    }
}

#[test]
fn annotations_say_that_these_tools_only_look() {
    let files = tempfile::tempdir().unwrap();

    for entry in everything(&files).entries().borrow().iter() {
        let definition: Value = serde_json::from_str(&entry.definition).unwrap();
        let annotations = &definition["annotations"];

        assert_eq!(annotations["readOnlyHint"], true, "{}", entry.name);
        assert_eq!(annotations["destructiveHint"], false, "{}", entry.name);
        assert_eq!(annotations["idempotentHint"], true, "{}", entry.name);
        assert_eq!(annotations["openWorldHint"], entry.name == "checkServiceStatus", "{}", entry.name);
        assert!(entry.repeatable, "{}", entry.name);
    }
}

#[test]
fn definitions_fit_the_protocols_schema_of_a_tool() {
    let files = tempfile::tempdir().unwrap();
    // The members that the protocol knows, and no others.
    let known = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

    for entry in everything(&files).entries().borrow().iter() {
        let definition: Value = serde_json::from_str(&entry.definition).unwrap();

        assert_eq!(definition.as_object().unwrap().keys().collect::<Vec<_>>(), known);
    }
}

#[test]
fn the_same_options_give_the_same_digest_and_others_do_not() {
    let digest = |options: &[ToolOptions]| {
        let service = with(options, &Backends::default());
        let entries = service.entries().borrow().clone();
        entries.into_iter().find(|entry| entry.name == "checkServiceStatus").unwrap().digest
    };
    let plain = ToolOptions::named("checkServiceStatus");
    let patient = ToolOptions { timeout: std::time::Duration::from_secs(7), ..plain.clone() };
    let trusting = ToolOptions { allow_hosts: vec!["localhost:1".parse().unwrap()], ..plain.clone() };

    assert_eq!(digest(&[]), digest(std::slice::from_ref(&plain)));
    assert_eq!(digest(&[]).len(), 64);
    assert_ne!(digest(&[]), digest(&[patient]));
    assert_ne!(digest(&[]), digest(&[trusting]));
}

#[test]
fn nodes_that_search_other_files_do_not_offer_the_same_search() {
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let digest =
        |files| everything(files).entries().borrow().iter().find(|e| e.name == "search").unwrap().digest.clone();

    assert_eq!(digest(&here), digest(&here));
    assert_ne!(digest(&here), digest(&there));
}

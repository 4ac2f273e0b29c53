//! `search`

use std::{fs, path::Path};

use serde_json::{Value, json};
use switchyard_files::{FilesOptions, Root};
use switchyard_tools::{Backends, ToolService};
use tonic::Code;

use crate::caller::{call, with};

fn over(folders: &[&Path]) -> ToolService {
    let open = |path: &&Path| Root::open(&FilesOptions { path: path.to_path_buf(), ..Default::default() }).unwrap();
    with(&[], &Backends { files: folders.iter().map(open).collect() })
}

fn uris(found: &Value) -> Vec<&str> {
    found["matches"].as_array().unwrap().iter().map(|found| found["uri"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn text_is_found_in_names_and_contents() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.md"), "first\nThe Harbour opens\n").unwrap();
    fs::write(folder.path().join("harbour.txt"), "nothing\n").unwrap();

    let found = call(&over(&[folder.path()]), "search", json!({"query": "harbour"})).await.unwrap().success();

    let [name, line] = found["matches"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert!(name["uri"].as_str().unwrap().ends_with("/harbour.txt") && name.get("line").is_none(), "{name}");
    assert!(line["uri"].as_str().unwrap().ends_with("/plan.md"), "{line}");
    assert_eq!((&line["line"], &line["text"]), (&json!(2), &json!("The Harbour opens")));
    assert_eq!(found["more"], false);
}

#[tokio::test]
async fn the_limit_is_kept_over_all_folders_and_more_is_told() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    for folder in &folders {
        for file in ["a.txt", "b.txt"] {
            fs::write(folder.path().join(file), "needle").unwrap();
        }
    }
    let service = over(&folders.each_ref().map(|folder| folder.path()));

    for (limit, expected) in [(1, 1), (2, 2), (3, 3), (6, 6), (100, 6)] {
        let found = call(&service, "search", json!({"query": "needle", "limit": limit})).await.unwrap().success();

        assert_eq!(uris(&found).len(), expected, "{found}");
        assert_eq!(found["more"], limit < 6, "{found}");
    }
    // Ten without a limit.
    for file in 0..20 {
        fs::write(folders[0].path().join(format!("{file}.md")), "needle").unwrap();
    }
    let found = call(&service, "search", json!({"query": "needle"})).await.unwrap().success();
    assert_eq!((uris(&found).len(), &found["more"]), (10, &json!(true)));
}

#[tokio::test]
async fn what_is_not_served_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".env"), "needle").unwrap();
    fs::write(folder.path().join("seen.txt"), "needle").unwrap();

    let found = call(&over(&[folder.path()]), "search", json!({"query": "needle"})).await.unwrap().success();

    assert_eq!(uris(&found).len(), 1, "{found}");
}

#[tokio::test]
async fn queries_and_limits_outside_of_their_range_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let service = over(&[folder.path()]);
    let table = [
        (json!({"query": "a"}), "argument `query` must have at least 2 characters"),
        (json!({"query": "é"}), "argument `query` must have at least 2 characters"),
        (json!({}), "argument `query` is required"),
        (json!({"query": "ab", "limit": 0}), "argument `limit` must be at least 1"),
        (json!({"query": "ab", "limit": 101}), "argument `limit` must be at most 100"),
    ];

    for (arguments, expected) in table {
        let refused = call(&service, "search", arguments).await.unwrap_err();

        assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, expected));
    }
    assert!(call(&service, "search", json!({"query": "éé", "limit": 100.0})).await.is_ok());
}

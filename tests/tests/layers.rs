//! The order of the crates: each uses those of lower rows only, so no service knows another and nothing turns in
//! circles.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;

/// Every crate of the workspace, top row first.
const ROWS: [&[&str]; 5] = [
    &["switchyard-bench", "switchyard-fixtures", "switchyard-fuzz", "switchyard-rmcp-client", "switchyard-tests"],
    &["switchyard"],
    &["switchyard-events", "switchyard-gateway", "switchyard-prompts", "switchyard-resources", "switchyard-tools"],
    &[
        "switchyard-access",
        "switchyard-bus",
        "switchyard-files",
        "switchyard-http",
        "switchyard-mcp",
        "switchyard-tasks",
    ],
    &["switchyard-config", "switchyard-proto", "switchyard-schemas", "switchyard-state", "switchyard-telemetry"],
];

/// What each crate of the workspace depends on, for whatever purpose, outsiders included.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| (name(package), package["dependencies"].as_array().unwrap().iter().map(name).collect()))
        .collect()
}

fn row(name: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&name))
}

#[test]
fn every_crate_has_a_row() {
    for name in dependencies().keys() {
        assert!(row(name).is_some(), "`{name}` has no row yet: give it one in `ROWS`");
    }
}

#[test]
fn a_crate_uses_only_crates_of_lower_rows() {
    let mut wrong = Vec::new();

    for (name, used) in dependencies() {
        // A crate may turn on features of itself for its own tests.
        for other in used.iter().filter(|other| **other != name) {
            let Some(other_row) = row(other) else { continue };
            if row(&name) >= Some(other_row) {
                wrong.push(format!("`{name}` uses `{other}`, which is not in a row below"));
            }
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_protocol_and_the_wire_contract_stay_pure() {
    let dependencies = dependencies();

    for (name, foreign) in [
        ("switchyard-mcp", ["tokio", "tonic", "actix-web", "redis", "axum", "reqwest"].as_slice()),
        ("switchyard-proto", ["actix-web", "redis", "reqwest"].as_slice()),
    ] {
        for other in foreign {
            assert!(!dependencies[name].contains(&(*other).to_owned()), "`{name}` uses `{other}`");
        }
    }
}

#[test]
fn only_the_gateway_and_the_node_hold_actors_and_client_connections() {
    for (name, used) in dependencies() {
        let may =
            matches!(name.as_str(), "switchyard-gateway" | "switchyard" | "switchyard-bench" | "switchyard-tests");
        assert!(may || !used.iter().any(|other| other.starts_with("actix")), "`{name}` uses actix");
    }
}

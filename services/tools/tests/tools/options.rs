//! Which tools are offered.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_files::{FilesOptions, Root};
use switchyard_tools::{Backends, ToolLimits, ToolOptions, ToolService};

fn parse(list: Value) -> Vec<ToolOptions> {
    serde_json::from_value(list).unwrap()
}

fn offered(list: Value, backends: &Backends) -> Result<Vec<String>, String> {
    let service =
        ToolService::new(&parse(list), &ToolLimits::default(), backends).map_err(|error| error.to_string())?;
    let entries = service.entries().borrow().clone();
    Ok(entries.into_iter().map(|entry| entry.name).collect())
}

fn some_files(files: &tempfile::TempDir) -> Backends {
    let root = Root::open(&FilesOptions { path: files.path().to_owned(), ..Default::default() }).unwrap();
    Backends { files: vec![root] }
}

#[test]
fn without_options_the_harmless_tools_are_offered() {
    let files = tempfile::tempdir().unwrap();

    let names = offered(json!([]), &some_files(&files)).unwrap();

    assert_eq!(names, ["checkDiskSpace", "checkServiceStatus", "search"]);
}

#[test]
fn options_turn_tools_on_and_off() {
    let files = tempfile::tempdir().unwrap();
    let list = json!([
        {"name": "checkDiskSpace", "enabled": false},
        {"name": "listProcesses", "enabled": true},
        // Says nothing of `enabled`, so it stays as it is.
        {"name": "echo", "timeout": 5},
        {"name": "search", "timeout": "10m"},
    ]);

    let names = offered(list, &some_files(&files)).unwrap();

    assert_eq!(names, ["checkServiceStatus", "search", "listProcesses"]);
}

#[test]
fn without_files_there_is_no_search() {
    assert_eq!(offered(json!([]), &Backends::default()).unwrap(), ["checkDiskSpace", "checkServiceStatus"]);

    let wrong = offered(json!([{"name": "search", "enabled": true}]), &Backends::default()).unwrap_err();

    assert_eq!(wrong, "tools[0].enabled: `search` needs files to look through, and none are served");
}

#[test]
fn a_timeout_is_announced_in_milliseconds() {
    let list =
        parse(json!([{"name": "checkDiskSpace", "timeout": 7}, {"name": "checkServiceStatus", "timeout": "1m"}]));

    let service = ToolService::new(&list, &ToolLimits::default(), &Backends::default()).unwrap();
    let timeouts: Vec<_> = service.entries().borrow().iter().map(|entry| entry.timeout_ms).collect();

    assert_eq!(timeouts, [7_000, 60_000]);
    assert_eq!(ToolOptions::named("echo").timeout, Duration::from_secs(300));
}

#[test]
fn wrong_options_are_named_with_their_place() {
    let table = [
        (
            json!([{"name": "chekDiskSpce"}]),
            "tools[0].name: no tool is named `chekDiskSpce`, the nearest is `checkDiskSpace`",
        ),
        (json!([{"name": "ECHO"}]), "tools[0].name: no tool is named `ECHO`, the nearest is `echo`"),
        (json!([{"name": "echo"}, {"name": "echo"}]), "tools[1].name: `echo` was already named in tools[0]"),
        (json!([{"name": "echo", "timeout": 0}]), "tools[0].timeout: `0ns` is not between `1s` and `1h`"),
        (json!([{"name": "echo", "timeout": "2h"}]), "tools[0].timeout: `7200s` is not between `1s` and `1h`"),
        (
            json!([{"name": "echo", "allowHosts": ["localhost"]}]),
            "tools[0].allowHosts: `echo` makes no requests, only `checkServiceStatus` does",
        ),
    ];

    for (list, expected) in table {
        assert_eq!(offered(list, &Backends::default()).unwrap_err(), expected);
    }
}

#[test]
fn what_no_option_has_is_refused_when_it_is_read() {
    for wrong in [
        json!([{}]),
        json!([{"name": "echo", "enable": true}]),
        json!([{"name": "echo", "timeout": "soon"}]),
        json!([{"name": "checkServiceStatus", "allowHosts": ["http://localhost/"]}]),
    ] {
        assert!(serde_json::from_value::<Vec<ToolOptions>>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn a_node_that_may_run_nothing_is_refused() {
    let limits: ToolLimits = serde_json::from_value(json!({"maxConcurrentCalls": 0})).unwrap();

    let wrong = ToolService::new(&[], &limits, &Backends::default()).err().unwrap();

    assert_eq!(wrong.to_string(), "maxConcurrentCalls: `0` would let no call run");
}

#[test]
fn options_have_a_schema_that_they_fit() {
    let schema = serde_json::to_value(schemars::schema_for!(Vec<ToolOptions>)).unwrap();
    let options = json!([{"name": "checkServiceStatus", "timeout": "1m", "allowHosts": ["*.internal.example"]}]);

    assert!(jsonschema::draft202012::is_valid(&schema, &options), "{schema:#}");
    assert!(jsonschema::draft202012::is_valid(&schema, &serde_json::to_value(parse(options)).unwrap()), "{schema:#}");
    assert!(!jsonschema::draft202012::is_valid(&schema, &json!([{"enabled": true}])), "{schema:#}");
}

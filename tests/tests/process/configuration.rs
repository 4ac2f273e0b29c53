//! Configuration: what is wrong is told with its place, the reason and the nearest valid key, before a port opens.

use serde_json::{Value, json};
use switchyard_tests::{Finished, Folder, NodeOptions};

async fn check(folder: &Folder, file: &str, content: &str) -> Finished {
    folder.write(file, content);
    NodeOptions::new(folder, &["config", "check", file]).run().await
}

/// What `config check` says of a configuration that it refuses.
async fn complaint(config: &Value) -> String {
    let folder = Folder::sample();
    let finished = check(&folder, "config.json", &config.to_string()).await;
    assert_ne!(finished.code, Some(0), "{config} was accepted");
    finished.stdout + &finished.stderr
}

#[tokio::test]
async fn the_documented_configuration_is_accepted_as_json_and_as_yaml() {
    let folder = Folder::sample();
    let config = json!({
        "server": {"host": "0.0.0.0", "port": 3000, "sslEnabled": false},
        "resources": [{"type": "filesystem", "path": folder.path(), "readonly": true}],
        "tools": [{"name": "checkDiskSpace", "enabled": true}, {"name": "listProcesses", "enabled": false}],
        "prompts": {"path": "./prompts"},
    });
    let yaml = format!(
        "server:\n  host: 0.0.0.0\n  port: 3000\n  sslEnabled: false\nresources:\n  - type: filesystem\n    path: {}\n    \
         readonly: true\ntools:\n  - name: listProcesses\n    enabled: false\nprompts:\n  path: ./prompts\n",
        folder.path().display()
    );

    for (file, content) in [("config.json", config.to_string()), ("config.yaml", yaml.clone()), ("config.yml", yaml)] {
        let finished = check(&folder, file, &content).await;

        assert_eq!(finished.code, Some(0), "{file}: {}{}", finished.stdout, finished.stderr);
    }
}

#[tokio::test]
async fn an_unknown_key_is_told_with_the_nearest_valid_one() {
    for (config, path, nearest) in [
        (json!({"server": {"prot": 3000}}), "server.prot", "port"),
        (json!({"sever": {"port": 3000}}), "sever", "server"),
        (json!({"resources": [{"type": "filesystem", "path": ".", "readOnly": true}]}), "readOnly", "readonly"),
        (json!({"tools": [{"name": "search", "enable": true}]}), "enable", "enabled"),
    ] {
        let text = complaint(&config).await;

        assert!(text.contains(path) && text.contains("did you mean") && text.contains(nearest), "{config}: {text}");
    }
}

#[tokio::test]
async fn a_wrong_type_is_told_with_its_place() {
    for (config, path) in [
        (json!({"server": {"port": "many"}}), "server.port"),
        (json!({"server": {"port": 70000}}), "server.port"),
        (json!({"server": 7}), "server"),
        (json!({"resources": {"type": "filesystem"}}), "resources"),
        (json!({"resources": [{"type": "filesystem", "path": 7}]}), "resources[0].path"),
    ] {
        let text = complaint(&config).await;

        assert!(text.contains(path), "{config}: {text}");
    }
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_told() {
    let absent = complaint(&json!({"resources": [{"type": "filesystem", "path": "/nowhere/at/all"}]})).await;

    assert!(absent.contains("resources[0].path") && absent.contains("/nowhere/at/all"), "{absent}");
}

#[tokio::test]
async fn what_is_not_supported_yet_is_refused_rather_than_ignored() {
    for (config, word) in [
        (json!({"server": {"sslEnabled": true}}), "sslEnabled"),
        (json!({"resources": [{"type": "postgres", "connection": "x"}]}), "postgres"),
        (json!({"resources": [{"type": "filesystem", "path": ".", "readonly": false}]}), "readonly"),
        (json!({"tools": [{"name": "nobodyKnows"}]}), "nobodyKnows"),
    ] {
        let text = complaint(&config).await;

        assert!(text.contains(word), "{config}: {text}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_configuration_is_refused() {
    let folder = Folder::sample();

    for (file, content) in [("config.json", "{"), ("config.json", "[]"), ("config.yaml", "server: [")] {
        let finished = check(&folder, file, content).await;

        assert_ne!(finished.code, Some(0), "{content}");
        let text = finished.stdout + &finished.stderr;
        assert!(text.contains(file), "{text}");
    }
    let missing = NodeOptions::new(&folder, &["config", "check", "missing.json"]).run().await;
    assert_ne!(missing.code, Some(0));
    assert!((missing.stdout + &missing.stderr).contains("missing.json"));
}

#[tokio::test]
async fn values_come_from_the_environment_and_files_and_are_never_printed() {
    let folder = Folder::sample();
    folder.write("secret.txt", "hunter2-of-the-file\n");
    let file = folder.path().join("secret.txt");
    let host = json!({"server": {"host": "${env:TEST_HOST}", "port": 3000}}).to_string();
    folder.write("config.json", host);

    let good = NodeOptions::new(&folder, &["config", "check", "config.json"]).env("TEST_HOST", "127.0.0.1").run().await;
    let unset = NodeOptions::new(&folder, &["config", "check", "config.json"]).run().await;
    assert_eq!(good.code, Some(0), "{}", good.stderr);
    assert_ne!(unset.code, Some(0));
    assert!((unset.stdout + &unset.stderr).contains("TEST_HOST"));

    for value in ["${env:TEST_SECRET}".to_owned(), format!("${{file:{}}}", file.display())] {
        folder.write("config.json", json!({"server": {"port": value}}).to_string());
        let options = NodeOptions::new(&folder, &["config", "check", "config.json"]);
        let finished = options.env("TEST_SECRET", "hunter2-of-the-environment").run().await;
        let text = finished.stdout + &finished.stderr;
        assert_ne!(finished.code, Some(0));
        assert!(text.contains("server.port") && !text.contains("hunter2"), "{text}");
    }
}

#[tokio::test]
async fn a_wrong_configuration_ends_the_start_before_a_port_opens() {
    let folder = Folder::sample();
    folder.write("config.json", json!({"server": {"prot": 3000}}).to_string());

    let finished = NodeOptions::serve(&folder).arguments(&["--config", "config.json"]).run().await;

    assert_ne!(finished.code, Some(0));
    assert!(finished.stderr.contains("server.prot") && !finished.stderr.contains("listening"), "{}", finished.stderr);
}

#[tokio::test]
async fn options_beat_the_environment_and_the_environment_beats_the_file() {
    let folder = Folder::sample();
    folder.write("config.json", json!({"server": {"host": "127.0.0.7", "port": 1}}).to_string());
    let options = || NodeOptions::serve(&folder).arguments(&["--config", "config.json"]);

    let from_file = options().start().await;
    let from_environment = options().env("SWITCHYARD_SERVER_HOST", "127.0.0.8").start().await;
    let both = options().env("SWITCHYARD_SERVER_HOST", "127.0.0.8").arguments(&["--host", "127.0.0.9"]).start().await;

    let hosts = [from_file, from_environment, both].map(|node| node.mcp().address.ip().to_string());
    assert_eq!(hosts, ["127.0.0.7", "127.0.0.8", "127.0.0.9"]);
}

#[tokio::test]
async fn the_schema_describes_the_file() {
    let folder = Folder::sample();

    let finished = NodeOptions::new(&folder, &["config", "schema"]).run().await;

    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let schema: Value = serde_json::from_str(&finished.stdout).unwrap();
    for key in ["server", "resources", "tools", "prompts"] {
        assert!(schema["properties"][key].is_object(), "{key}: {schema}");
    }
    assert!(schema["$schema"].as_str().is_some_and(|dialect| dialect.contains("json-schema.org")));
}

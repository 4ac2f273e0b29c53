//! What a set of sources makes of options, and what is said when it makes none.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, ffi::OsString, net::SocketAddr, path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchyard_config::{ConfigError, Origin, Problem, Sources, check, load, schema};

/// Options of every shape that options have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Options {
    /// Where clients connect.
    server: Server,
    resources: Vec<Provider>,
    tools: Vec<Tool>,
    prompts: Option<Prompts>,
    log: Log,
    labels: BTreeMap<String, u8>,
    extra: Value,
    listen: Listen,
    ambiguous: Ambiguous,
    ambiguous_name: String,
    nothing: Nothing,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Nothing {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Server {
    host: String,
    /// The port.
    port: u16,
    ssl_enabled: bool,
    max_body_bytes: usize,
    advertise: Option<SocketAddr>,
    #[serde(with = "switchyard_config::duration")]
    #[schemars(with = "switchyard_config::duration::Text")]
    session_ttl: Duration,
    #[schemars(range(min = 1, max = 9))]
    ratio: f64,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 3000,
            ssl_enabled: false,
            max_body_bytes: 4096,
            advertise: None,
            session_ttl: Duration::from_secs(1800),
            ratio: 1.0,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Provider {
    /// A directory tree.
    Filesystem(Tree),
    /// Nothing at all.
    Empty,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Tree {
    path: PathBuf,
    #[serde(default)]
    readonly: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    enabled: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Prompts {
    path: PathBuf,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Log {
    /// For people.
    #[default]
    Pretty,
    /// For programs.
    Json,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Listen {
    Address(String),
    Socket(Prompts),
}

impl Default for Listen {
    fn default() -> Self {
        Self::Address(String::new())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Ambiguous {
    name: String,
}

fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn from_yaml(text: &str, pairs: &[(&str, &str)]) -> Result<Options, ConfigError> {
    let (_folder, path) = file("switchyard.yaml", text);
    load(&Sources::new().file(path).environment(variables(pairs)))
}

fn from_environment(pairs: &[(&str, &str)]) -> Result<Options, ConfigError> {
    load(&Sources::new().environment(variables(pairs)))
}

fn problems<T: std::fmt::Debug>(result: Result<T, ConfigError>) -> Vec<Problem> {
    match result.unwrap_err() {
        ConfigError::Invalid(problems) => problems,
        other => panic!("{other}"),
    }
}

/// The problems without the folder of the file.
fn lines<T: std::fmt::Debug>(result: Result<T, ConfigError>) -> Vec<String> {
    let mut problems = problems(result);
    for problem in &mut problems {
        if let Some(Origin::File { path, .. }) = &mut problem.origin {
            *path = path.file_name().unwrap().into();
        }
    }
    problems.iter().map(Problem::to_string).collect()
}

#[test]
fn without_any_source_everything_has_its_default() {
    assert_eq!(load::<Options>(&Sources::new()).unwrap(), Options::default());
}

#[test]
fn options_beat_variables_beat_the_file_beats_defaults() {
    let json = r#"{"$schema": "s.json", "server": {"host": "file", "port": 1, "maxBodyBytes": 1, "sslEnabled": true}}"#;
    let yaml = "server:\n  host: file\n  port: 1\n  maxBodyBytes: 1\n  sslEnabled: true\n";
    for (name, text) in [("a.json", json), ("a.yaml", yaml)] {
        let (_folder, path) = file(name, text);
        let sources = Sources::new()
            .file(path)
            .environment(variables(&[("SWITCHYARD_SERVER_PORT", "2"), ("SWITCHYARD_SERVER_MAX_BODY_BYTES", "2")]))
            .option("--max-body", "server.maxBodyBytes", 3);

        let server = load::<Options>(&sources).unwrap().server;

        let expected =
            Server { host: "file".into(), port: 2, max_body_bytes: 3, ssl_enabled: true, ..Server::default() };
        assert_eq!(server, expected, "{name}");
    }
}

#[test]
fn the_documented_shape_is_read_alike_from_json_and_yaml() {
    let json = r#"{"server": {"host": "0.0.0.0", "port": 3000, "sslEnabled": false},
        "resources": [{"type": "filesystem", "path": "/data/resources", "readonly": true}],
        "tools": [{"name": "checkDiskSpace", "enabled": true}, {"name": "listProcesses", "enabled": false}],
        "prompts": {"path": "./prompts"}}"#;
    let yaml = "
server: {host: 0.0.0.0, port: 3000, sslEnabled: false}
resources:
  - type: filesystem
    path: /data/resources
    readonly: true
tools:
  - {name: checkDiskSpace, enabled: true}
  - {name: listProcesses, enabled: false}
prompts:
  path: ./prompts
";
    let read = |name: &str, text: &str| {
        let (_folder, path) = file(name, text);
        load::<Options>(&Sources::new().file(path)).unwrap()
    };

    let options = read("a.json", json);

    assert_eq!(options, read("a.yaml", yaml));
    assert_eq!(options.resources, [Provider::Filesystem(Tree { path: "/data/resources".into(), readonly: true })]);
    assert_eq!(options.prompts, Some(Prompts { path: "./prompts".into() }));
}

#[test]
fn sections_without_content_count_as_not_given() {
    let options = from_yaml("server:\n  # port: 1\nresources:\nprompts:\nlabels:\n", &[]).unwrap();

    assert_eq!(options, Options::default());
}

#[test]
fn variables_find_their_key_by_the_schema() {
    let options = from_environment(&[
        ("SWITCHYARD_SERVER_HOST", "3000"),
        ("SWITCHYARD_SERVER_SSL_ENABLED", "true"),
        ("SWITCHYARD_SERVER_SESSION_TTL", "1h30m"),
        ("SWITCHYARD_SERVER_ADVERTISE", "10.0.0.1:3100"),
        ("SWITCHYARD_PROMPTS_PATH", "/p"),
        ("SWITCHYARD_LOG", "json"),
        ("SWITCHYARD_TOOLS", r#"[{"name": "search", "enabled": false}]"#),
        ("SWITCHYARD_LABELS", r#"{"a": 1}"#),
        ("SWITCHYARD_EXTRA", r#"{"any": ["thing"]}"#),
        ("SWITCHYARD_LISTEN_PATH", "/s"),
        ("ELSEWHERE", "ignored"),
    ])
    .unwrap();

    assert_eq!(options.server.host, "3000");
    assert!(options.server.ssl_enabled);
    assert_eq!(options.server.session_ttl, Duration::from_secs(5400));
    assert_eq!(options.server.advertise, Some(([10, 0, 0, 1], 3100).into()));
    assert_eq!(options.prompts, Some(Prompts { path: "/p".into() }));
    assert_eq!(options.log, Log::Json);
    assert_eq!(options.tools, [Tool { name: "search".into(), enabled: Some(false) }]);
    assert_eq!(options.labels, BTreeMap::from([("a".into(), 1)]));
    assert_eq!(options.extra, json!({ "any": ["thing"] }));
    assert_eq!(options.listen, Listen::Socket(Prompts { path: "/s".into() }));
}

#[test]
fn a_variable_for_a_section_merges_and_one_for_a_list_replaces() {
    let options = from_yaml(
        "server: {host: file, port: 1}\ntools: [{name: a}]\n",
        &[
            ("SWITCHYARD_SERVER_HOST", "variable"),
            ("SWITCHYARD_SERVER", r#"{"port": 2, "host": "section"}"#),
            ("SWITCHYARD_TOOLS", r#"[{"name": "b"}]"#),
        ],
    )
    .unwrap();

    assert_eq!(options.server, Server { host: "variable".into(), port: 2, ..Server::default() });
    assert_eq!(options.tools, [Tool { name: "b".into(), enabled: None }]);
}

#[test]
fn variables_of_others_are_left_alone() {
    let sources = Sources::new().except(["SWITCHYARD_CONFIG"]).environment(variables(&[
        ("SWITCHYARD_CONFIG", "a.yaml"),
        ("SWITCHYARD_PORT", "tcp://10.0.0.1:3000"),
        ("SWITCHYARD_SERVER_PORT", "tcp://10.0.0.1:3000"),
        ("SWITCHYARD_SERVICE_HOST", "10.0.0.1"),
        ("SWITCHYARD_SERVICE_PORT", "3000"),
        ("SWITCHYARD_GATEWAY_SERVICE_PORT_HTTP", "3000"),
        ("SWITCHYARD_PORT_3000_TCP", "tcp://10.0.0.1:3000"),
        ("SWITCHYARD_PORT_3000_TCP_ADDR", "10.0.0.1"),
    ]));

    assert_eq!(load::<Options>(&sources).unwrap(), Options::default());
}

#[test]
fn what_does_not_fit_is_named_with_its_place_and_the_nearest_key() {
    for (text, expected) in [
        ("server: {prot: 1}", "server.prot (a.yaml:1:10): unknown key, did you mean `server.port`?"),
        ("server: {}\nport: 1", "port (a.yaml:2:1): unknown key, did you mean `server.port`?"),
        (
            "server:\n  max_body_bytes: 1",
            "server.max_body_bytes (a.yaml:2:3): unknown key, did you mean `server.maxBodyBytes`?",
        ),
        ("prompts: {colour: red}", "prompts.colour (a.yaml:1:11): unknown key, known here are `path`"),
        ("server: {port: abc}", "server.port (a.yaml:1:10): expected a whole number from 0 to 65535, got a string"),
        ("server: {port: 1.5}", "server.port (a.yaml:1:10): expected a whole number from 0 to 65535, got a number"),
        ("server: {port: }", "server.port (a.yaml:1:10): expected a whole number from 0 to 65535, got nothing"),
        ("server: {port: 70000}", "server.port (a.yaml:1:10): expected a number from 0 to 65535, got 70000"),
        ("server: {ratio: 9.5}", "server.ratio (a.yaml:1:10): expected a number from 1 to 9, got 9.5"),
        ("server: {sslEnabled: no}", "server.sslEnabled (a.yaml:1:10): expected true or false, got a string"),
        ("server: {host: 12}", "server.host (a.yaml:1:10): expected a string, got a whole number"),
        (
            "server: {sessionTtl: true}",
            "server.sessionTtl (a.yaml:1:10): expected a number or a string, such as `30m`, got true or false",
        ),
        (
            "server: {sessionTtl: 30x}",
            "server.sessionTtl (a.yaml:1:10): invalid value: string \"30x\", expected a duration of at most 100 years \
             such as `30m` or `1h30m`, or a number of seconds",
        ),
        ("server: {advertise: here}", "server.advertise (a.yaml:1:10): invalid socket address syntax"),
        ("server: 3", "server (a.yaml:1:1): expected a section of keys, got a whole number"),
        ("tools: {name: a}", "tools (a.yaml:1:1): expected a list, got a section of keys"),
        ("tools: [{nmae: a}]", "tools[0].nmae (a.yaml:1:10): unknown key, did you mean `tools[0].name`?"),
        ("tools: [{enabled: true}]", "tools[0].name (a.yaml:1:9): this key is required"),
        ("tools: [{}]", "tools[0].name (a.yaml:1:9): this key is required"),
        (
            "resources: [{tpye: empty}]",
            "resources[0].tpye (a.yaml:1:14): unknown key, did you mean `resources[0].type`?",
        ),
        ("tools: [a]", "tools[0] (a.yaml:1:9): expected a section of keys, got a string"),
        (
            "resources: [{type: filesytem, path: /}]",
            "resources[0].type (a.yaml:1:14): `filesytem` is not one of `filesystem`, `empty`, did you mean `filesystem`?",
        ),
        (
            "resources: [{type: sqlite, url: x}]",
            "resources[0].type (a.yaml:1:14): `sqlite` is not one of `filesystem`, `empty`",
        ),
        (
            "resources: [{path: /}]",
            "resources[0].type (a.yaml:1:13): this key is required, one of `filesystem`, `empty`",
        ),
        (
            "resources:\n- type: filesystem\n  path: /\n  readOnly: true",
            "resources[0].readOnly (a.yaml:4:3): unknown key, did you mean `resources[0].readonly`?",
        ),
        ("resources: [{type: empty, path: /}]", "resources[0].path (a.yaml:1:27): unknown key, known here are `type`"),
        ("log: jsn", "log (a.yaml:1:1): `jsn` is not one of `pretty`, `json`, did you mean `json`?"),
        ("log: 1", "log (a.yaml:1:1): expected one of `pretty`, `json`, got a whole number"),
        ("labels: {a: b}", "labels.a (a.yaml:1:10): expected a whole number from 0 to 255, got a string"),
        ("listen: {pth: /}", "listen.pth (a.yaml:1:10): unknown key, did you mean `listen.path`?"),
        ("nothing: {x: 1}", "nothing.x (a.yaml:1:11): unknown key, there are none here"),
        ("listen: 1", "listen (a.yaml:1:1): expected a string or a section of keys, got a whole number"),
        ("prompts: text", "prompts (a.yaml:1:1): expected a section of keys, got a string"),
    ] {
        let (_folder, path) = file("a.yaml", text);

        let found = lines(load::<Options>(&Sources::new().file(path)));

        assert_eq!(found, [expected], "{text}");
    }
}

#[test]
fn places_are_known_in_json_too() {
    let (_folder, path) = file("a.json", "{\n  \"server\": {\n    \"host\": \"\\ud83d\\ude00\", \"prot\": 1\n  }\n}");

    let found = lines(load::<Options>(&Sources::new().file(path)));

    assert_eq!(found, ["server.prot (a.json:3:29): unknown key, did you mean `server.port`?"]);
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_where_it_came_from() {
    let (_folder, path) = file("a.yaml", "server:\n  prot: 1\n  host: 2\ntools: [{}]\n");
    let sources = Sources::new()
        .file(path)
        .environment(variables(&[("SWITCHYARD_SERVER_PROT", "1"), ("SWITCHYARD_SERVER_PORT", "many")]))
        .option("--ttl", "server.sessionTtl", false)
        .option("--set", "log.levle", 1);

    let found = lines(load::<Options>(&sources));

    assert_eq!(
        found,
        [
            "SWITCHYARD_SERVER_PROT: no option has a variable of this name, did you mean `SWITCHYARD_SERVER_PORT`?",
            "server.prot (a.yaml:2:3): unknown key, did you mean `server.port`?",
            "server.host (a.yaml:3:3): expected a string, got a whole number",
            "server.port (SWITCHYARD_SERVER_PORT): expected a whole number from 0 to 65535, got a string",
            "server.sessionTtl (--ttl): expected a number or a string, such as `30m`, got true or false",
            "tools[0].name (a.yaml:4:9): this key is required",
            "log (--set): expected one of `pretty`, `json`, got a section of keys",
        ]
    );
}

#[test]
fn variables_that_cannot_be_used_are_named() {
    for (variable, value, expected) in [
        (
            "SWITCHYARD_SERVER_TOOLS",
            "x",
            "SWITCHYARD_SERVER_TOOLS: no option has a variable of this name, did you mean",
        ),
        ("SWITCHYARD_", "x", "SWITCHYARD_: no option has a variable of this name, did you mean"),
        ("SWITCHYARD_TOOLS", "[{", "tools (SWITCHYARD_TOOLS): this is not JSON: EOF while parsing an object at line 1"),
        ("SWITCHYARD_TOOLS", "a,b", "tools (SWITCHYARD_TOOLS): expected a list, got a string"),
        ("SWITCHYARD_TOOLS", r#"[{"nam": "a"}]"#, "tools[0].nam (SWITCHYARD_TOOLS): unknown key, did you mean"),
        ("SWITCHYARD_SERVER_PORT", "", "server.port (SWITCHYARD_SERVER_PORT): expected a whole number"),
        (
            "SWITCHYARD_AMBIGUOUS_NAME",
            "x",
            "SWITCHYARD_AMBIGUOUS_NAME: this may mean `ambiguous.name` or `ambiguousName`, so set it elsewhere",
        ),
    ] {
        let found = lines(from_environment(&[(variable, value)]));

        assert!(found[0].starts_with(expected), "{found:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let value = OsString::from_vec(vec![0xff]);

    let found = lines(load::<Options>(&Sources::new().environment([("SWITCHYARD_SERVER_HOST".into(), value)])));

    assert_eq!(
        found,
        ["server.host (SWITCHYARD_SERVER_HOST): the environment variable `SWITCHYARD_SERVER_HOST` is not UTF-8 text"]
    );
}

#[test]
fn references_stand_in_any_value_from_any_source() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("a", "from file\n"), ("b", "2\r\n"), ("c", "two\n\n"), ("d", "")] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let at = |name: &str| format!("${{file:{}}}", folder.path().join(name).display());
    let text = format!(
        "server: {{host: '{}', port: '{}', maxBodyBytes: '${{env:SIZE}}', sslEnabled: '${{env:SSL}}'}}\n\
         tools: [{{name: '{}|${{env:SIZE}}|{}|$${{env:SIZE}}|$|$$|a}}'}}, {{name: '${{env:SIZE}}'}}, {{name: '{}'}}]\n",
        at("a"),
        at("b"),
        at("a"),
        at("d"),
        at("c"),
    );

    let options = from_yaml(
        &text,
        &[
            ("SIZE", "77"),
            ("SSL", "true"),
            ("ODD", "${env:SIZE}"),
            ("SWITCHYARD_PROMPTS_PATH", "/p/${env:ODD}"),
            ("SWITCHYARD_SERVER_RATIO", "${env:SIZE_OF_RATIO}"),
            ("SIZE_OF_RATIO", "2.5"),
        ],
    )
    .unwrap();

    assert_eq!(options.server.host, "from file");
    assert_eq!((options.server.port, options.server.max_body_bytes), (2, 77));
    assert_eq!((options.server.ssl_enabled, options.server.ratio), (true, 2.5));
    let names: Vec<_> = options.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["from file|77||${env:SIZE}|$|$$|a}", "77", "two\n"]);
    assert_eq!(options.prompts, Some(Prompts { path: "/p/${env:SIZE}".into() }));
}

#[test]
fn a_reference_that_leads_nowhere_is_named_with_its_key() {
    for (value, expected) in [
        ("${env:NOPE}", "the environment variable `NOPE` is not set"),
        ("x${env:NOPE}y", "the environment variable `NOPE` is not set"),
        ("${file:/nowhere/at/all}", "the file `/nowhere/at/all` cannot be read: No such file or directory"),
        ("${file:/}", "the file `/` cannot be read: Is a directory"),
        ("${HOME}", "`${` begins a reference"),
        ("${env:}", "`${` begins a reference"),
        ("${vault:x}", "`${` begins a reference"),
        ("${env:HOME", "`${` begins a reference"),
    ] {
        let found = lines(from_yaml(&format!("server: {{port: '{value}'}}"), &[]));

        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("server.port (switchyard.yaml:1:10): {expected}")), "{found:?}");
    }
}

#[test]
fn what_a_reference_gave_is_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let secret_file = folder.path().join("secret");
    let binary_file = folder.path().join("binary");
    std::fs::write(&secret_file, "hunter2\n").unwrap();
    std::fs::write(&binary_file, b"hunter2\xff").unwrap();
    for reference in ["env:SECRET".to_owned(), format!("file:{}", secret_file.display())] {
        for text in [
            "server: {port: '@'}",
            "server: {sslEnabled: '@'}",
            "server: {advertise: '@'}",
            "server: {advertise: 'x@y'}",
            "server: {sessionTtl: '@'}",
            "server: {sessionTtl: '1h@'}",
            "log: '@'",
            "log: 'js@'",
            "labels: {a: '@'}",
            "tools: '@'",
            "tools: [{name: a, enabled: '@'}]",
            "resources: [{type: '@', path: /}]",
            "resources: [{type: filesystem, path: '@', readonly: 1}]",
            "resources: [{type: filesystem, path: '@', readonly: '@'}]",
            "server: '@'",
            "prompts: '@'",
            "server: {prot: '@'}",
        ] {
            let text = text.replace('@', &format!("${{{reference}}}"));

            let error = from_yaml(&text, &[("SECRET", "hunter2")]).unwrap_err();

            let shown = format!("{error} {error:?} {error:#?}");
            assert!(!shown.contains("hunter"), "{text}: {shown}");
            assert!(
                shown.contains(&reference) || shown.contains("unknown key") || text.contains("readonly: 1"),
                "{shown}"
            );
        }
    }
    for (variable, value) in [("NUMBER", "70000"), ("NUMBER", "-4242")] {
        let error = from_yaml("server: {port: '${env:NUMBER}'}", &[(variable, value)]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(value.trim_start_matches('-')), "{error}");
    }
    let error = from_yaml(&format!("server: {{host: '${{file:{}}}'}}", binary_file.display()), &[]).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter"), "{error:?}");
    // What is no reference, though it looks like the beginning of one, may be a password.
    let error = from_yaml("server: {host: 'a${hunter2'}", &[]).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter"), "{error:?}");
}

#[test]
fn a_check_looks_at_the_file_alone_and_at_the_variables_it_refers_to() {
    let (_folder, path) = file("a.yaml", "server: {port: '${env:PORT}'}");

    let found = check::<Options>(&path, variables(&[("PORT", "1"), ("SWITCHYARD_NONSENSE", "1")]));

    assert!(found.is_ok(), "{found:?}");
    assert!(check::<Options>(&path, variables(&[("PORT", "x")])).is_err());
    assert!(check::<Options>(&path, []).is_err());
}

#[test]
fn files_that_cannot_be_read_are_told_apart_from_wrong_ones() {
    let (_folder, path) = file("a.json", "{\"server\": }");

    assert!(matches!(load::<Options>(&Sources::new().file(&path)), Err(ConfigError::Syntax { .. })));
    assert!(matches!(load::<Options>(&Sources::new().file("/nowhere.yaml")), Err(ConfigError::Read { .. })));
}

#[test]
fn the_published_schema_fits_what_is_loaded() {
    let schema = schema::<Options>();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["properties"]["server"]["description"], "Where clients connect.");
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();

    for (configuration, fits) in [
        (json!({}), true),
        (serde_json::to_value(Options::default()).unwrap(), true),
        (
            json!({ "$schema": "x", "server": { "port": "${env:PORT}", "sslEnabled": "${file:/run/secrets/ssl}" } }),
            true,
        ),
        (json!({ "log": "${env:LOG}", "labels": { "a": "${env:A}" }, "server": { "host": "${env:A}" } }), true),
        (json!({ "tools": [{ "name": "a", "enabled": "${env:ON}" }], "resources": [{ "type": "empty" }] }), true),
        (json!({ "server": { "prot": 1 } }), false),
        (json!({ "server": { "port": "1" } }), false),
        (json!({ "server": { "port": 70000 } }), false),
        (json!({ "log": "jsn" }), false),
        (json!({ "resources": [{ "type": "sqlite" }] }), false),
    ] {
        assert_eq!(validator.is_valid(&configuration), fits, "{configuration}");
        let (_folder, path) = file("a.json", &configuration.to_string());
        let known = [("PORT", "1"), ("LOG", "json"), ("A", "1"), ("ON", "true")];
        let loaded = load::<Options>(&Sources::new().file(path).environment(variables(&known)));
        if !configuration.to_string().contains("${file") {
            assert_eq!(loaded.is_ok(), fits, "{configuration}: {loaded:?}");
        }
    }
}

//! The configuration: what is taken reads the same when it is written again, and what is refused is refused without
//! showing a secret.

use std::{cell::RefCell, collections::BTreeMap, ffi::OsString, fs, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_config::{ConfigError, Sources, duration};
use tempfile::TempDir;

/// What `${env:SECRET}` gives. No error may show it.
const SECRET: &str = "b8c5cf1a-in-no-error";

/// What `${env:NUMBER}` gives. No error may show it.
const NUMBER: &str = "7305184629";

thread_local! {
    static FOLDER: RefCell<TempDir> = RefCell::new(tempfile::tempdir().expect("a folder can be made"));
}

/// The text of a configuration file, its first line the name's ending (`json`, `yaml`, or anything else), and after a
/// line `%` environment variables, one `NAME=value` a line.
///
/// # Panics
/// When an error shows a secret, says nothing, or what was taken cannot be written and taken again.
pub fn config(data: &[u8]) {
    let (ending, rest) = split(data, b"\n");
    let (document, variables) = split(rest, b"\n%\n");
    let ending = if matches!(ending, b"json" | b"yaml") { std::str::from_utf8(ending).ok() } else { None };
    let variables = String::from_utf8_lossy(variables);
    let options = match load(document, ending.unwrap_or("conf"), &variables) {
        Ok(options) => options,
        Err(error) => return is_refusal(&error, data),
    };
    assert!(options.ttl <= duration::LONGEST && options.server.timeout <= duration::LONGEST);

    let options = options.in_milliseconds();
    let written = written(&options);
    assert_eq!(load(written.as_bytes(), "json", "").ok().as_ref(), Some(&options), "{written}");
    // YAML has no place for some characters, but none for misunderstandings.
    match load(written.as_bytes(), "yaml", "") {
        Ok(again) => assert_eq!(again, options, "{written}"),
        Err(error) => assert!(matches!(error, ConfigError::Syntax { .. }), "{written}: {error}"),
    }
}

fn split<'a>(data: &'a [u8], separator: &[u8]) -> (&'a [u8], &'a [u8]) {
    match data.windows(separator.len()).position(|window| window == separator) {
        Some(at) => (&data[..at], &data[at + separator.len()..]),
        None => (data, &[]),
    }
}

fn load(document: &[u8], ending: &str, variables: &str) -> Result<Options, ConfigError> {
    let path = FOLDER.with_borrow(|folder| folder.path().join(format!("a.{ending}")));
    fs::write(&path, document).expect("a file can be written");
    let given = variables.lines().filter_map(|line| line.split_once('='));
    let all = [("SECRET", SECRET), ("NUMBER", NUMBER)].into_iter().chain(given);
    let variables = all.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    switchyard_config::load(&Sources::new().file(path).environment(variables))
}

fn is_refusal(error: &ConfigError, data: &[u8]) {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &error.to_string();
        cause = error.source();
    }
    assert!(!text.is_empty());
    assert!(!matches!(error, ConfigError::Invalid(problems) if problems.is_empty()));
    for secret in [SECRET, NUMBER] {
        let is_given = data.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(is_given || !text.contains(secret), "{text}");
    }
}

/// The options as a file.
fn written(options: &Options) -> String {
    let mut value = serde_json::to_value(options).expect("options are JSON");
    escape(&mut value);
    value.to_string()
}

/// Writes what would begin a reference as what stands for itself.
fn escape(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.replace("${", "$${"),
        Value::Array(items) => items.iter_mut().for_each(escape),
        Value::Object(members) => members.values_mut().for_each(escape),
        _ => {}
    }
}

/// Options of every form that the program's have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Options {
    server: Server,
    resources: Vec<Source>,
    labels: BTreeMap<String, String>,
    level: Level,
    token: Option<String>,
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    ttl: Duration,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Server {
    host: String,
    port: u16,
    ssl_enabled: bool,
    max_body_bytes: Option<u32>,
    offset: i64,
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    timeout: Duration,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", deny_unknown_fields, rename_all = "camelCase")]
enum Source {
    Filesystem {
        path: String,
        #[serde(default)]
        readonly: bool,
    },
    Http {
        url: String,
        headers: Option<BTreeMap<String, String>>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Level {
    #[default]
    Info,
    Debug,
}

impl Options {
    /// As they are written: durations have whole milliseconds.
    fn in_milliseconds(mut self) -> Self {
        for duration in [&mut self.ttl, &mut self.server.timeout] {
            *duration -= Duration::from_nanos(u64::from(duration.subsec_nanos() % 1_000_000));
        }
        self
    }
}

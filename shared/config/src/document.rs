//! The configuration file: read, parsed as JSON or YAML, and remembered so that errors can say where.
//!
//! YAML is read by the rules of version 1.2: `no` is a word, not `false`, and `0755` is no number. In both formats
//! a key that stands twice is an error, and so is a tag or a second document.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ConfigError, KeyPath, error::Place, place, value::Unique};

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A configuration file that was read.
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    text: String,
    pub(crate) value: Value,
}

impl Document {
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let cannot_read = |source| ConfigError::Read { path: path.to_owned(), source };
        let Some(bytes) = read_at_most(path, MAX_FILE_BYTES).map_err(cannot_read)? else {
            return Err(ConfigError::TooLarge { path: path.to_owned(), limit: MAX_FILE_BYTES });
        };
        let text = String::from_utf8(bytes).map_err(|_| ConfigError::Syntax {
            path: path.to_owned(),
            place: None,
            reason: "the file is not UTF-8 text".to_owned(),
        })?;
        Self::parse(path, text)
    }

    fn parse(path: &Path, text: String) -> Result<Self, ConfigError> {
        let plain = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let value = if is_json(path, plain) { from_json(plain) } else { from_yaml(plain) };
        let (place, reason) = match value {
            // A file without a single key, such as one of comments alone, leaves everything at its default.
            Ok(Value::Null) => {
                return Ok(Self { path: path.to_owned(), text, value: Value::Object(Default::default()) });
            }
            Ok(value @ Value::Object(_)) => return Ok(Self { path: path.to_owned(), text, value }),
            Ok(_) => (None, "expected keys with values at the top of the file".to_owned()),
            Err((place, reason)) => (place, reason),
        };
        Err(ConfigError::Syntax { path: path.to_owned(), place, reason })
    }

    /// Where the value at `path` stands in the file, or the nearest thing around it.
    pub(crate) fn place_of(&self, path: &KeyPath) -> Option<Place> {
        // JSON is YAML too, so one reader finds places in both.
        place::find(&self.text, path)
    }
}

/// The content of a file, or `None` when it has more than `limit` bytes.
pub(crate) fn read_at_most(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn is_json(path: &Path, text: &str) -> bool {
    match path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("json") => true,
        Some("yaml" | "yml") => false,
        _ => text.trim_start().starts_with('{'),
    }
}

type Parsed = Result<Value, (Option<Place>, String)>;

fn from_json(text: &str) -> Parsed {
    serde_json::from_str::<Unique>(text).map(|Unique(value)| value).map_err(|error| {
        let place = Place { line: error.line() as u64, column: error.column() as u64 };
        let message = error.to_string();
        // The place is said apart, in the form that it has everywhere.
        let reason = message.split(" at line ").next().unwrap_or(&message);
        (Some(place), format!("this is not JSON: {reason}"))
    })
}

fn from_yaml(text: &str) -> Parsed {
    from_yaml_str::<Unique>(text).map(|Unique(value)| value).map_err(|error| {
        let place = error.location().map(|at| Place { line: at.line(), column: at.column() });
        let message = error.without_snippet().render_with_formatter(&serde_saphyr::UserMessageFormatter);
        let reason = message.split(" at line ").next().unwrap_or(&message);
        (place, format!("this is not YAML: {reason}"))
    })
}

/// Reads YAML text by the rules of this module.
pub(crate) fn from_yaml_str<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
    };
    serde_saphyr::from_str_with_options(text, options)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(name: &str, text: &str) -> Result<Value, String> {
        Document::parse(Path::new(name), text.to_owned())
            .map(|document| document.value)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_format_is_told_by_the_name_and_else_by_the_content() {
        let value = json!({ "server": { "port": 1 } });
        for (name, text) in [
            ("a.json", r#"{"server": {"port": 1}}"#),
            ("a.JSON", "\u{feff}{\"server\": {\"port\": 1}}"),
            ("a.yaml", "server:\n  port: 1\n"),
            ("a.yml", "\u{feff}server: {port: 1}"),
            ("a", " {\"server\": {\"port\": 1}}"),
            ("a.conf", "server:\n  port: 1\n"),
        ] {
            assert_eq!(parse(name, text).as_ref(), Ok(&value), "{name}");
        }
    }

    #[test]
    fn yaml_words_are_not_taken_for_something_else() {
        let value = parse("a.yaml", "a: no\nb: 0755\nc: 1.5\nd: true\ne: ~\nf: 1e3\n").unwrap();

        assert_eq!(value, json!({ "a": "no", "b": "0755", "c": 1.5, "d": true, "e": null, "f": 1000.0 }));
    }

    #[test]
    fn a_file_without_keys_is_empty() {
        assert_eq!(parse("a.yaml", "# nothing\n"), Ok(json!({})));
        assert_eq!(parse("a.yaml", ""), Ok(json!({})));
    }

    #[test]
    fn broken_files_are_refused_with_their_place() {
        for (name, text, expected) in [
            ("a.json", "{\"a\": 1,\n \"b\" 2}", "a.json:2:6: this is not JSON: expected `:`"),
            ("a.json", "{\"a\": 1, \"a\": 2}", "a.json:1:12: this is not JSON: the key `a` stands here twice"),
            ("a.json", "{\"x\": {\"a\": 1,\n\"a\": 2}}", "a.json:2:3: this is not JSON: the key `a` stands here twice"),
            ("a.json", "{} {}", "a.json:1:4: this is not JSON: trailing characters"),
            ("a.json", "[1]", "a.json: expected keys with values at the top of the file"),
            ("a.yaml", "just words", "a.yaml: expected keys with values at the top of the file"),
            ("a.yaml", "a: 1\nb: [1\n", "a.yaml:2:4: this is not YAML: unclosed bracket"),
            ("a.yaml", "a: 1\na: 2\n", "a.yaml:2:1: this is not YAML: duplicate mapping key `a`"),
            ("a.yaml", "a: 1\n---\na: 2\n", "a.yaml:3:1: this is not YAML: only single YAML document"),
            ("a.yaml", "a: !secret x\n", "a.yaml:1:12: this is not YAML: unsupported tag"),
            ("a.yaml", "a: .nan\n", "a.yaml:1:4: this is not YAML:"),
        ] {
            let error = parse(name, text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn a_yaml_bomb_goes_off_nowhere() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let uses = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{uses}]\n"));
        }

        assert!(parse("a.yaml", &text).unwrap_err().contains("this is not YAML"));
    }

    #[test]
    fn a_file_above_the_limit_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.yaml");
        std::fs::write(&path, vec![b'#'; MAX_FILE_BYTES as usize + 1]).unwrap();

        assert!(matches!(Document::read(&path), Err(ConfigError::TooLarge { .. })));
        std::fs::write(&path, vec![b'#'; MAX_FILE_BYTES as usize]).unwrap();
        assert!(Document::read(&path).is_ok());
    }

    #[test]
    fn what_is_no_text_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, [0xff, 0xfe]).unwrap();

        assert!(matches!(Document::read(&path), Err(ConfigError::Syntax { .. })));
        assert!(matches!(Document::read(folder.path()), Err(ConfigError::Read { .. })));
        assert!(matches!(Document::read(&folder.path().join("none")), Err(ConfigError::Read { .. })));
    }
}

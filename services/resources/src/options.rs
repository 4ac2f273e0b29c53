//! The options of the resources role.

use std::{
    fmt,
    path::{self, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, value::MapAccessDeserializer},
};
use serde_json::{Map, Value};
use switchyard_config::duration;
use switchyard_files::{FilesOptions, Root};

use crate::ResourcesError;

/// A source of resources.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ResourceOptions {
    /// The files below a directory.
    Filesystem(FilesOptions),
}

/// The types that there are to be, and are refused until then.
const LATER: [&str; 4] = ["database", "redis", "api", "config"];

impl Default for ResourceOptions {
    fn default() -> Self {
        Self::Filesystem(FilesOptions::default())
    }
}

impl ResourceOptions {
    /// Opens every directory among the sources, for what works on files.
    ///
    /// # Errors
    /// When one of them cannot be served.
    pub fn open_files(sources: &[Self]) -> Result<Vec<Root>, ResourcesError> {
        let open = |(index, Self::Filesystem(files)): (usize, &Self)| {
            Root::open(files).map_err(|error| ResourcesError::of_source(index, error))
        };
        sources.iter().enumerate().map(open).collect()
    }

    /// Where the source is, as a person would name it.
    pub fn shown_path(&self) -> PathBuf {
        let Self::Filesystem(files) = self;
        let real = files.path.canonicalize().or_else(|_| path::absolute(&files.path));
        real.unwrap_or_else(|_| files.path.clone())
    }
}

/// Written by hand so that a type that comes later is refused as such, and so that an error in the other keys keeps its
/// place when `type` comes first.
impl<'de> Deserialize<'de> for ResourceOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Visitor)
    }
}

struct Visitor;

impl<'de> de::Visitor<'de> for Visitor {
    type Value = ResourceOptions;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a source of resources such as {\"type\": \"filesystem\", \"path\": \"/data\"}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ResourceOptions, A::Error> {
        let Some(first) = map.next_key::<String>()? else { return Err(de::Error::missing_field("type")) };
        if first == "type" {
            check(&map.next_value::<String>()?)?;
            return FilesOptions::deserialize(MapAccessDeserializer::new(map)).map(ResourceOptions::Filesystem);
        }
        let mut keys = Map::new();
        keys.insert(first, map.next_value()?);
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            keys.insert(key, value);
        }
        match keys.remove("type") {
            Some(Value::String(name)) => check(&name)?,
            Some(_) => return Err(de::Error::custom("`type` must be a string")),
            None => return Err(de::Error::missing_field("type")),
        }
        let files = FilesOptions::deserialize(Value::Object(keys)).map_err(de::Error::custom)?;
        Ok(ResourceOptions::Filesystem(files))
    }
}

fn check<E: de::Error>(name: &str) -> Result<(), E> {
    match name {
        "filesystem" => Ok(()),
        _ if LATER.contains(&name) => {
            Err(E::custom(format_args!("not supported yet: `{name}`, supported: `filesystem`")))
        }
        _ => Err(E::custom(format_args!("unknown type `{name}`, supported: `filesystem`"))),
    }
}

/// How resources are read, and how the cluster learns of changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ServiceOptions {
    /// How many requests look at files at a time; more wait for their turn.
    pub max_concurrent: usize,

    /// How long a request waits at most for its turn, or for the first look at a source to end, such as `20s`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub max_wait: Duration,

    /// How long after its last sign of life the node that tells of a source's changes is replaced, such as `2s`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub lease: Duration,

    /// How long one attempt to tell of changes may take, such as `2s`. Failed ones are repeated.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub publish_timeout: Duration,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            max_concurrent: 16,
            max_wait: Duration::from_secs(20),
            lease: Duration::from_secs(2),
            publish_timeout: Duration::from_secs(2),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<ResourceOptions, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_directory_is_read_wherever_its_type_stands() {
        let expected = FilesOptions { path: "/data".into(), max_read_bytes: 5, ..FilesOptions::default() };
        for json in [
            r#"{"type": "filesystem", "path": "/data", "readonly": true, "maxReadBytes": 5}"#,
            r#"{"path": "/data", "type": "filesystem", "maxReadBytes": 5}"#,
        ] {
            assert_eq!(read(json), Ok(ResourceOptions::Filesystem(expected.clone())), "{json}");
        }
    }

    #[test]
    fn what_is_not_supported_yet_is_refused_and_not_ignored() {
        for name in LATER {
            let error = read(&format!(r#"{{"type": "{name}", "path": "x"}}"#)).unwrap_err();
            assert!(error.contains(&format!("not supported yet: `{name}`, supported: `filesystem`")), "{error}");
        }
        assert!(read(r#"{"type": "filesytem"}"#).unwrap_err().contains("unknown type `filesytem`"));
        assert!(read(r#"{"path": "/data"}"#).unwrap_err().contains("missing field `type`"));
        assert!(read("{}").unwrap_err().contains("missing field `type`"));
        assert!(read(r#"{"path": "/data", "type": 1}"#).unwrap_err().contains("`type` must be a string"));
        assert!(read("[]").unwrap_err().contains("a source of resources such as"));
    }

    #[test]
    fn an_unknown_key_is_named() {
        for json in [r#"{"type": "filesystem", "pth": "/data"}"#, r#"{"pth": "/data", "type": "filesystem"}"#] {
            assert!(read(json).unwrap_err().contains("unknown field `pth`"), "{json}");
        }
    }

    #[test]
    fn options_are_written_as_they_can_be_read_again() {
        let options = ResourceOptions::default();

        let written = serde_json::to_string(&options).unwrap();

        assert_eq!(read(&written), Ok(options));
    }

    #[test]
    fn the_schema_names_the_type_beside_the_keys_of_a_directory() {
        let schema = serde_json::to_value(schemars::schema_for!(ResourceOptions)).unwrap();

        assert_eq!(schema["oneOf"][0]["properties"]["type"]["const"], "filesystem", "{schema:#}");
    }
}

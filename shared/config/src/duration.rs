//! Durations in options: `30m`, `5s`, `1h30m`, or a number of seconds.
//!
//! ```
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Options {
//!     /// How long a session outlives its last request.
//!     #[serde(with = "switchyard_config::duration")]
//!     #[schemars(with = "switchyard_config::duration::Text")]
//!     session_ttl: std::time::Duration,
//! }
//! ```

use std::{borrow::Cow, fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserializer, Serializer, de};

/// The longest duration accepted: 100 years. More would overflow the clock when it is added to an instant.
pub const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The units, the largest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// The schema of an option that is a duration.
pub struct Text;

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "pattern": r"^(\d+(d|h|m|s|ms))+$" },
                { "type": "number", "minimum": 0 },
            ],
            "examples": ["30m", "1h30m"],
        })
    }
}

/// Reads a duration from text, or from a number of seconds.
///
/// # Errors
/// What is neither, is negative, or is longer than [`LONGEST`].
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    deserializer.deserialize_any(Visitor)
}

/// Writes a duration as text, in whole milliseconds.
///
/// # Errors
/// Only what the serializer itself reports.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(*duration))
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = Duration;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a duration of at most 100 years such as `30m` or `1h30m`, or a number of seconds")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Duration, E> {
        bounded(Duration::from_secs(seconds)).ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(seconds), &self))
    }

    fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Duration, E> {
        let whole = u64::try_from(seconds).map_err(|_| E::invalid_value(de::Unexpected::Signed(seconds), &self))?;
        self.visit_u64(whole)
    }

    fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Duration, E> {
        let duration = Duration::try_from_secs_f64(seconds).ok().and_then(bounded);
        duration.ok_or_else(|| E::invalid_value(de::Unexpected::Float(seconds), &self))
    }
}

/// The duration that `text` says: whole numbers with units, each unit at most once, the largest first.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut units = UNITS.iter();
    let mut millis = 0u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (_, unit) = units.find(|(name, _)| *name == &rest[..letters])?;
        millis = millis.checked_add(number.checked_mul(*unit)?)?;
        rest = &rest[letters..];
    }
    bounded(Duration::from_millis(millis))
}

fn bounded(duration: Duration) -> Option<Duration> {
    (duration <= LONGEST).then_some(duration)
}

fn format(duration: Duration) -> String {
    let mut millis = duration.as_millis();
    let mut text = String::new();
    for (name, unit) in UNITS {
        let count = millis / u128::from(unit);
        millis %= u128::from(unit);
        if count > 0 {
            text.push_str(&format!("{count}{name}"));
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Options {
        #[serde(with = "super")]
        #[schemars(with = "Text")]
        ttl: Duration,
    }

    fn read(value: serde_json::Value) -> Result<Duration, String> {
        serde_json::from_value::<Options>(json!({ "ttl": value }))
            .map(|options| options.ttl)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn durations_are_read_from_text_and_from_seconds() {
        for (given, millis) in [
            (json!("30m"), 1_800_000),
            (json!("5s"), 5_000),
            (json!("1h30m"), 5_400_000),
            (json!("2d1h1m1s1ms"), 176_461_001),
            (json!("250ms"), 250),
            (json!("0s"), 0),
            (json!(30), 30_000),
            (json!(0.5), 500),
        ] {
            assert_eq!(read(given.clone()), Ok(Duration::from_millis(millis)), "{given}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_an_example() {
        for given in [
            json!(""),
            json!("30"),
            json!("m"),
            json!("30x"),
            json!("30m1h"),
            json!("1m1m"),
            json!("1.5h"),
            json!("-5s"),
            json!("5 s"),
            json!("٣s"),
            json!("99999999999999999999d"),
            json!("36501d"),
            json!(-1),
            json!(-0.5),
            json!(1e300),
            json!(u64::MAX),
            json!(true),
            json!(null),
        ] {
            let error = read(given.clone()).unwrap_err();
            assert!(error.contains("`1h30m`"), "{given}: {error}");
        }
    }

    #[test]
    fn a_duration_is_written_as_it_can_be_read_again() {
        for (millis, text) in [(0, "0s"), (5_400_000, "1h30m"), (250, "250ms"), (61_001, "1m1s1ms")] {
            let options = Options { ttl: Duration::from_millis(millis) };

            let written = serde_json::to_value(&options).unwrap();

            assert_eq!(written, json!({ "ttl": text }));
            assert_eq!(serde_json::from_value::<Options>(written).unwrap(), options);
        }
    }
}

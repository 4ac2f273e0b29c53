//! A session as a Redis hash.
//!
//! | field          | what                                                                      |
//! |----------------|---------------------------------------------------------------------------|
//! | `v`            | [`VERSION`]                                                               |
//! | `about`        | what never changes: one JSON object                                       |
//! | `ready`        | `1` once the client is ready                                              |
//! | `level`        | the log level, once it is set                                             |
//! | `left`, `epoch`| the offset up to which facts have left, and the log's epoch               |
//! | `floor:stream`, `floor:node`, `floor:at` | who has the floor, since which offset; all or none |
//! | `sub:URI`      | the offset after which the client hears of that resource                  |
//!
//! Nodes of neighbouring versions share these records. Fields may be added, for unknown ones are left alone; `v`
//! grows only when an older node would misread what there is, and then that node refuses the record.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::{Floor, NodeId, Offset, Session, SessionId, StoreError};

/// The newest shape that is understood here.
const VERSION: u64 = 1;

/// What the field of a subscription begins with.
const SUBSCRIPTION: &str = "sub:";

/// What never changes of a session.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    revision: String,
    principal: String,
    client_capabilities: String,
    client: String,
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error("its field `{0}` is missing")]
    Missing(&'static str),
    #[error("its field `{field}` is `{value}`, which is no number")]
    Number { field: String, value: String },
    #[error("its shape is number {0}, which only newer versions of this program know")]
    Newer(u64),
    #[error("its field `about` is not what it should be")]
    About(#[source] serde_json::Error),
}

/// The name of a subscription's field.
pub fn subscription(uri: &str) -> String {
    format!("{SUBSCRIPTION}{uri}")
}

/// The fields of a new session, but for the log's end.
pub fn fields(session: &Session) -> Vec<(String, String)> {
    let about = About {
        revision: session.revision.clone(),
        principal: session.principal.clone(),
        client_capabilities: session.client_capabilities.clone(),
        client: session.client.clone(),
    };
    let about = serde_json::to_string(&about).expect("four strings are always JSON");
    let mut fields = vec![("v".to_owned(), VERSION.to_string()), ("about".to_owned(), about)];
    let mut add = |field: &str, value: &str| fields.push((field.to_owned(), value.to_owned()));
    if session.ready {
        add("ready", "1");
    }
    if let Some(level) = &session.log_level {
        add("level", level);
    }
    if let Some(Floor { stream, node, at }) = &session.floor {
        add("floor:stream", stream);
        add("floor:node", &node.0);
        add("floor:at", &at.0.to_string());
    }
    for (uri, since) in &session.subscriptions {
        add(&subscription(uri), &since.0.to_string());
    }
    fields
}

/// The session in a hash, which lies at `key`; `None` when the hash is empty.
pub fn session(key: &str, id: &SessionId, fields: HashMap<String, String>) -> Result<Option<Session>, StoreError> {
    if fields.is_empty() {
        return Ok(None);
    }
    let session = parse(id, fields);
    session.map(Some).map_err(|error| StoreError::Record { key: key.to_owned(), source: error.into() })
}

fn parse(id: &SessionId, mut fields: HashMap<String, String>) -> Result<Session, RecordError> {
    let version = number("v", &take(&mut fields, "v")?)?;
    if version > VERSION {
        return Err(RecordError::Newer(version));
    }
    let about: About = serde_json::from_str(&take(&mut fields, "about")?).map_err(RecordError::About)?;
    let floor = match fields.remove("floor:stream") {
        Some(stream) => Some(Floor {
            stream,
            node: NodeId(take(&mut fields, "floor:node")?),
            at: Offset(number("floor:at", &take(&mut fields, "floor:at")?)?),
        }),
        None => None,
    };
    let mut subscriptions = BTreeMap::new();
    for (field, value) in &fields {
        if let Some(uri) = field.strip_prefix(SUBSCRIPTION) {
            subscriptions.insert(uri.to_owned(), Offset(number(field, value)?));
        }
    }
    Ok(Session {
        id: id.clone(),
        revision: about.revision,
        principal: about.principal,
        client_capabilities: about.client_capabilities,
        client: about.client,
        ready: fields.get("ready").is_some_and(|ready| ready == "1"),
        log_level: fields.remove("level"),
        subscriptions,
        floor,
        left: Offset(number("left", &take(&mut fields, "left")?)?),
        epoch: take(&mut fields, "epoch")?,
    })
}

fn take(fields: &mut HashMap<String, String>, field: &'static str) -> Result<String, RecordError> {
    fields.remove(field).ok_or(RecordError::Missing(field))
}

fn number(field: &str, value: &str) -> Result<u64, RecordError> {
    value.parse().map_err(|_| RecordError::Number { field: field.to_owned(), value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(more: &[(&str, &str)]) -> HashMap<String, String> {
        let about =
            r#"{"revision":"2025-06-18","principal":"ann","clientCapabilities":"{}","client":"c/1","mood":"new"}"#;
        let fields = [("v", "1"), ("about", about), ("left", "7"), ("epoch", "e")];
        fields.iter().chain(more).map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn fields_that_a_newer_version_added_are_left_alone() {
        let read = parse(&SessionId("s".into()), record(&[("shiny", "thing")])).expect("it is readable");

        assert_eq!((read.principal.as_str(), read.left), ("ann", Offset(7)));
    }

    #[test]
    fn a_record_of_a_shape_not_known_yet_is_refused_rather_than_misread() {
        let refused = parse(&SessionId("s".into()), record(&[("v", "2")]));

        assert!(matches!(refused, Err(RecordError::Newer(2))));
    }

    #[test]
    fn a_broken_number_names_its_field() {
        let refused = parse(&SessionId("s".into()), record(&[("sub:file:///a", "x")])).expect_err("it is broken");

        assert_eq!(refused.to_string(), "its field `sub:file:///a` is `x`, which is no number");
    }
}

//! The definitions of a schema, of which none allows members that it does not name.
//!
//! The official files leave nearly every object open, so that newer members would pass unseen. Here an object with
//! named members has no others, except where the protocol means others to come.

use serde_json::{Map, Value, json};

/// Closes all definitions of a revision.
pub fn closed(official: &Map<String, Value>, revision: &str) -> Map<String, Value> {
    let mut closed = official.clone();
    for (name, definition) in &mut closed {
        // Made for anybody's members, as is `_meta` itself.
        if !name.ends_with("MetaObject") {
            close(definition);
        }
        if lacks_envelope(revision) && is_message(definition) {
            definition["properties"]["jsonrpc"] = json!({});
            definition["properties"]["id"] = json!({});
        }
    }
    closed
}

/// The oldest files describe a request and a notification without `jsonrpc` and `id`, which are described apart. The
/// newest has messages without, too, and means it: questions inside a result.
fn lacks_envelope(revision: &str) -> bool {
    matches!(revision, "2024-11-05" | "2025-03-26" | "2025-06-18")
}

fn is_message(definition: &Value) -> bool {
    definition.pointer("/properties/method").is_some()
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let names_members =
                members.get("properties").and_then(Value::as_object).is_some_and(|named| !named.is_empty());
            // `{}` is what the files say of a type from which others are derived.
            let is_open = matches!(members.get("additionalProperties"), None | Some(Value::Object(_)));
            if names_members && is_open {
                members.insert("additionalProperties".into(), json!(false));
            }
            for (name, member) in members {
                match name.as_str() {
                    "properties" => close_members(member),
                    "additionalProperties" | "items" | "anyOf" => close(member),
                    _ => {}
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(close),
        _ => {}
    }
}

fn close_members(properties: &mut Value) {
    let Value::Object(properties) = properties else { return };
    for (name, member) in properties {
        match name.as_str() {
            // Anybody's members may be in there.
            "_meta" => {}
            // A JSON Schema is one of the whole language, whatever part of it the files describe.
            "inputSchema" | "outputSchema" => {}
            _ => close(member),
        }
    }
}

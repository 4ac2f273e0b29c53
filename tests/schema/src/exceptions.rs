//! Where the official files are at odds with the text of the specification, and the text is followed.

use serde_json::{Map, Value, json};

/// Amends the definitions of a revision.
pub fn amend(definitions: &mut Map<String, Value>) {
    // The newest file has a type for any JSON value, and forgets `null` and numbers with a fraction in it.
    if let Some(value) = definitions.get_mut("JSONValue") {
        *value = json!({});
    }
}

/// Whether an error may be without an id, or with `null` for one, although the file demands one: the files up to
/// 2025-06-18 leave no valid answer to what could not be read. JSON-RPC says `null`, Streamable HTTP says nothing.
pub fn allows_missing_id(revision: &str, error: &Value) -> bool {
    let is_of_unreadable = matches!(error.pointer("/error/code").and_then(Value::as_i64), Some(-32700 | -32600));
    matches!(revision, "2024-11-05" | "2025-03-26" | "2025-06-18") && is_of_unreadable
}

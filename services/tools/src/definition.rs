//! What a tool says of itself.

use serde::Serialize;
use serde_json::Value;

/// What a tool says of itself, in the shape and order in which it is listed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// Names it: letters, digits, `_`, `-` and `.`, at most 64 of them.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, for those who decide whether to call it.
    pub description: &'static str,
    /// JSON Schema 2020-12 of its arguments: an object.
    pub input_schema: Value,
    /// JSON Schema 2020-12 of its structured output.
    pub output_schema: Value,
    /// How it behaves.
    pub annotations: Annotations,
}

/// How a tool behaves. Clients decide by it whether to ask a person first, so it must be true.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// Changes nothing.
    pub read_only_hint: bool,
    /// May destroy something.
    pub destructive_hint: bool,
    /// Called twice with the same arguments, it has changed no more than once.
    pub idempotent_hint: bool,
    /// Deals with others than this server.
    pub open_world_hint: bool,
}

impl Annotations {
    /// Looks, and changes nothing here or anywhere.
    pub const fn read_only() -> Self {
        Self { read_only_hint: true, destructive_hint: false, idempotent_hint: true, open_world_hint: false }
    }
}

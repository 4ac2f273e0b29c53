//! The bus's options.

use schemars::JsonSchema;
use serde::Deserialize;

/// Options of the bus, the same at both ends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct BusOptions {
    /// The largest message between a gateway and a service, in bytes: a request with its arguments, or one event
    /// of an answer. Larger ones are refused before they are sent.
    pub max_message_bytes: usize,
}

impl Default for BusOptions {
    fn default() -> Self {
        Self { max_message_bytes: 64 * 1024 * 1024 }
    }
}

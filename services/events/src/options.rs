//! The options of the events role.

use schemars::JsonSchema;
use serde::Deserialize;

/// Options of the events role.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct EventsOptions {
    /// How many of the newest entries of the event log are kept in memory. A subscriber further behind than that reads
    /// the log itself.
    pub kept_entries: usize,
}

impl Default for EventsOptions {
    fn default() -> Self {
        Self { kept_entries: 4096 }
    }
}

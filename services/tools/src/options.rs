//! Which tools are offered, and how many calls run.

use std::{ops::RangeInclusive, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchyard_config::duration;
use switchyard_http::AllowedHost;

use crate::ToolsError;

/// What `timeout` may be. The upper bound is also how long any call may take, however lively.
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(60 * 60);

/// One built-in tool, as the list of tools in the configuration names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ToolOptions {
    /// The tool: `checkDiskSpace`, `checkServiceStatus`, `search`, `listProcesses` or `echo`.
    pub name: String,

    /// Whether it is offered. Without it, `checkDiskSpace`, `checkServiceStatus` and `search` are, `listProcesses` and
    /// `echo` are not.
    #[serde(default)]
    pub enabled: Option<bool>,

    /// How long a call may go without progress, from `1s` to `1h`. No call takes longer than an hour.
    #[serde(default = "default_timeout", with = "duration")]
    #[schemars(with = "duration::Text", default = "default_timeout_text")]
    pub timeout: Duration,

    /// Only for `checkServiceStatus`: hosts that may be asked although they have private, loopback, link-local or other
    /// special addresses, such as `localhost:8080`, `10.0.0.5` or `*.internal.example`.
    #[serde(default)]
    pub allow_hosts: Vec<AllowedHost>,
}

impl ToolOptions {
    /// A tool as it is without options.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), enabled: None, timeout: default_timeout(), allow_hosts: Vec::new() }
    }

    /// Refuses what no call can keep to; `index` is its place in the list.
    pub(crate) fn check_timeout(&self, index: usize) -> Result<(), ToolsError> {
        match TIMEOUTS.contains(&self.timeout) {
            true => Ok(()),
            false => Err(ToolsError::Timeout { index, timeout: self.timeout }),
        }
    }
}

fn default_timeout() -> Duration {
    Duration::from_secs(5 * 60)
}

fn default_timeout_text() -> &'static str {
    "5m"
}

/// How much a node does for its callers at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ToolLimits {
    /// How many tool calls run on one node at a time; more are refused at once.
    #[schemars(range(min = 1))]
    pub max_concurrent_calls: usize,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self { max_concurrent_calls: 512 }
    }
}

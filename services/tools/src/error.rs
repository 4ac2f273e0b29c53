//! Why tools cannot be offered as the options want it.

use std::time::Duration;

use switchyard_http::EgressError;

/// Why tools cannot be offered as the options want it. Each names the option.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    /// There is no such tool.
    #[error("tools[{index}].name: no tool is named `{name}`, the nearest is `{nearest}`")]
    Unknown {
        /// Its place in the list.
        index: usize,
        /// What it says.
        name: String,
        /// The tool whose name is most like it.
        nearest: &'static str,
    },

    /// The list names a tool twice.
    #[error("tools[{index}].name: `{name}` was already named in tools[{first}]")]
    Twice {
        /// The second place.
        index: usize,
        /// The first place.
        first: usize,
        /// The tool.
        name: String,
    },

    /// A deadline that is none.
    #[error("tools[{index}].timeout: `{timeout:?}` is not between `1s` and `1h`")]
    Timeout {
        /// Its place in the list.
        index: usize,
        /// What it says.
        timeout: Duration,
    },

    /// A tool that does not go anywhere needs no hosts.
    #[error("tools[{index}].allowHosts: `{name}` makes no requests, only `checkServiceStatus` does")]
    NoRequests {
        /// Its place in the list.
        index: usize,
        /// The tool.
        name: String,
    },

    /// Nothing is served that could be searched.
    #[error("tools[{index}].enabled: `search` needs files to look through, and none are served")]
    NothingToSearch {
        /// Its place in the list.
        index: usize,
    },

    /// No call could ever run.
    #[error("maxConcurrentCalls: `0` would let no call run")]
    NoCalls,

    /// A tool's definition is wrong.
    #[error("the definition of tool `{name}` is wrong: {reason}")]
    Definition {
        /// The tool.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// Outgoing requests cannot be made.
    #[error("tool `checkServiceStatus` cannot make requests")]
    Egress(#[from] EgressError),
}

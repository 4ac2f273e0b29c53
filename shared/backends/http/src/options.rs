//! How requests leave this machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AllowedHost;

/// How requests leave this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct EgressOptions {
    /// Hosts that may be asked although they have private, loopback, link-local or other special addresses, such as
    /// `localhost:8080`, `10.0.0.5` or `*.internal.example`. Public addresses need not be named.
    pub allow_hosts: Vec<AllowedHost>,

    /// The largest answer read, in bytes.
    pub max_body_bytes: usize,
}

impl Default for EgressOptions {
    fn default() -> Self {
        Self { allow_hosts: Vec::new(), max_body_bytes: 4 * 1024 * 1024 }
    }
}

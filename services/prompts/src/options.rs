//! Options of the prompts role.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which prompts are served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PromptOptions {
    /// The folder that prompts are read from: each file named `*.md` is one. Without it the built-in samples are served.
    pub path: Option<PathBuf>,

    /// How many prompts are served; files beyond that, in the order of their names, are left out and reported.
    pub max_prompts: usize,

    /// The largest prompt file that is read, in bytes.
    pub max_file_bytes: u64,

    /// The most that the arguments of one request may have in all, in bytes.
    pub max_argument_bytes: usize,

    /// The most text that a prompt may become, in bytes.
    pub max_output_bytes: usize,
}

impl Default for PromptOptions {
    fn default() -> Self {
        Self {
            path: None,
            max_prompts: 1000,
            max_file_bytes: 1024 * 1024,
            max_argument_bytes: 1024 * 1024,
            max_output_bytes: 4 * 1024 * 1024,
        }
    }
}

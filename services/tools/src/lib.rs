//! Runs tools.
//!
//! [`ToolService`] is the contract's `Tools`: it finds the tool, checks the arguments against the tool's schema before
//! it accepts the call, and streams what the tool reports. The stream owns the run, so dropping it cancels the tool.
//! A tool is one file in `tools/` that implements [`Tool`], and one line in `registry.rs`.

mod arguments;
mod blocking;
mod call;
mod definition;
mod error;
mod expected;
mod options;
mod output;
mod registry;
mod report;
mod service;
mod span;
mod tool;
mod tools;

pub use blocking::Blocking;
pub use definition::{Annotations, Definition};
pub use error::ToolsError;
pub use options::{ToolLimits, ToolOptions};
pub use output::{ToolError, ToolOutput};
pub use registry::{Backends, Offered};
pub use report::{LogLevel, Reporter};
pub use service::ToolService;
pub use tool::{Run, Tool};
pub use tools::{CheckDiskSpace, CheckServiceStatus, Echo, ListProcesses, Search};

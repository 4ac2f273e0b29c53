//! Renders prompts from files.
//!
//! [`PromptService`] implements the contract's `Prompts` for the Markdown files of one folder, or for the samples that
//! are built in. It follows the folder, so a prompt is served as its file is now; a file that becomes broken is reported
//! and keeps serving what it said before. Prompts are templates that reach nothing but their arguments, and what one
//! may cost in work and text is bounded.

mod catalog;
mod error;
mod file;
mod folder;
mod options;
mod prompt;
mod samples;
mod service;
mod span;
mod tags;
mod watch;

pub use error::PromptError;
pub use options::PromptOptions;
pub use service::PromptService;

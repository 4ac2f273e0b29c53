//! What goes wrong with prompts: at start, in a file, in a request.

use std::{fmt, io, path::PathBuf};

/// Why prompts cannot be served at all.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The folder of the option `path` cannot be read.
    #[error("`prompts.path`: the folder `{}` cannot be read", path.display())]
    Folder {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// Why one file is no prompt. Says nothing of the file's content but the names in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The line it is seen in, from 1; `None` when it is no matter of a line.
    pub(crate) line: Option<usize>,
    pub(crate) reason: String,
}

impl Broken {
    pub(crate) fn new(line: impl Into<Option<usize>>, reason: impl Into<String>) -> Self {
        Self { line: line.into(), reason: reason.into() }
    }
}

/// Why a prompt could not be rendered. Says nothing of its text or arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RenderError {
    /// The line of the prompt's file, from 1.
    pub(crate) line: usize,
    pub(crate) reason: String,
}

impl fmt::Display for RenderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} in line {}", self.reason, self.line)
    }
}

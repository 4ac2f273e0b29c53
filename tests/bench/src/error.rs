//! Why a run could not be finished. Wrong answers are no such reason: they are counted and end the run as failed.

use std::{io, path::PathBuf, time::Duration};

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("the runtime could not be started")]
    Runtime {
        #[source]
        source: io::Error,
    },

    #[error("interrupted; every server that was started has been ended")]
    Interrupted,

    #[error("the servers and the load need a core each, but only {allowed} may be used here")]
    TooFewCores { allowed: usize },

    #[error("this thread could not be pinned to core {core}")]
    Pin {
        core: usize,
        #[source]
        source: nix::Error,
    },

    #[error("`{program}` could not be started{hint}")]
    Start {
        program: String,
        hint: &'static str,
        #[source]
        source: io::Error,
    },

    #[error("`{process}` has ended; its last words: {last_words}")]
    Died { process: String, last_words: String },

    #[error("`{process}` was not ready within {limit:?}; its last words: {last_words}")]
    NotReady { process: String, limit: Duration, last_words: String },

    #[error("`{process}` did not tell its {what} address")]
    NoAddress { process: String, what: &'static str },

    #[error("what `{process}` uses could not be read")]
    Usage {
        process: String,
        #[source]
        source: io::Error,
    },

    #[error("`{contender}` gave no correct answer within {limit:?}")]
    NoFirstAnswer {
        contender: &'static str,
        limit: Duration,
        #[source]
        source: CallError,
    },

    #[error("`cargo build --release -p switchyard` failed; `--server FILE` measures another binary")]
    Build,

    #[error("`{path}` could not be written")]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    #[error("a floor or the peer could not be served")]
    Serve {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl BenchError {
    /// Wraps what a server library says.
    pub fn serve(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Serve { source: source.into() }
    }
}

/// Why one call counts as an error.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("the connection failed: {0}")]
    Connection(#[from] io::Error),

    #[error("the answer is not HTTP as expected: {0}")]
    Http(&'static str),

    #[error("the server closed the connection")]
    Closed,

    #[error("no answer within {0:?}")]
    Late(Duration),

    #[error("HTTP status {status}: {body}")]
    Status { status: u16, body: String },

    #[error("not the echo of this call: {body}")]
    Wrong { body: String },

    #[error("`initialize` gave no session id")]
    NoSession,
}

impl CallError {
    /// Whether the connection is still in step, so that the next call may follow.
    pub fn leaves_connection_usable(&self) -> bool {
        matches!(self, Self::Status { .. } | Self::Wrong { .. })
    }
}

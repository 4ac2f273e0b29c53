//! What can go wrong between a URI and its bytes.

use std::{io, path::PathBuf};

/// Why files could not be served, listed, read or searched.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The root is missing, is no directory, or may not be entered.
    #[error("the directory `{}` cannot be served", path.display())]
    Root {
        /// As it was configured.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },

    /// Somebody asked for a root that can be written to.
    #[error("`readonly` is `false`, but writing is not supported yet: files are served read-only")]
    Writable,

    /// An option holds a pattern that cannot be understood.
    #[error("`{pattern}` in `{option}` is no valid pattern")]
    Pattern {
        /// The option's name.
        option: &'static str,
        /// What it holds.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: globset::Error,
    },

    /// A root has one watcher at a time.
    #[error("the directory `{}` is watched already", path.display())]
    Watched {
        /// The root.
        path: PathBuf,
    },

    /// There is no such file, or it is not served.
    #[error("no file has the URI `{uri}`")]
    NotFound {
        /// As it was asked for.
        uri: String,
    },

    /// The file is larger than `maxReadBytes`.
    #[error("`{uri}` has {size} bytes, and at most {limit} (`maxReadBytes`) are read")]
    TooLarge {
        /// As it was asked for.
        uri: String,
        /// In bytes.
        size: u64,
        /// The limit, in bytes.
        limit: u64,
    },

    /// The file is served, but the operating system would not give its bytes.
    #[error("`{uri}` could not be read")]
    Unreadable {
        /// As it was asked for.
        uri: String,
        /// Why not.
        #[source]
        source: io::Error,
    },

    /// The caller no longer wants the answer.
    #[error("the search was cancelled")]
    Cancelled,
}

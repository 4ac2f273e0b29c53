//! The options of a root.

use std::{path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchyard_config::duration;

/// A directory whose files are served.
///
/// Patterns are globs. One without a slash fits a name at any depth, one with a slash fits a path below the
/// directory; `*` and `?` stop at a slash, `**` does not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct FilesOptions {
    /// The directory.
    pub path: PathBuf,

    /// What the directory is called, unique among all of them; by default the last part of its path.
    pub name: Option<String>,

    /// Files are only read. Writing is not supported yet, so this cannot be `false`.
    pub readonly: bool,

    /// The largest file that is read, in bytes. Larger ones are listed.
    pub max_read_bytes: u64,

    /// The largest file whose content is searched, in bytes. Of larger ones only the name is.
    pub max_search_bytes: u64,

    /// The most files to list; of more, the first in the order of their URIs.
    pub max_files: usize,

    /// Patterns of the files to serve; none for all files.
    pub include: Vec<String>,

    /// Patterns of the files and folders not to serve.
    pub exclude: Vec<String>,

    /// Leave out what `.gitignore` files ignore: those in the directory, and, read once at the start, those above
    /// it in the same repository.
    pub gitignore: bool,

    /// Patterns of hidden or secret files and folders to serve all the same. Not served unless named here are
    /// names that begin with a dot, and keys, certificates, password files and `.env`-style settings. Every
    /// hidden part of a path must be named, and naming a folder does not name the secrets in it.
    pub serve_hidden: Vec<String>,

    /// How changes are noticed.
    pub watch: WatchOptions,
}

impl Default for FilesOptions {
    fn default() -> Self {
        Self {
            path: PathBuf::from("."),
            name: None,
            readonly: true,
            max_read_bytes: 16 * 1024 * 1024,
            max_search_bytes: 1024 * 1024,
            max_files: 1_000_000,
            include: Vec::new(),
            exclude: Vec::new(),
            gitignore: true,
            serve_hidden: Vec::new(),
            watch: WatchOptions::default(),
        }
    }
}

/// How changes of files are noticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct WatchOptions {
    /// Where changes are learnt from.
    pub mode: WatchMode,

    /// How long a burst of changes must rest before it is looked at.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub quiet: Duration,

    /// How long a change waits at most for its burst to rest.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub max_delay: Duration,

    /// How often the whole tree is looked at where the operating system tells of no changes, or not of all.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub rescan_every: Duration,

    /// The most folders to have watched by the operating system. In a larger tree the rest is rescanned.
    pub max_watches: usize,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            mode: WatchMode::Events,
            quiet: Duration::from_millis(50),
            max_delay: Duration::from_millis(500),
            rescan_every: Duration::from_secs(30),
            max_watches: 65_536,
        }
    }
}

/// Where changes of files are learnt from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WatchMode {
    /// From the operating system, and by rescanning where it cannot tell.
    Events,
    /// By rescanning alone: right for network file systems, where other machines' changes are not told.
    Rescan,
}

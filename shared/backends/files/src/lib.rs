//! Files below a root, and nothing else: the confinement that resources and tools stand on.
//!
//! A [`Root`] is one directory. What it serves is decided by names alone (`rules`, `ignores`) and reached only
//! through a handle of that directory (`confine`), so that nothing outside it can be listed, read, searched or
//! announced, whatever the URI, the links or the timing. What is not served cannot be told from what does not exist.
//!
//! A file has one URI: `file://` and its real path, percent-encoded. A link to a file inside is served under its own
//! path, if the file is served too; linked directories are not entered, for their files are served where they are.
//!
//! [`Root::watch`] keeps a picture of every served file up to date; listing reads the picture, reading does not.

mod confine;
mod error;
mod ignores;
mod media;
mod options;
mod picture;
mod root;
mod rules;
mod scan;
mod search;
mod uri;
mod watch;

pub use error::FilesError;
pub use options::{FilesOptions, WatchMode, WatchOptions};
pub use root::{Body, Contents, FileInfo, Page, Root};
pub use search::Hit;
pub use watch::{Changes, Watching};

#[cfg(test)]
mod tests;

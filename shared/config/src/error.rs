//! What is wrong with a configuration, where, and what would be right.

use std::{fmt, io, path::PathBuf};

use crate::KeyPath;

/// Why a configuration cannot be used. No text of it holds a value that came through a reference.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file `{}` cannot be read", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },

    /// The file is too large to be a configuration.
    #[error("the configuration file `{}` is larger than {limit} bytes", path.display())]
    TooLarge {
        /// Which one.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },

    /// The file is no JSON, or no YAML.
    #[error("{}{}: {reason}", path.display(), Place::suffix(*place))]
    Syntax {
        /// Which one.
        path: PathBuf,
        /// Where the reader gave up.
        place: Option<Place>,
        /// What it met there.
        reason: String,
    },

    /// Keys or values do not fit: everything that was found, at least one.
    #[error("{}", Problem::list(_0))]
    Invalid(Vec<Problem>),
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key; the root for an environment variable that belongs to none.
    pub path: KeyPath,
    /// Where the value was given; `None` when it was not.
    pub origin: Option<Origin>,
    /// What is wrong, and what would be right.
    pub reason: String,
    /// The valid key or variable that is nearest to an unknown one.
    pub nearest: Option<String>,
}

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the configuration file.
    File {
        /// Which one.
        path: PathBuf,
        /// Where in it, when that is known.
        place: Option<Place>,
    },
    /// In an environment variable of this name.
    Variable(String),
    /// In a command line option of this name, such as `--port`.
    Option(String),
}

/// A place in a file; both numbers begin at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

impl Place {
    fn suffix(place: Option<Self>) -> String {
        place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default()
    }
}

impl Problem {
    fn list(problems: &[Self]) -> String {
        let lines: Vec<_> = problems.iter().map(Self::to_string).collect();
        lines.join("\n")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Some(origin) if self.path == KeyPath::default() => write!(formatter, "{origin}: {}", self.reason)?,
            Some(origin) => write!(formatter, "{} ({origin}): {}", self.path, self.reason)?,
            None => write!(formatter, "{}: {}", self.path, self.reason)?,
        }
        if let Some(nearest) = &self.nearest {
            write!(formatter, ", did you mean `{nearest}`?")?;
        }
        Ok(())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, place } => write!(formatter, "{}{}", path.display(), Place::suffix(*place)),
            Self::Variable(name) | Self::Option(name) => formatter.write_str(name),
        }
    }
}

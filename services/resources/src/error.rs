//! What goes wrong with resources: at start, and in a request.

use switchyard_files::FilesError;
use switchyard_proto::v1::Failure;
use tonic::Status;

/// How much of a URI or a name is repeated, in bytes: a status travels in a header.
const MAX_REPEATED: usize = 1000;

/// The shortest lease, and the shortest time to publish in, in milliseconds.
pub(crate) const LEAST_MS: u128 = 100;

/// Why resources cannot be served at all.
#[derive(Debug, thiserror::Error)]
pub enum ResourcesError {
    /// A provider cannot do what its options say.
    #[error("`resources[{index}]{key}` cannot be used")]
    Source {
        /// Its place in the list of sources.
        index: usize,
        /// The key that does not fit, with a dot before it, where it is a single one.
        key: &'static str,
        /// Why.
        #[source]
        source: FilesError,
    },

    /// A time within which nothing can be done.
    #[error("`{option}` must be at least {LEAST_MS} ms")]
    TooShort {
        /// The option's name.
        option: &'static str,
    },

    /// Two providers with one name.
    #[error("two sources of resources are called `{name}`: give one of them another `name`")]
    SameName {
        /// What both are called.
        name: String,
    },

    /// One provider's URIs are among another's.
    #[error("the resources below `{inner}` are among those below `{outer}` already")]
    Overlap {
        /// The prefix of the one.
        inner: String,
        /// The prefix of the other.
        outer: String,
    },
}

impl ResourcesError {
    /// What is wrong with the source at a place of the list.
    pub(crate) fn of_source(index: usize, source: FilesError) -> Self {
        let key = match &source {
            FilesError::Root { .. } => ".path",
            FilesError::Writable => ".readonly",
            _ => "",
        };
        Self::Source { index, key, source }
    }
}

/// There is no such resource, or it is not served: nobody can tell which.
pub(crate) fn unknown(uri: &str) -> Status {
    let uri = shown(uri);
    Failure::unknown(uri, format!("no resource has the URI `{uri}`"))
}

/// No provider has such a template, or it has no such variable.
pub(crate) fn unknown_variable(template: &str, variable: &str) -> Status {
    let (template, variable) = (shown(template), shown(variable));
    Failure::unknown(template, format!("there is no template `{template}` with a variable `{variable}`"))
}

/// This node has no such provider.
pub(crate) fn unknown_provider(name: &str) -> Status {
    let name = shown(name);
    Failure::unknown(name, format!("no source of resources is called `{name}` here"))
}

/// The status that tells of a failed request for `uri`.
pub(crate) fn status(uri: &str, error: &FilesError) -> Status {
    match error {
        FilesError::NotFound { .. } => unknown(uri),
        FilesError::TooLarge { size, limit, .. } => {
            let uri = shown(uri);
            Status::out_of_range(format!("`{uri}` has {size} bytes, and at most {limit} (`maxReadBytes`) are read"))
        }
        _ => {
            tracing::warn!(error = error as &dyn std::error::Error, "a resource could not be read");
            Status::internal(format!("`{}` could not be read", shown(uri)))
        }
    }
}

fn shown(text: &str) -> &str {
    if text.len() <= MAX_REPEATED {
        return text;
    }
    let end = (0..=MAX_REPEATED).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

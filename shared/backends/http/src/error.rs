//! Why a request was not made, or not answered.

use std::error::Error;

use url::Url;

use crate::AddressKind;

/// Why a request was not made, or not answered. Hosts are named, paths and queries never: they may hold secrets.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// An option names no host.
    #[error("`{entry}` is no host such as `localhost:8080`, `10.0.0.5` or `*.internal.example`")]
    NoHost {
        /// What it says.
        entry: String,
    },

    /// Only http and https are spoken.
    #[error("`{scheme}` addresses cannot be asked, only http and https ones")]
    Scheme {
        /// What the URL begins with.
        scheme: String,
    },

    /// A URL that carries a user name or a password.
    #[error("the address of `{host}` must not contain a user name or password")]
    Credentials {
        /// Whose URL it is.
        host: String,
    },

    /// The host is not on the public Internet, and nobody allowed it.
    #[error("`{host}` is {kind}, which is refused unless the option `allowHosts` names it")]
    Refused {
        /// The host as the URL names it.
        host: String,
        /// What it is, or points to.
        kind: AddressKind,
    },

    /// The answer was a redirect once too often.
    #[error("`{host}` redirected once more after {limit} redirects")]
    TooManyRedirects {
        /// Who sent the last of them.
        host: String,
        /// How many are followed.
        limit: usize,
    },

    /// The name has no address.
    #[error("the name `{host}` could not be resolved")]
    Unresolved {
        /// The name.
        host: String,
        /// What the resolver said.
        #[source]
        source: reqwest::Error,
    },

    /// No connection, or none that can be trusted.
    #[error("`{host}` could not be connected to: {reason}")]
    Unreachable {
        /// The host.
        host: String,
        /// The innermost cause.
        reason: String,
        /// All of it.
        #[source]
        source: reqwest::Error,
    },

    /// Not answered within the deadline.
    #[error("`{host}` did not answer in time")]
    Late {
        /// The host.
        host: String,
    },

    /// Connected, but what came back is no HTTP answer, or only a part of one.
    #[error("`{host}` did not answer properly: {reason}")]
    Broken {
        /// The host.
        host: String,
        /// The innermost cause.
        reason: String,
        /// All of it.
        #[source]
        source: reqwest::Error,
    },

    /// The body is larger than is read.
    #[error("the answer of `{host}` is larger than {limit} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// The option's value.
        limit: usize,
    },

    /// The client itself could not be made.
    #[error("HTTP requests cannot be made on this machine")]
    Unavailable(#[source] reqwest::Error),
}

impl EgressError {
    /// What became of a request for `url`.
    pub(crate) fn of(url: &Url, source: reqwest::Error) -> Self {
        // The URL may hold secrets, and its host is told anyway.
        let source = source.without_url();
        let host = host_of(url);
        if source.is_timeout() {
            return Self::Late { host };
        }
        if let Some(Self::Refused { host, kind }) = causes(&source).find_map(|cause| cause.downcast_ref()) {
            return Self::Refused { host: host.clone(), kind: *kind };
        }
        if source.is_dns() {
            return Self::Unresolved { host, source };
        }
        let reason = causes(&source).last().map_or_else(|| source.to_string(), ToString::to_string);
        if source.is_connect() {
            return Self::Unreachable { host, reason, source };
        }
        Self::Broken { host, reason, source }
    }
}

/// The host and, where it is not the scheme's own, the port of a URL.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}

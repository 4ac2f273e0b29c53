//! Web pages that may connect.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AccessError,
    authority::{Authority, port as port_of},
    hosts::{OwnHost, split_port},
};

/// An origin as an option names it: `https://app.example.com`, `http://localhost:*` for every port, or `*` for any
/// origin at all. Scheme, host and port are compared; without a port it is the scheme's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct AllowedOrigin(Rule);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Any,
    Origin { scheme: String, host: OwnHost, port: Port },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Any,
    /// This one; `None` for schemes that know no port.
    Only(Option<u16>),
}

/// The page that sent a request, borrowed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) authority: Authority<'a>,
}

impl<'a> Origin<'a> {
    /// `None` for `null`, which any page can make itself, and for what is no origin.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme))?;
        let mut authority = Authority::parse(rest)?;
        authority.port = authority.port.or(default_port(scheme));
        Some(Self { scheme, authority })
    }

    pub(crate) fn is_web(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("http") || self.scheme.eq_ignore_ascii_case("https")
    }
}

impl AllowedOrigin {
    /// Whether this is `*`.
    pub(crate) fn is_any(&self) -> bool {
        self.0 == Rule::Any
    }

    /// Whether this names that very origin; `*` names none.
    pub(crate) fn names(&self, origin: &Origin<'_>) -> bool {
        let Rule::Origin { scheme, host, port } = &self.0 else { return false };
        let port_fits = *port == Port::Any || *port == Port::Only(origin.authority.port);
        scheme.eq_ignore_ascii_case(origin.scheme) && host.is(origin.authority.host) && port_fits
    }
}

fn is_scheme(text: &str) -> bool {
    let mut letters = text.bytes();
    let first = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic());
    first && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'-' | b'.'))
}

fn default_port(scheme: &str) -> Option<u16> {
    let is_one_of = |names: [&str; 2]| names.iter().any(|name| scheme.eq_ignore_ascii_case(name));
    if is_one_of(["http", "ws"]) {
        return Some(80);
    }
    is_one_of(["https", "wss"]).then_some(443)
}

impl FromStr for AllowedOrigin {
    type Err = AccessError;

    fn from_str(entry: &str) -> Result<Self, AccessError> {
        let no_origin = || AccessError::NoOrigin { entry: entry.to_owned() };
        if entry == "*" {
            return Ok(Self(Rule::Any));
        }
        let (scheme, rest) = entry.split_once("://").filter(|(scheme, _)| is_scheme(scheme)).ok_or_else(no_origin)?;
        // The slash that address bars show is no part of the origin.
        let (host, port) = split_port(rest.strip_suffix('/').unwrap_or(rest)).ok_or_else(no_origin)?;
        let host = OwnHost::parse(host).ok_or_else(no_origin)?;
        let port = match port {
            None => Port::Only(default_port(scheme)),
            Some("*") => Port::Any,
            Some(digits) => Port::Only(Some(port_of(digits).ok_or_else(no_origin)?)),
        };
        Ok(Self(Rule::Origin { scheme: scheme.to_ascii_lowercase(), host, port }))
    }
}

impl TryFrom<String> for AllowedOrigin {
    type Error = AccessError;

    fn try_from(entry: String) -> Result<Self, AccessError> {
        entry.parse()
    }
}

impl From<AllowedOrigin> for String {
    fn from(allowed: AllowedOrigin) -> Self {
        match allowed.0 {
            Rule::Any => "*".to_owned(),
            Rule::Origin { scheme, host, port: Port::Any } => format!("{scheme}://{host}:*"),
            Rule::Origin { scheme, host, port: Port::Only(port) } if port == default_port(&scheme) => {
                format!("{scheme}://{host}")
            }
            Rule::Origin { scheme, host, port: Port::Only(port) } => {
                format!("{scheme}://{host}:{}", port.unwrap_or_default())
            }
        }
    }
}

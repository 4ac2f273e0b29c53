//! Hosts under which this server may be reached.

use std::{fmt, net::IpAddr, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AccessError,
    authority::{Authority, Host, port as port_of},
};

/// A host as an option names it: `mcp.example.com`, `mcp.example.com:8443`, `192.168.1.5`, `[::1]:3000`, or `*` for
/// any. Without a port it means all of them. Names may be written in any script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct AllowedHost(Rule);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Any,
    Host { host: OwnHost, port: Option<u16> },
}

/// A host that an option names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnHost {
    /// In small ASCII letters, without a dot at its end.
    Name(String),
    Address(IpAddr),
}

impl AllowedHost {
    /// Whether this is `*`.
    pub(crate) fn is_any(&self) -> bool {
        self.0 == Rule::Any
    }

    /// Whether this names that very host; `*` names none.
    pub(crate) fn names(&self, authority: &Authority<'_>) -> bool {
        let Rule::Host { host, port } = &self.0 else { return false };
        host.is(authority.host) && (port.is_none() || *port == authority.port)
    }
}

impl OwnHost {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bare: Option<IpAddr> = text.parse().ok();
        if let Some(address) = bare {
            return Some(Self::Address(address));
        }
        // What only a URL may contain is no part of a host, though the parser below would decode it.
        if text.contains(['%', '@', '/', '\\', '*']) {
            return None;
        }
        match url::Host::parse(text).ok()? {
            url::Host::Domain(name) => {
                // Again, as a request would name it: what no request can match is a mistake.
                let Host::Name(name) = Authority::parse(&name)?.host else { return None };
                Some(Self::Name(name.to_owned()))
            }
            url::Host::Ipv4(address) => Some(Self::Address(address.into())),
            url::Host::Ipv6(address) => Some(Self::Address(address.into())),
        }
    }

    pub(crate) fn is(&self, host: Host<'_>) -> bool {
        match (self, host) {
            (Self::Name(own), Host::Name(name)) => own.eq_ignore_ascii_case(name),
            (Self::Address(own), Host::Address(address)) => *own == address,
            _ => false,
        }
    }
}

impl fmt::Display for OwnHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(formatter, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

/// Splits the port off what an option says; `None` when what follows the host is no port.
pub(crate) fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    let end_of_host = match text.strip_prefix('[') {
        Some(_) => text.find(']')? + 1,
        None if text.parse::<IpAddr>().is_ok() => text.len(),
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, port) = text.split_at(end_of_host);
    match port {
        "" => Some((host, None)),
        _ => Some((host, Some(port.strip_prefix(':')?))),
    }
}

impl FromStr for AllowedHost {
    type Err = AccessError;

    fn from_str(entry: &str) -> Result<Self, AccessError> {
        let no_host = || AccessError::NoHost { entry: entry.to_owned() };
        if entry == "*" {
            return Ok(Self(Rule::Any));
        }
        let (host, port) = split_port(entry).ok_or_else(no_host)?;
        let host = OwnHost::parse(host).ok_or_else(no_host)?;
        let port = match port {
            None | Some("*") => None,
            Some(digits) => Some(port_of(digits).ok_or_else(no_host)?),
        };
        Ok(Self(Rule::Host { host, port }))
    }
}

impl TryFrom<String> for AllowedHost {
    type Error = AccessError;

    fn try_from(entry: String) -> Result<Self, AccessError> {
        entry.parse()
    }
}

impl From<AllowedHost> for String {
    fn from(allowed: AllowedHost) -> Self {
        match allowed.0 {
            Rule::Any => "*".to_owned(),
            Rule::Host { host, port: Some(port) } => format!("{host}:{port}"),
            Rule::Host { host, port: None } => host.to_string(),
        }
    }
}

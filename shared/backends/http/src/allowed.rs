//! A host that may be asked wherever it is, because someone named it.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::EgressError;

/// A host as an option names it: `localhost:8080`, `10.0.0.5`, `[::1]:8080` or `*.internal.example`, which means
/// every name below `internal.example`. Without a port it means all of them.
///
/// It is compared with what the URL says, never with what a name resolves to: `10.0.0.5` does not allow a name that
/// points there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct AllowedHost {
    host: Pattern,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// This very host.
    Exactly(Host),
    /// Every name that ends so, beginning with a dot.
    Below(String),
}

impl AllowedHost {
    /// Whether this is the host and port of `url`.
    pub fn allows(&self, url: &Url) -> bool {
        let host_fits = match (&self.host, url.host()) {
            (Pattern::Exactly(Host::Domain(allowed)), Some(Host::Domain(name))) => allowed == without_root(name),
            (Pattern::Exactly(allowed), Some(host)) => *allowed == host.to_owned(),
            (Pattern::Below(suffix), Some(Host::Domain(name))) => without_root(name).ends_with(suffix.as_str()),
            _ => false,
        };
        host_fits && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

impl FromStr for AllowedHost {
    type Err = EgressError;

    fn from_str(entry: &str) -> Result<Self, EgressError> {
        let no_host = || EgressError::NoHost { entry: entry.to_owned() };
        let (host, port) = split_port(entry).ok_or_else(no_host)?;
        let host = match host.strip_prefix("*.") {
            Some(suffix) => match parse_host(suffix).ok_or_else(no_host)? {
                Host::Domain(name) => Pattern::Below(format!(".{name}")),
                _ => return Err(no_host()),
            },
            None => Pattern::Exactly(parse_host(host).ok_or_else(no_host)?),
        };
        Ok(Self { host, port })
    }
}

impl TryFrom<String> for AllowedHost {
    type Error = EgressError;

    fn try_from(entry: String) -> Result<Self, EgressError> {
        entry.parse()
    }
}

impl From<AllowedHost> for String {
    fn from(allowed: AllowedHost) -> Self {
        allowed.to_string()
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Pattern::Exactly(host) => write!(formatter, "{host}")?,
            Pattern::Below(suffix) => write!(formatter, "*{suffix}")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

/// Host and port; an IPv6 address may stand without brackets where no port follows.
fn split_port(entry: &str) -> Option<(&str, Option<u16>)> {
    let is_bare_v6 = entry.matches(':').count() > 1 && !entry.starts_with('[');
    if is_bare_v6 || entry.ends_with(']') {
        return Some((entry, None));
    }
    match entry.rsplit_once(':') {
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((entry, None)),
    }
}

fn parse_host(host: &str) -> Option<Host> {
    if let Ok(address) = host.parse() {
        return Some(Host::Ipv6(address));
    }
    match Host::parse(host).ok()? {
        Host::Domain(name) if name.contains('*') => None,
        Host::Domain(name) => Some(Host::Domain(without_root(&name).to_owned())),
        address => Some(address),
    }
}

/// `localhost.` is `localhost`.
fn without_root(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn allows(entry: &str, url: &str) -> bool {
        entry.parse::<AllowedHost>().unwrap().allows(&url.parse().unwrap())
    }

    #[test]
    fn a_host_without_a_port_allows_all_its_ports() {
        assert!(allows("localhost", "http://localhost/"));
        assert!(allows("localhost", "https://LOCALHOST.:9000/x"));
        assert!(!allows("localhost", "http://localhost.example/"));
        assert!(!allows("localhost", "http://127.0.0.1/"));
    }

    #[test]
    fn a_host_with_a_port_allows_that_one() {
        assert!(allows("localhost:8080", "http://localhost:8080/"));
        assert!(!allows("localhost:8080", "http://localhost/"));
        assert!(allows("localhost:80", "http://localhost/"));
        assert!(allows("localhost:443", "https://localhost/"));
    }

    #[test]
    fn an_address_allows_every_spelling_of_itself() {
        assert!(allows("127.0.0.1", "http://2130706433/"));
        assert!(allows("::1", "http://[::1]:8080/"));
        assert!(allows("[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080/"));
        assert!(!allows("[::1]:8080", "http://[::1]/"));
    }

    #[test]
    fn a_wildcard_allows_what_is_below_it_and_not_itself() {
        assert!(allows("*.internal.example", "http://db.internal.example/"));
        assert!(allows("*.internal.example", "http://a.b.internal.example/"));
        assert!(!allows("*.internal.example", "http://internal.example/"));
        assert!(!allows("*.internal.example", "http://notinternal.example/"));
        assert!(!allows("*.internal.example:81", "http://db.internal.example/"));
    }

    #[test]
    fn an_entry_is_written_as_it_would_be_read() {
        for entry in ["localhost:8080", "10.0.0.5", "[::1]:8080", "[::1]", "*.internal.example:81"] {
            assert_eq!(entry.parse::<AllowedHost>().unwrap().to_string(), entry);
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for entry in
            ["", "*", "*.", "a b", "http://localhost", "localhost/x", "localhost:", "localhost:99999", "*.10.0.0.1"]
        {
            assert!(entry.parse::<AllowedHost>().is_err(), "{entry}");
        }
    }
}

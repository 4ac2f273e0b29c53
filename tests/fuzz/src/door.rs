//! The check of `Origin` and `Host`: what passes as this machine or as allowed is that for everybody who reads URLs by
//! the standard, and so for every browser.

use std::net::{IpAddr, Ipv4Addr};

use switchyard_access::Access;
use url::{Host, Url};

/// A name that is allowed beside this machine.
const ALLOWED: &str = "mcp.example.com";

/// The text of `Origin`, and of `Host`.
///
/// # Panics
/// When something passes that is neither this machine nor allowed.
pub fn door(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let host = ALLOWED.parse().expect("it is a host");
    let closed = Access::new(&[], &[], Ipv4Addr::LOCALHOST.into());
    let named = Access::new(&[], &[host], Ipv4Addr::LOCALHOST.into());
    let open = Access::new(&[], &[], Ipv4Addr::UNSPECIFIED.into());

    for (access, may_be_named) in [(&closed, false), (&named, true), (&open, false)] {
        if access.check_origin(Some(text)).is_ok() {
            let url = Url::parse(text).unwrap_or_else(|error| panic!("`{text}` passes and is no URL: {error}"));
            assert!(matches!(url.scheme(), "http" | "https"), "`{text}` passes");
            is_ours(&url, may_be_named);
        }
    }
    for (access, may_be_named) in [(&closed, false), (&named, true)] {
        if access.check_host(Some(text)).is_ok() {
            let url = format!("http://{text}/");
            let url = Url::parse(&url).unwrap_or_else(|error| panic!("`{text}` passes and is no host: {error}"));
            is_ours(&url, may_be_named);
        }
    }
    assert!(closed.check_host(None).is_err() && closed.check_origin(None).is_ok());
}

fn is_ours(url: &Url, may_be_named: bool) {
    assert!(url.username().is_empty() && url.password().is_none() && url.path() == "/", "{url} passes");
    assert!(url.query().is_none() && url.fragment().is_none(), "{url} passes");
    let is_here = match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || (may_be_named && name == ALLOWED)
        }
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    };
    assert!(is_here, "{url} passes");
}

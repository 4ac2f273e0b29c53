//! Host and port as they stand in `Host`, and after the scheme in `Origin`.
//!
//! Browsers write both in one canonical form, so whatever has another form (user names, paths, percent signs,
//! addresses as one number) comes from nobody who is to be trusted, and is no authority here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name that DNS knows, in bytes.
const LONGEST_NAME: usize = 253;

/// The longest part of a name between its dots, in bytes.
const LONGEST_LABEL: usize = 63;

/// Host and port of a request, borrowed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Authority<'a> {
    pub(crate) host: Host<'a>,
    pub(crate) port: Option<u16>,
}

/// A host of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host<'a> {
    /// In any case, without the dot that may end it.
    Name(&'a str),
    Address(IpAddr),
}

impl<'a> Authority<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('[') {
            let (address, port) = rest.split_once(']')?;
            let address: Ipv6Addr = address.parse().ok()?;
            return Some(Self { host: Host::Address(address.into()), port: parse_port(port)? });
        }
        let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
        Some(Self { host: parse_host(host)?, port: parse_port(port)? })
    }

    /// Whether only this machine is reached here: `localhost`, `127.0.0.0/8` or `[::1]`.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.host {
            Host::Name(name) => name.eq_ignore_ascii_case("localhost"),
            Host::Address(address) => address.is_loopback(),
        }
    }
}

/// A port with its colon, or nothing.
fn parse_port(text: &str) -> Option<Option<u16>> {
    match text {
        "" => Some(None),
        _ => Some(Some(port(text.strip_prefix(':')?)?)),
    }
}

/// The port that these digits say; the number's own parser would accept a sign.
pub(crate) fn port(digits: &str) -> Option<u16> {
    let plain = (1..=5).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

fn parse_host(text: &str) -> Option<Host<'_>> {
    let name = text.strip_suffix('.').unwrap_or(text);
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Some(Host::Address(address.into()));
    }
    let is_label = |label: &str| {
        let letters = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        letters && (1..=LONGEST_LABEL).contains(&label.len())
    };
    if name.len() > LONGEST_NAME || !name.split('.').all(is_label) {
        return None;
    }
    // `127.1` and `0x7f000001` are addresses to some and names to others.
    let last = name.rsplit('.').next().unwrap_or(name);
    let looks_like_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last
            .strip_prefix("0x")
            .or(last.strip_prefix("0X"))
            .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    (!looks_like_number).then_some(Host::Name(name))
}

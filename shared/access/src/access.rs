//! The check at the door.
//!
//! The rule, where *loopback* is `localhost`, `127.0.0.0/8` and `[::1]` with any port:
//!
//! | header | passes when it |
//! |---|---|
//! | `Origin` | is absent; is loopback over http or https; is in `allowedOrigins`; has a host of `allowedHosts`, or is the very address that the server listens on |
//! | `Host` | is loopback; is in `allowedHosts`; is the very address that the server listens on; or is anything, even absent, when the server listens on more than loopback and `allowedHosts` is empty |
//!
//! The last case is a server in a container or a network, which cannot know its names, and where somebody other than
//! the browser's own machine decides who reaches it. `Origin` still keeps foreign pages out of it: after DNS rebinding
//! they come from the attacker's own name, which is never taken for ours unless an option says so.

use std::net::IpAddr;

use crate::{
    AccessError, AllowedHost, AllowedOrigin,
    authority::{Authority, Host},
    origins::Origin,
};

/// Which pages may speak to this server, and by which names.
#[derive(Clone, Debug)]
pub struct Access {
    origins: Vec<AllowedOrigin>,
    hosts: Vec<AllowedHost>,
    /// The address that the server listens on, unless it listens on all.
    own: Option<IpAddr>,
    any_origin: bool,
    any_host: bool,
}

impl Access {
    /// What the options `allowedOrigins` and `allowedHosts` say, for a server that listens on `bound`.
    pub fn new(origins: &[AllowedOrigin], hosts: &[AllowedHost], bound: IpAddr) -> Self {
        let bound = bound.to_canonical();
        let open = !bound.is_loopback() && hosts.is_empty();
        Self {
            any_origin: origins.iter().any(AllowedOrigin::is_any),
            any_host: open || hosts.iter().any(AllowedHost::is_any),
            origins: origins.to_vec(),
            hosts: hosts.to_vec(),
            own: Some(bound).filter(|address| !address.is_unspecified()),
        }
    }

    /// Judges a request's `Origin` header, `None` when it has none. A header that is no text must not be taken for an
    /// absent one.
    ///
    /// # Errors
    /// [`AccessError::Origin`] when the page may not connect.
    pub fn check_origin(&self, origin: Option<&str>) -> Result<(), AccessError> {
        let Some(origin) = origin.filter(|_| !self.any_origin) else { return Ok(()) };
        let origin = Origin::parse(origin).ok_or(AccessError::Origin)?;
        let is_ours = origin.is_web() && self.is_ours(&origin.authority);
        if is_ours || self.origins.iter().any(|allowed| allowed.names(&origin)) {
            return Ok(());
        }
        Err(AccessError::Origin)
    }

    /// Judges a request's `Host` header, `None` when it has none.
    ///
    /// # Errors
    /// [`AccessError::Host`] when the server is not to be reached by this name.
    pub fn check_host(&self, host: Option<&str>) -> Result<(), AccessError> {
        if self.any_host {
            return Ok(());
        }
        let authority = host.and_then(Authority::parse).ok_or(AccessError::Host)?;
        if self.is_ours(&authority) { Ok(()) } else { Err(AccessError::Host) }
    }

    fn is_ours(&self, authority: &Authority<'_>) -> bool {
        let is_own_address = matches!((authority.host, self.own), (Host::Address(host), Some(own)) if host == own);
        authority.is_loopback() || is_own_address || self.hosts.iter().any(|allowed| allowed.names(authority))
    }
}

//! The client.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::{Client, ClientBuilder, Response, header::LOCATION, redirect::Policy};
use tracing::warn;
use url::{Host, Url};

use crate::{
    AddressKind, Answer, EgressError, EgressOptions, Lookup, SystemLookup, allowed::AllowedHost, error::host_of,
    lookup::Guard,
};

/// How many redirects are followed.
pub const MAX_REDIRECTS: usize = 5;

/// Asks other people's HTTP servers. Cheap to share; hold one for all requests of one purpose.
///
/// Every request has a connection of its own, so each one resolves its name again and its duration says how long
/// a stranger would have waited.
pub struct Egress {
    /// Connects to public addresses only.
    guarded: Client,
    /// Connects anywhere; only ever given hosts that are allowed by name.
    trusting: Option<Client>,
    allowed: Vec<AllowedHost>,
    max_body: usize,
}

impl Egress {
    /// A client that resolves names as this machine does.
    ///
    /// # Errors
    /// `Unavailable` when TLS cannot be set up.
    pub fn new(options: &EgressOptions) -> Result<Self, EgressError> {
        Self::with_lookup(options, Arc::new(SystemLookup::default()))
    }

    /// A client that resolves names by `lookup`.
    ///
    /// # Errors
    /// `Unavailable` when TLS cannot be set up.
    pub fn with_lookup(options: &EgressOptions, lookup: Arc<dyn Lookup>) -> Result<Self, EgressError> {
        let allowed = options.allow_hosts.clone();
        let guarded = client(Guard { lookup: Arc::clone(&lookup), trusting: false })?;
        let trusting = if allowed.is_empty() { None } else { Some(client(Guard { lookup, trusting: true })?) };
        Ok(Self { guarded, trusting, allowed, max_body: options.max_body_bytes })
    }

    /// Gets `url`, following redirects. `within` covers everything, the reading of the body included. Dropping the
    /// future closes the connection.
    ///
    /// # Errors
    /// `Scheme`, `Credentials`, `Refused` and `TooManyRedirects` tell what is not done, for the URL itself as for
    /// where it redirects to; the others, that a server did not answer.
    pub async fn get(&self, url: &Url, within: Duration) -> Result<Answer, EgressError> {
        let started = Instant::now();
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let client = self.admit(&url)?;
            let left = within.saturating_sub(started.elapsed());
            let response = client.get(url.clone()).timeout(left).send().await;
            let response = response.map_err(|source| EgressError::of(&url, source))?;
            match redirect(&response) {
                Some(next) => url = next,
                None => return Ok(Answer { response, max_body: self.max_body }),
            }
        }
        Err(EgressError::TooManyRedirects { host: host_of(&url), limit: MAX_REDIRECTS })
    }

    /// The client that may ask for `url`. What a name points to is left to its resolver; an address needs none, so it
    /// is looked at here.
    fn admit(&self, url: &Url) -> Result<&Client, EgressError> {
        let host = match (url.scheme(), url.host()) {
            ("http" | "https", Some(host)) => host,
            (scheme, _) => return Err(EgressError::Scheme { scheme: scheme.to_owned() }),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EgressError::Credentials { host: host_of(url) });
        }
        if let Some(trusting) = &self.trusting
            && self.allowed.iter().any(|allowed| allowed.allows(url))
        {
            return Ok(trusting);
        }
        let address = match host {
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
            Host::Domain(_) => return Ok(&self.guarded),
        };
        match AddressKind::of(address) {
            Some(kind) => Err(EgressError::Refused { host: host_of(url), kind }),
            None => Ok(&self.guarded),
        }
    }
}

/// Where an answer sends us, or `None` when it is an answer; also when it names no place that could be understood.
fn redirect(response: &Response) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    response.url().join(location).ok()
}

fn client(resolver: Guard) -> Result<Client, EgressError> {
    // The process has one; when someone installed it before us, theirs serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let resolver = Arc::new(resolver);
    let builder = || {
        ClientBuilder::new()
            .user_agent(concat!("switchyard/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::clone(&resolver))
            .redirect(Policy::none())
            .no_proxy()
            .pool_max_idle_per_host(0)
    };
    match builder().build() {
        Ok(client) => Ok(client),
        Err(error) => {
            warn!(error = &error as &dyn std::error::Error, "no certificate authority is trusted, so https will fail");
            builder().tls_certs_only([]).build().map_err(EgressError::Unavailable)
        }
    }
}

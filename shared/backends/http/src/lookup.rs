//! From a name to its addresses, of which those that are not public are dropped.

use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    pin::Pin,
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::{AddressKind, EgressError};

/// How many names are resolved at once. A resolver that hangs holds a thread each, until it gives up.
const MAX_LOOKUPS: usize = 64;

/// A name's addresses, once they are known.
pub type Addresses = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of a name.
pub trait Lookup: Send + Sync {
    /// The addresses of `host` now.
    fn addresses(&self, host: &str) -> Addresses;
}

/// Names as this machine resolves them.
pub struct SystemLookup {
    running: Arc<Semaphore>,
}

impl Default for SystemLookup {
    fn default() -> Self {
        Self { running: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

impl Lookup for SystemLookup {
    fn addresses(&self, host: &str) -> Addresses {
        let running = Arc::clone(&self.running);
        let host = host.to_owned();
        Box::pin(async move {
            let permit = running.acquire_owned().await.map_err(io::Error::other)?;
            let lookup = spawn_blocking(move || {
                // Kept until the system has answered, also when nobody waits for it any more.
                let _permit = permit;
                Ok((host.as_str(), 0).to_socket_addrs()?.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

/// The addresses that a connection may be made to.
pub(crate) struct Guard {
    pub(crate) lookup: Arc<dyn Lookup>,
    /// Whether all of them may; for hosts that are allowed by name.
    pub(crate) trusting: bool,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.lookup.addresses(name.as_str());
        let trusting = self.trusting;
        Box::pin(async move {
            let found = found.await?;
            let admitted: Vec<_> = found.iter().filter(|ip| trusting || AddressKind::of(**ip).is_none()).collect();
            if admitted.is_empty()
                && let Some(kind) = found.iter().find_map(|ip| AddressKind::of(*ip))
            {
                return Err(EgressError::Refused { host: name.as_str().to_owned(), kind }.into());
            }
            // Port 0 is replaced by the URL's.
            let addresses: Vec<_> = admitted.into_iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Answers each time with the next of these.
    struct Answers(Mutex<Vec<Vec<IpAddr>>>);

    impl Lookup for Answers {
        fn addresses(&self, _: &str) -> Addresses {
            let answer = self.0.lock().unwrap().remove(0);
            Box::pin(async { Ok(answer) })
        }
    }

    fn guard(answers: &[&[&str]], trusting: bool) -> Guard {
        let answers = answers.iter().map(|answer| answer.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        Guard { lookup: Arc::new(Answers(Mutex::new(answers))), trusting }
    }

    async fn resolve(guard: &Guard) -> Result<Vec<String>, String> {
        let found = guard.resolve("somewhere.example".parse().unwrap()).await;
        found.map(|found| found.map(|at| at.ip().to_string()).collect()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn of_mixed_addresses_only_the_public_ones_remain() {
        let guard = guard(&[&["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111"]], false);

        assert_eq!(resolve(&guard).await.unwrap(), ["8.8.8.8", "2606:4700::1111"]);
    }

    #[tokio::test]
    async fn a_name_that_was_public_before_is_refused_once_it_is_not() {
        let guard = guard(&[&["8.8.8.8"], &["127.0.0.1"]], false);

        assert_eq!(resolve(&guard).await.unwrap(), ["8.8.8.8"]);
        assert!(resolve(&guard).await.unwrap_err().contains("`somewhere.example` is a loopback address"));
    }

    #[tokio::test]
    async fn a_trusted_name_may_point_anywhere() {
        let guard = guard(&[&["10.0.0.1", "8.8.8.8"]], true);

        assert_eq!(resolve(&guard).await.unwrap(), ["10.0.0.1", "8.8.8.8"]);
    }
}

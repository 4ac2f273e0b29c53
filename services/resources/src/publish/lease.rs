//! The right to publish a provider's changes: one node has it at a time.

use std::{sync::Arc, time::Duration};

use switchyard_state::{NodeId, Registry};
use tokio::time::{Instant, timeout};

/// Our hold of the lease, or our wait for it.
pub(crate) struct Lease {
    registry: Arc<dyn Registry>,
    name: String,
    node: NodeId,
    ttl: Duration,
    /// It is ours until then.
    until: Option<Instant>,
    /// Others go first until then.
    stands_back: Option<Instant>,
    /// Another node had it when we last heard.
    was_anothers: bool,
}

/// What an attempt to take or keep the lease brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It is ours, as it was before.
    Kept,
    /// It is ours now, and another's before if `after_another`.
    Taken {
        /// Another node had it when we last heard.
        after_another: bool,
    },
    /// Another node has it.
    Anothers,
    /// Nobody knows; what was ours stays so until it runs out.
    Unknown,
}

impl Lease {
    pub fn new(registry: Arc<dyn Registry>, prefix: &str, node: NodeId, ttl: Duration) -> Self {
        let name = format!("watch:{prefix}");
        Self { registry, name, node, ttl, until: None, stands_back: None, was_anothers: false }
    }

    /// How often to attempt it.
    pub fn interval(&self) -> Duration {
        (self.ttl / 4).max(Duration::from_millis(1))
    }

    pub fn is_held(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Takes the lease, or keeps it.
    pub async fn attempt(&mut self) -> Attempt {
        let now = Instant::now();
        if self.stands_back.is_some_and(|until| now < until) {
            return Attempt::Unknown;
        }
        let was_held = self.is_held();
        match timeout(self.ttl, self.registry.lease(&self.name, &self.node, self.ttl)).await {
            Ok(Ok(true)) => {
                // Counted from before the request, so it is over here before it is over there.
                self.until = Some(now + self.ttl);
                let after_another = std::mem::take(&mut self.was_anothers);
                if was_held { Attempt::Kept } else { Attempt::Taken { after_another } }
            }
            Ok(Ok(false)) => {
                self.until = None;
                self.was_anothers = true;
                Attempt::Anothers
            }
            Ok(Err(error)) => {
                tracing::debug!(lease = %self.name, error = &error as &dyn std::error::Error, "the lease is unknown");
                Attempt::Unknown
            }
            Err(_) => Attempt::Unknown,
        }
    }

    /// Gives the lease back, and lets others go first for a while.
    pub async fn give_back(&mut self) {
        self.until = None;
        self.stands_back = Some(Instant::now() + self.ttl);
        // What cannot be given back runs out.
        let _ = timeout(self.ttl, self.registry.release(&self.name, &self.node)).await;
    }
}

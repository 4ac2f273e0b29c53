//! Telling the cluster of changes.
//!
//! Every node sees every change with its own eyes and keeps it in its `backlog`; the one that has the provider's `lease`
//! publishes. The others forget a change once the holder must have told it. A node that takes the lease over tells what it
//! has not forgotten, so a holder may die at any moment: a change is told twice rather than never.

mod backlog;
mod batch;
mod lease;
mod publisher;

use std::sync::Arc;

use async_trait::async_trait;
use switchyard_proto::v1::Fact;
use switchyard_state::{NodeId, Registry};
use tokio::{
    sync::{Mutex, watch},
    task::JoinHandle,
};
use tonic::Status;

use self::publisher::Publisher;
use crate::{ServiceOptions, provider::Provider};

/// Puts facts into the cluster's log.
#[async_trait]
pub trait Publish: Send + Sync {
    /// Returns once the facts are in the log. When it fails some of them may be; they are published again with the
    /// same producer ids.
    async fn publish(&self, facts: Vec<Fact>) -> Result<(), Status>;
}

/// The telling of one provider's changes. When this is dropped it tells what it still has to, as far as that takes no
/// longer than a moment, and ends.
pub(crate) struct Publishing {
    stop: watch::Sender<bool>,
    /// `None` once somebody waited for it.
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Publishing {
    pub fn start(
        provider: Arc<dyn Provider>,
        registry: Arc<dyn Registry>,
        node: NodeId,
        publish: Arc<dyn Publish>,
        options: &ServiceOptions,
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        // Owned by this value, whose drop ends it.
        let task = tokio::spawn(Publisher::new(provider, registry, node, publish, options).run(stopped));
        Self { stop, task: Mutex::new(Some(task)) }
    }

    /// Ends it and waits for its end.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        if let Some(task) = self.task.lock().await.take() {
            // A panic in it was reported where it happened.
            let _ = task.await;
        }
    }
}

//! Work that blocks on files: on threads of its own, so many at a time.

use std::{sync::Arc, time::Duration};

use switchyard_proto::v1::Failure;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use tonic::Status;

use crate::ServiceOptions;

/// Runs blocking work. Cheap to clone; clones share the limit.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    turns: Arc<Semaphore>,
    max_wait: Duration,
}

impl Reading {
    pub fn new(options: &ServiceOptions) -> Self {
        let turns = Arc::new(Semaphore::new(options.max_concurrent.clamp(1, Semaphore::MAX_PERMITS)));
        Self { turns, max_wait: options.max_wait }
    }

    /// Runs `work` when it is its turn. A caller that is gone by then leaves nothing behind; work that has begun keeps
    /// its turn until it ends, however long its caller waits.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Status> {
        let turn = self.turns.clone().acquire_owned();
        let turn = self.wait(turn).await?.expect("the semaphore is never closed");
        let span = tracing::Span::current();
        let work = spawn_blocking(move || {
            let _turn = turn;
            span.in_scope(work)
        });
        work.await.map_err(|_| Status::internal("a resource could not be read"))
    }

    /// Waits for `ready`, but not for ever.
    pub async fn wait<T>(&self, ready: impl Future<Output = T>) -> Result<T, Status> {
        let waited = timeout(self.max_wait, ready).await;
        waited.map_err(|_| Failure::not_started("too many resources are being read already"))
    }
}

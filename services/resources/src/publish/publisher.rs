//! The task that tells of one provider's changes.

use std::{mem, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, pending},
};
use switchyard_files::Changes;
use switchyard_state::{NodeId, Registry};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};
use tonic::{Code, Status};
use tracing::Instrument;

use super::{
    Publish,
    backlog::Backlog,
    batch::{Batch, MAX_UPDATES, Numbers},
    lease::{Attempt, Lease},
};
use crate::{ServiceOptions, provider::Provider, span};

/// The first and the longest pause between attempts to publish.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How long a task that is told to stop may still publish.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Tells of one provider's changes for as long as it has the lease.
pub(crate) struct Publisher {
    provider: Arc<dyn Provider>,
    publish: Arc<dyn Publish>,
    publish_timeout: Duration,
    lease: Lease,
    /// How long a change may be seen here before the holder of the lease must have told it.
    window: Duration,
    backlog: Backlog,
    numbers: Numbers,
    sending: Sending,
    pause: Duration,
    /// Since when nothing could be published.
    failing: Option<Instant>,
    ttl: Duration,
}

/// What becomes of the batch that was taken from the backlog last.
enum Sending {
    /// There is none.
    Idle,
    /// It is being published.
    Now(BoxFuture<'static, Sent>),
    /// It was not published, and is tried again then.
    Again(Batch, Instant),
}

/// A batch, and whether it is in the log.
type Sent = (Batch, Result<(), Status>);

impl Publisher {
    pub fn new(
        provider: Arc<dyn Provider>,
        registry: Arc<dyn Registry>,
        node: NodeId,
        publish: Arc<dyn Publish>,
        options: &ServiceOptions,
    ) -> Self {
        let numbers = Numbers::new(&node, provider.prefix());
        Self {
            // The holder sees it, fails to tell it for one term of the lease, dies during its last attempt, and the
            // lease is taken in the second term after that. The rest is for clocks and busy machines.
            window: provider.lag() + PAUSES.1 + 2 * options.publish_timeout + 4 * options.lease,
            lease: Lease::new(registry, provider.prefix(), node, options.lease),
            provider,
            publish,
            publish_timeout: options.publish_timeout,
            backlog: Backlog::default(),
            numbers,
            sending: Sending::Idle,
            pause: PAUSES.0,
            failing: None,
            ttl: options.lease,
        }
    }

    /// Runs until it is told to stop, or whoever could tell it is gone.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut ticks = interval(self.lease.interval());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let provider = self.provider.clone();
        let mut is_watched = true;
        loop {
            self.send_next();
            let may_send = self.lease.is_held() || matches!(self.sending, Sending::Now(_));
            tokio::select! {
                () = told_to_stop(&mut stop) => break,
                _ = ticks.tick() => self.attempt().await,
                changes = provider.changes(), if is_watched => match changes {
                    Some(changes) => self.backlog.add(changes, self.lease.is_held()),
                    None => {
                        tracing::error!(provider = self.provider.name(), "changes of resources are no longer noticed");
                        is_watched = false;
                    }
                },
                sent = step(&mut self.sending), if may_send => if let Some((batch, result)) = sent {
                    self.sent(batch, result).await;
                },
            }
        }
        self.end().await;
    }

    async fn attempt(&mut self) {
        let provider = self.provider.name();
        match self.lease.attempt().await {
            Attempt::Kept | Attempt::Unknown => (),
            Attempt::Taken { after_another } => {
                tracing::info!(provider, after_another, "this node tells of the provider's changes");
                self.backlog.owe_all();
                if after_another {
                    self.provider.look_again();
                }
            }
            Attempt::Anothers => {
                if let Some(time) = Instant::now().checked_sub(self.window) {
                    self.backlog.forget(time);
                }
            }
        }
    }

    /// Begins to publish the next batch, if there is one and it is on us and time to.
    fn send_next(&mut self) {
        if !self.lease.is_held() {
            return;
        }
        let batch = match mem::replace(&mut self.sending, Sending::Idle) {
            Sending::Again(batch, at) if at <= Instant::now() => batch,
            Sending::Idle if !self.backlog.is_empty() => {
                let changes: Changes = self.backlog.take(MAX_UPDATES);
                Batch::new(self.provider.name(), changes, &mut self.numbers)
            }
            other => return self.sending = other,
        };
        self.sending = Sending::Now(send(self.publish.clone(), self.publish_timeout, batch));
    }

    async fn sent(&mut self, batch: Batch, result: Result<(), Status>) {
        let Err(status) = result else {
            self.failing = None;
            self.pause = PAUSES.0;
            return;
        };
        let provider = self.provider.name();
        if status.code() == Code::InvalidArgument {
            tracing::error!(provider, facts = batch.facts.len(), %status, "changes were refused and are not told");
            return;
        }
        if self.failing.is_none() {
            tracing::warn!(provider, facts = batch.facts.len(), %status, "changes could not be told; trying again");
        }
        let since = *self.failing.get_or_insert_with(Instant::now);
        self.sending = Sending::Again(batch, Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(PAUSES.1);
        // Another node may reach what this one cannot.
        if since.elapsed() > self.ttl && self.lease.is_held() {
            self.failing = None;
            self.lease.give_back().await;
        }
    }

    /// Publishes what there still is, if it is on us and does not take long, and leaves the rest to other nodes.
    async fn end(mut self) {
        let last_words = async {
            while let Some(Some(changes)) = self.provider.changes().now_or_never() {
                self.backlog.add(changes, self.lease.is_held());
            }
            if let Sending::Again(_, at) = &mut self.sending {
                *at = Instant::now();
            }
            self.send_next();
            while let Sending::Now(_) = self.sending {
                if let Some((batch, result)) = step(&mut self.sending).await {
                    self.sent(batch, result).await;
                }
                self.send_next();
            }
        };
        let _ = timeout(LAST_WORDS, last_words).await;
        if self.lease.is_held() {
            self.lease.give_back().await;
        }
    }
}

/// Publishes a batch. The future owns all it needs, so it goes on while its owner does other things.
fn send(publish: Arc<dyn Publish>, within: Duration, batch: Batch) -> BoxFuture<'static, Sent> {
    async move {
        let published = publish.publish(batch.facts.clone()).instrument(batch.span.clone());
        let result = timeout(within, published).await.unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer")));
        if let Err(status) = &result {
            span::failed(&batch.span, status);
        }
        (batch, result)
    }
    .boxed()
}

/// Waits until the batch that is being published was, or was not; `None` once it is time to try one again. Waits for
/// ever when there is neither.
async fn step(sending: &mut Sending) -> Option<Sent> {
    match sending {
        Sending::Idle => pending().await,
        Sending::Again(_, at) => {
            sleep_until(*at).await;
            None
        }
        Sending::Now(sent) => {
            let sent = sent.await;
            *sending = Sending::Idle;
            Some(sent)
        }
    }
}

/// Also when nobody is left who could tell.
async fn told_to_stop(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

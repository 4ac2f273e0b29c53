//! One run of a task, from a call that runs to its next question or its end.
//!
//! Dropping it cancels the call. What the store is told last, it is told again and again while the store is away.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::StreamExt;
use prost::Message;
use switchyard_proto::v1::{CallEvent, NeedInput, Progress, TaskFailure, call_event::Event};
use switchyard_state::{Outcome, StoreError, Task, TaskId, TaskStatus};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep, timeout},
};
use tonic::Status;
use tracing::{debug, error};

use crate::{CallEvents, begun::Happened, rounds, runner::Inner, table::Place};

/// How often, at most, the store is told how far a task is.
const REPORTS: Duration = Duration::from_secs(1);

/// The longest message of a task, in characters.
const MAX_MESSAGE: usize = 500;

/// The pause between two attempts while the store is away.
const RETRY: Duration = Duration::from_millis(500);

pub(crate) struct Job {
    pub inner: Arc<Inner>,
    pub id: TaskId,
    /// How often the task has asked before.
    pub round: u64,
    /// How long the call may go without a sign of life.
    pub idle: Option<Duration>,
    /// The trace that the call belongs to.
    pub trace: String,
    pub place: Place,
    /// Nobody cares for the task any more after this.
    pub until: Instant,
    pub _permit: OwnedSemaphorePermit,
}

/// How one round of a call ends.
enum End {
    Outcome(Outcome),
    Asks(NeedInput),
}

/// What the store has to know.
#[derive(Clone, Copy)]
enum Word<'a> {
    /// The task asks this, and wants to know this again.
    Asks(&'a BTreeMap<String, Vec<u8>>, &'a [u8]),
    /// It goes on here.
    GoesOn,
    Ended(&'a Outcome),
}

impl Job {
    /// Runs until the task waits for its client, or has ended. `first` has happened to the call already.
    pub async fn run(mut self, mut events: CallEvents, mut first: Option<Happened>) {
        loop {
            let end = self.drive(&mut events, first.take()).await;
            // Whatever the call still holds on to goes now, and not only once the store was told.
            drop(std::mem::replace(&mut events, futures_util::stream::empty().boxed()));
            self.place.ends();
            let waits = match end {
                End::Outcome(outcome) => return self.finish(&outcome).await,
                End::Asks(need) => self.ask(&need).await,
            };
            // A call that asks nothing comes again at once.
            let Some(task) = waits.filter(|task| task.status == TaskStatus::Working) else { return };
            self.round = task.round;
            match self.again(&task).await {
                Ok(again) => events = again,
                Err(status) => return self.finish(&failure(&status)).await,
            }
        }
    }

    async fn drive(&mut self, events: &mut CallEvents, mut first: Option<Happened>) -> End {
        let mut told: Option<Instant> = None;
        loop {
            let happened = match first.take() {
                Some(happened) => Some(happened),
                None => match self.idle {
                    None => events.next().await,
                    Some(idle) => match timeout(idle, events.next()).await {
                        Ok(happened) => happened,
                        Err(_) => {
                            let limit = idle.as_secs_f64();
                            let message = format!("there was no sign of life from the tool for {limit} s");
                            return End::Outcome(failure(&Status::deadline_exceeded(message)));
                        }
                    },
                },
            };
            let event = match happened {
                Some(Ok(CallEvent { event })) => event,
                Some(Err(status)) => return End::Outcome(failure(&status)),
                None => return End::Outcome(failure(&Status::internal("the tool ended without a result"))),
            };
            match event {
                Some(Event::Progress(progress)) if told.is_none_or(|told| told.elapsed() >= REPORTS) => {
                    told = Some(Instant::now());
                    self.report(&progress).await;
                }
                Some(Event::Tool(result)) => {
                    let result = result.encode_to_vec();
                    let refused = self.too_large("result", result.len());
                    return End::Outcome(refused.unwrap_or(Outcome::Result(result)));
                }
                Some(Event::NeedInput(need)) => {
                    let refused = self.too_large("questions", need.requests_json.len());
                    return refused.map_or(End::Asks(need), End::Outcome);
                }
                // Tasks have no log, and what is not said of progress now is said later.
                _ => {}
            }
        }
    }

    /// How a task ends whose tool says more than can be kept.
    fn too_large(&self, what: &str, length: usize) -> Option<Outcome> {
        let limit = self.inner.options.max_result_bytes.get();
        let message = format!("{length} bytes of {what} cannot be kept, but at most {limit} (`tasks.maxResultBytes`)");
        (length > limit).then(|| failure(&Status::resource_exhausted(message)))
    }

    async fn report(&self, progress: &Progress) {
        let message: String = progress.message.chars().take(MAX_MESSAGE).collect();
        if message.is_empty() {
            return;
        }
        match self.inner.store.report(&self.id, &self.inner.node, &message).await {
            Ok(Some(_)) => self.inner.announce(&self.id, &self.trace).await,
            Ok(None) => {}
            Err(error) => {
                debug!(task = %self.id, error = &error as &dyn std::error::Error, "a task's progress was not kept")
            }
        }
    }

    async fn finish(&self, outcome: &Outcome) {
        if let Some(task) = self.tell(Word::Ended(outcome)).await {
            self.inner.announce(&self.id, &self.trace).await;
            self.inner.counts.ended(task.status);
        }
    }

    /// Has the task wait for answers. `None` when it is not ours any more.
    async fn ask(&self, need: &NeedInput) -> Option<Task> {
        let requests = match rounds::questions(&need.requests_json, &need.state, self.round) {
            Ok(requests) => requests,
            Err(status) => {
                self.finish(&failure(&status)).await;
                return None;
            }
        };
        let asked = self.tell(Word::Asks(&requests, &need.state)).await?;
        self.inner.announce(&self.id, &self.trace).await;
        Some(asked)
    }

    /// The call of the next round, which is this node's as long as nobody else took it.
    async fn again(&self, task: &Task) -> Result<CallEvents, Status> {
        match self.tell(Word::GoesOn).await {
            Some(_) => self.inner.call(task).await,
            None => Err(Status::aborted("the task runs elsewhere")),
        }
    }

    /// Tells the store something, for as long as that takes. `None` when it changed nothing.
    async fn tell(&self, word: Word<'_>) -> Option<Task> {
        let (store, node) = (&self.inner.store, &self.inner.node);
        loop {
            let told = match word {
                Word::Asks(requests, state) => store.need_input(&self.id, node, requests, state).await,
                Word::GoesOn => store.claim(&self.id, node).await,
                Word::Ended(outcome) => store.finish(&self.id, node, outcome).await,
            };
            match told {
                Ok(task) => return task,
                Err(StoreError::Away(_)) if Instant::now() < self.until => sleep(RETRY).await,
                Err(error) => {
                    error!(task = %self.id, error = &error as &dyn std::error::Error, "a task could not be kept");
                    return None;
                }
            }
        }
    }
}

/// How a call failed, as the store keeps it.
pub(crate) fn failure(status: &Status) -> Outcome {
    Outcome::Error(TaskFailure::from(status).encode_to_vec())
}

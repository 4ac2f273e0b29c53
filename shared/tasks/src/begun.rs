//! A call that has begun and may yet become a task: its stream, until it does.

use std::{collections::VecDeque, sync::Arc};

use futures_util::{StreamExt, stream};
use switchyard_proto::v1::{CallEvent, CallToolRequest, TaskCreated, TaskTerms, call_event::Event};
use tokio::time::{Instant, sleep_until};
use tonic::Status;
use tracing::debug;

use crate::{CallEvents, GoOn, runner::Inner};

/// An event, or why there are no more.
pub(crate) type Happened = Result<CallEvent, Status>;

/// A call whose caller still waits for it.
pub(crate) struct Begun {
    pub inner: Arc<Inner>,
    pub call: CallToolRequest,
    pub terms: TaskTerms,
    pub go_on: GoOn,
    pub events: CallEvents,
    pub stage: Stage,
    /// What the caller hears next.
    pub ready: VecDeque<Happened>,
}

/// How far a call is.
pub(crate) enum Stage {
    /// It may still be refused.
    Offered,
    /// It runs, and becomes a task at this time.
    Running(Instant),
    /// It runs as any other call.
    Plain,
    /// It has become a task.
    Over,
}

impl Begun {
    /// The next thing that the caller hears. Dropping the future loses nothing that was done.
    pub async fn next(&mut self) -> Option<Happened> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            match self.stage {
                Stage::Offered => self.offered().await?,
                Stage::Running(due) => self.run(due).await?,
                Stage::Plain => return self.events.next().await,
                Stage::Over => return None,
            }
        }
    }

    async fn offered(&mut self) -> Option<()> {
        let first = self.events.next().await?;
        let is_accepted = matches!(&first, Ok(CallEvent { event: Some(Event::Accepted(_)) }));
        if is_accepted && self.terms.at_once {
            // Nobody is told that it was accepted before it is known that it can be a task.
            match self.become_task(&mut None).await {
                Ok(created) => self.ready.extend([first, Ok(created)]),
                Err(status) => self.ready.push_back(Err(status)),
            }
            self.stage = Stage::Over;
            return Some(());
        }
        self.stage = if is_accepted { Stage::Running(Instant::now() + self.inner.options.after) } else { Stage::Plain };
        self.ready.push_back(first);
        Some(())
    }

    async fn run(&mut self, due: Instant) -> Option<()> {
        let mut happened = tokio::select! {
            biased;
            () = self.go_on.said() => None,
            happened = self.events.next() => Some(happened?),
            () = sleep_until(due) => None,
        };
        if happened.is_some() && !self.go_on.is_said() {
            self.ready.extend(happened);
            return Some(());
        }
        match self.become_task(&mut happened).await {
            Ok(created) => {
                self.ready.push_back(Ok(created));
                self.stage = Stage::Over;
            }
            Err(status) => {
                debug!(tool = %self.call.name, reason = status.message(), "a call cannot become a task, and stays as it is");
                self.ready.extend(happened);
                self.stage = Stage::Plain;
            }
        }
        Some(())
    }

    /// Hands the call over to this node's tasks; `first` is what has happened to it already, and stays where it is when
    /// there can be no task.
    async fn become_task(&mut self, first: &mut Option<Happened>) -> Result<CallEvent, Status> {
        let (task, permit) = self.inner.create(&self.call).await?;
        let created = TaskCreated {
            task: task.id.0.clone(),
            created_ms: task.created_ms,
            ttl_ms: task.ttl_ms,
            poll_interval_ms: task.call.poll_interval_ms,
        };
        let events = std::mem::replace(&mut self.events, stream::empty().boxed());
        self.inner.go_on(task, &self.call, permit, events, first.take());
        Ok(CallEvent { event: Some(Event::Task(created)) })
    }
}

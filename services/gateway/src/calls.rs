//! Calls that run: their events in, what the client hears of them out, and the table of those that can be cancelled.
//!
//! A call ends when its result or failure has come, when its time is up, or when it is dropped, which cancels it down
//! to the tool. The table is bounded; an entry leaves it with its [`Ticket`].

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, future::BoxFuture};
use switchyard_bus::CallEvents;
use switchyard_mcp::{
    CacheScope, Id, Method, Refusal, Revision, RpcError, meta::is_loud_enough, notifications, results,
};
use switchyard_proto::v1::{Failure, call_event::Event, failure::Reason};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};
use tonic::{Code, Status};

use crate::{
    asking::{Asked, Asking, Waiting},
    failure::{Target, overloaded, refuse},
    tasks,
};

/// What a client hears of a call.
#[derive(Debug)]
pub enum Step {
    /// Its name, arguments and the client's abilities passed: from here on its failure is no HTTP status.
    Accepted,
    /// A notification that belongs to it: the JSON text of a whole message.
    Notice(String),
    /// A question to the client that the call waits for: the JSON text of a whole message.
    Question(String),
    /// Its end: the JSON text of the result, or why there is none.
    Done(Result<String, Refusal>),
}

/// What the client wants to know of a call, and how.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The client's revision.
    pub revision: Revision,
    /// The method called.
    pub method: Method,
    /// The name or URI that it is about.
    pub name: String,
    /// The JSON text of the token under which it wants to hear of progress.
    pub progress_token: Option<String>,
    /// The least severe log level that it wants to hear.
    pub log_level: Option<String>,
}

impl Listener {
    fn target(&self) -> Target<'_> {
        Target { method: self.method, name: &self.name, revision: self.revision }
    }
}

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Without a sign of life.
    pub idle: Duration,
    /// In all.
    pub total: Duration,
}

/// What a call is begun with: nothing at first, and in a later round the client's answers.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// The answers: the JSON text of an object, or empty.
    pub responses: Bytes,
    /// What the service wanted to know again.
    pub state: Bytes,
}

/// Begins a call at a node that offers it now.
pub type Begin = Box<dyn Fn(Round) -> BoxFuture<'static, Result<CallEvents, Status>> + Send + Sync>;

/// One call that a service has taken on.
pub struct Call {
    begin: Begin,
    /// The call is safe to repeat, and has not been yet.
    repeatable: bool,
    round: Round,
    /// A stream that is being opened.
    opening: Option<BoxFuture<'static, Result<CallEvents, Status>>>,
    events: CallEvents,
    listener: Listener,
    limits: Limits,
    idle_until: Instant,
    until: Instant,
    progress: f64,
    accepted: bool,
    asking: Asking,
    /// Questions that go before anything else.
    outbox: VecDeque<String>,
    waiting: Option<Waiting>,
}

impl Call {
    /// A call that `begin` begins now, with `round`.
    pub fn new(
        begin: Begin,
        repeatable: bool,
        round: Round,
        listener: Listener,
        limits: Limits,
        asking: Asking,
    ) -> Self {
        let now = Instant::now();
        Self {
            opening: Some(begin(round.clone())),
            begin,
            repeatable,
            round,
            events: Box::pin(futures_util::stream::empty()),
            listener,
            limits,
            idle_until: now + limits.idle.min(limits.total),
            until: now + limits.total,
            progress: f64::NEG_INFINITY,
            accepted: false,
            asking,
            outbox: VecDeque::new(),
            waiting: None,
        }
    }

    /// The next thing that the client is to hear. After [`Step::Done`] there is nothing more. Dropping the future
    /// loses nothing; dropping the call cancels it.
    pub async fn step(&mut self) -> Step {
        loop {
            if let Some(message) = self.outbox.pop_front() {
                return Step::Question(message);
            }
            let until = self.idle_until.min(self.until);
            let happened = timeout_at(until, self.happen()).await;
            let event = match happened {
                Err(_) => return Step::Done(Err(self.too_long())),
                Ok(Ok(event)) => event,
                Ok(Err(status)) => match self.repeat(status) {
                    Ok(()) => continue,
                    Err(status) => return Step::Done(self.rejected(&status).ok_or_else(|| self.failed(&status))),
                },
            };
            if let Some(step) = event.and_then(|event| self.hear(event)) {
                return step;
            }
        }
    }

    /// A question that was taken, but not sent, is the next step again.
    pub fn put_back(&mut self, question: String) {
        self.outbox.push_front(question);
    }

    /// Waits for whatever comes next: the client's answers, the stream's opening, or an event of it.
    async fn happen(&mut self) -> Result<Option<Event>, Status> {
        if let Some(waiting) = &mut self.waiting {
            waiting.answered().await;
            let waiting = self.waiting.take().expect("it is there");
            self.round = waiting.into_round();
            self.opening = Some((self.begin)(self.round.clone()));
        }
        if let Some(opening) = &mut self.opening {
            let opened = opening.await;
            self.opening = None;
            self.events = opened?;
        }
        match self.events.next().await {
            Some(event) => Ok(event?.event),
            None => Err(Status::unknown("the stream ended before a result")),
        }
    }

    fn hear(&mut self, event: Event) -> Option<Step> {
        let revision = self.listener.revision;
        self.idle_until = Instant::now() + self.limits.idle;
        match event {
            Event::Accepted(_) if self.accepted => None,
            Event::Accepted(_) => {
                self.accepted = true;
                Some(Step::Accepted)
            }
            Event::Progress(progress) => {
                let token = self.listener.progress_token.as_ref()?;
                let grows = progress.progress > self.progress;
                self.progress = self.progress.max(progress.progress);
                grows.then(|| Step::Notice(notifications::progress(token, &progress, revision)))
            }
            Event::Log(log) => {
                let wanted = self.listener.log_level.as_ref()?;
                is_loud_enough(&log.level, wanted).then(|| Step::Notice(notifications::message(&log)))
            }
            Event::Tool(result) => Some(Step::Done(Ok(results::tool(&result, revision)))),
            Event::Resource(result) => Some(Step::Done(Ok(results::resource(&result, self.cache_scope(), revision)))),
            Event::Prompt(result) => Some(Step::Done(Ok(results::prompt(&result, revision)))),
            Event::Task(task) => Some(Step::Done(tasks::created(&task, revision))),
            Event::NeedInput(need) => match self.asking.ask(&need, revision) {
                Ok(Asked::Result(result)) => Some(Step::Done(Ok(result))),
                Ok(Asked::Questions(messages, waiting)) => {
                    self.outbox.extend(messages);
                    self.waiting = Some(waiting);
                    None
                }
                Err(error) => Some(Step::Done(Err(refuse(error, revision)))),
            },
        }
    }

    /// Who may keep the result: what a client's own answers went into is for that client alone.
    fn cache_scope(&self) -> CacheScope {
        let is_first = self.round.responses.is_empty() && self.round.state.is_empty();
        if is_first { CacheScope::Public } else { CacheScope::Private }
    }

    /// Begins the call once more if that is safe and its node was lost, else gives the status back.
    fn repeat(&mut self, status: Status) -> Result<(), Status> {
        if !self.repeatable || !is_lost(&status) {
            return Err(status);
        }
        tracing::info!(name = %self.listener.name, reason = status.message(), "repeats a call whose node was lost");
        self.repeatable = false;
        self.opening = Some((self.begin)(self.round.clone()));
        Ok(())
    }

    fn failed(&self, status: &Status) -> Refusal {
        self.listener.target().failed(status, self.accepted)
    }

    /// The result that stands for arguments which a tool's schema rejected, where the revision has it so.
    fn rejected(&self, status: &Status) -> Option<String> {
        let rejected = status.code() == Code::InvalidArgument
            && matches!(Failure::of(status), Some(Reason::Violations(_)))
            && self.listener.method == Method::ToolsCall;
        let as_result = rejected && self.listener.revision.rejects_arguments_as_result();
        as_result.then(|| results::tool_failure(status.message(), self.listener.revision))
    }

    fn too_long(&self) -> Refusal {
        let limit = if Instant::now() >= self.until { self.limits.total } else { self.limits.idle };
        let message = format!("`{}` took longer than its limit of {} s", self.listener.name, limit.as_secs_f64());
        refuse(RpcError::internal(message), self.listener.revision)
    }
}

/// Whether a call failed because its node was lost, rather than by its service's own word.
pub fn is_lost(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Cancelled)
}

/// Names a call of a session or connection.
type Key = (String, Id);

/// The calls that run through this gateway.
pub struct CallTable {
    by_id: Mutex<HashMap<Key, oneshot::Sender<()>>>,
    count: AtomicUsize,
    limit: usize,
}

/// A call's place in the table; dropping it ends the entry.
pub struct Ticket {
    table: Arc<CallTable>,
    key: Option<Key>,
}

/// Resolves when the call was cancelled by name, and never where it cannot be.
pub type Cancelled = oneshot::Receiver<()>;

impl CallTable {
    /// An empty table for at most `limit` calls.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { by_id: Mutex::default(), count: AtomicUsize::new(0), limit })
    }

    /// Enters a call that only its own future can cancel.
    ///
    /// # Errors
    /// 503 while the table is full.
    pub fn enter(self: &Arc<Self>) -> Result<Ticket, Refusal> {
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.limit {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return Err(overloaded("too many calls run already; try again shortly"));
        }
        Ok(Ticket { table: self.clone(), key: None })
    }

    /// Enters a call that its session, or connection, can cancel by the request's id.
    ///
    /// # Errors
    /// 503 while the table is full, -32600 when a call of that id runs already.
    pub fn enter_named(self: &Arc<Self>, session: &str, id: &Id) -> Result<(Ticket, Cancelled), Refusal> {
        let mut ticket = self.enter()?;
        let key = (session.to_owned(), id.clone());
        let (cancel, cancelled) = oneshot::channel();
        let mut by_id = self.by_id.lock().expect("nothing panics while holding it");
        if by_id.contains_key(&key) {
            drop(by_id);
            return Err(Refusal::new(400, RpcError::invalid_request(format!("a request with id {id} runs already"))));
        }
        by_id.insert(key.clone(), cancel);
        ticket.key = Some(key);
        Ok((ticket, cancelled))
    }

    /// Cancels a call. `false` when there is none of that id.
    pub fn cancel(&self, session: &str, id: &Id) -> bool {
        let key = (session.to_owned(), id.clone());
        let cancel = self.by_id.lock().expect("nothing panics while holding it").remove(&key);
        cancel.is_some_and(|cancel| cancel.send(()).is_ok())
    }

    /// The sessions, and connections, whose calls run; one may be named more than once.
    pub fn sessions(&self) -> Vec<String> {
        let by_id = self.by_id.lock().expect("nothing panics while holding it");
        by_id.keys().map(|(session, _)| session.clone()).collect()
    }

    /// How many calls run.
    pub fn running(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.table.count.fetch_sub(1, Ordering::Relaxed);
        if let Some(key) = self.key.take() {
            self.table.by_id.lock().expect("nothing panics while holding it").remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn id(json: &str) -> Id {
        Id::from_json(json).unwrap()
    }

    #[test]
    fn equal_ids_of_different_sessions_and_types_do_not_mix() {
        let table = CallTable::new(10);
        let (_number, mut number) = table.enter_named("a", &id("1")).unwrap();
        let (_text, mut text) = table.enter_named("a", &id("\"1\"")).unwrap();
        let (_other, mut other) = table.enter_named("b", &id("1")).unwrap();

        assert!(table.cancel("a", &id("1")));

        assert!(number.try_recv().is_ok());
        assert!(text.try_recv().is_err());
        assert!(other.try_recv().is_err());
        assert!(!table.cancel("a", &id("1")), "it is cancelled already");
    }

    #[test]
    fn a_full_table_refuses_and_an_ended_call_makes_room() {
        let table = CallTable::new(1);
        let first = table.enter().unwrap();

        assert_eq!(table.enter().err().unwrap().status, 503);
        drop(first);
        assert!(table.enter().is_ok());
    }

    #[test]
    fn an_id_that_is_in_use_is_refused_and_free_again_afterwards() {
        let table = CallTable::new(10);
        let running = table.enter_named("a", &id("1")).unwrap();

        assert_eq!(table.enter_named("a", &id("1")).err().unwrap().error.code, RpcError::INVALID_REQUEST);
        drop(running);
        assert!(table.enter_named("a", &id("1")).is_ok());
        assert_eq!(table.running(), 0);
    }
}

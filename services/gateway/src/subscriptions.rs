//! Fan-out of facts to the streams of this gateway.
//!
//! One actor holds the node's only event stream, and a table of who wants to hear of what. A fact that nobody here
//! asked for is dropped at once. A slow client delays no other and loses nothing: news only says "look again", so news
//! of one topic merges until the client takes it. An event stream that ends is opened again where it stood.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, MessageResult, StreamHandler, WrapFuture};
use switchyard_bus::{Bus, Discovery};
use switchyard_mcp::notifications::Filter;
use switchyard_proto::v1::{
    Event, Fact, ListKind, SubscribeReply, SubscribeRequest, fact::Kind, session_changed::Change,
    subscribe_reply::Reply,
};
use switchyard_state::{Offset, Session, SessionId, SessionStore};
use tonic::Status;
use tracing::{debug, warn};

use crate::{
    audience::Audience,
    ledger::Ledger,
    pending::{Cause, Pending, Topic},
};

/// How long to wait before an event stream that ended is opened again.
const PAUSE: Duration = Duration::from_millis(200);

/// How often a task that somebody follows is looked at unasked: its node may have died without a word.
const LOOK: Duration = Duration::from_secs(3);

/// The lists that can change.
const LISTS: [ListKind; 3] = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];

/// The actor that hears every fact.
pub struct Fanout {
    bus: Bus,
    discovery: Discovery,
    sessions: Arc<dyn SessionStore>,
    session_ttl: Duration,
    /// Whose calls run.
    ledger: Ledger,
    /// The last offset heard, and the epoch that it is of; empty before the first position.
    position: Offset,
    epoch: String,
    audiences: HashMap<SessionId, Audience>,
    listens: HashMap<u64, Listen>,
    /// Which listens hear of a resource.
    listens_by_uri: HashMap<String, HashSet<u64>>,
    /// Which listens hear of a task.
    listens_by_task: HashMap<String, HashSet<u64>>,
    next_listen: u64,
}

struct Listen {
    filter: Filter,
    pending: Arc<Pending>,
}

impl Fanout {
    /// An actor that has heard nothing yet.
    pub fn new(
        bus: Bus,
        discovery: Discovery,
        sessions: Arc<dyn SessionStore>,
        session_ttl: Duration,
        ledger: Ledger,
    ) -> Self {
        Self {
            bus,
            discovery,
            sessions,
            session_ttl,
            ledger,
            position: Offset(0),
            epoch: String::new(),
            audiences: HashMap::new(),
            listens: HashMap::new(),
            listens_by_uri: HashMap::new(),
            listens_by_task: HashMap::new(),
            next_listen: 0,
        }
    }

    /// Opens the event stream where it stood.
    fn subscribe(&self, ctx: &mut Context<Self>) {
        let events = self.bus.events.clone();
        let request = SubscribeRequest { after: self.position.0, epoch: self.epoch.clone() };
        let opening = async move { events.subscribe(request).await };
        ctx.spawn(opening.into_actor(self).map(|opened, _, ctx| match opened {
            Ok(facts) => {
                ctx.add_stream(facts);
            }
            Err(status) => {
                debug!(reason = status.message(), "could not open the event stream");
                ctx.run_later(PAUSE, |actor, ctx| actor.subscribe(ctx));
            }
        }));
    }

    /// Facts may have passed unheard: everybody looks again, and sessions that are gone end.
    fn lost_its_place(&mut self, ctx: &mut Context<Self>) {
        warn!(epoch = %self.epoch, "the place in the event log was lost; everything counts as changed");
        let lists = LISTS.map(Topic::List);
        for audience in self.audiences.values() {
            audience.hear_everything(&lists, self.position);
        }
        for listen in self.listens.values() {
            let wanted = lists.iter().filter(|topic| listen.filter_wants(topic));
            wanted.for_each(|topic| listen.pending.mark(topic.clone(), self.position, ""));
            for uri in &listen.filter.uris {
                listen.pending.mark(Topic::Resource(uri.clone()), self.position, "");
            }
        }
        self.look_at_tasks();
        let discovery = self.discovery.clone();
        ctx.spawn(async move { _ = discovery.refresh().await }.into_actor(self));
        self.touch(ctx);
    }

    /// Has every task looked at that somebody follows.
    fn look_at_tasks(&self) {
        self.listens_by_task.keys().for_each(|task| self.task_changed(task, self.position, ""));
    }

    fn task_changed(&self, task: &str, at: Offset, cause: &str) {
        for listen in self.listens_by_task.get(task).into_iter().flatten() {
            if let Some(listen) = self.listens.get(listen) {
                listen.pending.mark(Topic::Task(task.to_owned()), at, cause);
            }
        }
    }

    /// Keeps the sessions of open streams and running calls alive, and ends the streams of those that are gone.
    fn touch(&self, ctx: &mut Context<Self>) {
        let mut ids: HashSet<SessionId> = self.ledger.calls.sessions().into_iter().map(SessionId).collect();
        ids.extend(self.audiences.keys().cloned());
        let ids: Vec<_> = ids.into_iter().collect();
        if ids.is_empty() {
            return;
        }
        let (sessions, ttl) = (self.sessions.clone(), self.session_ttl);
        let touching = async move { (sessions.touch(&ids, ttl).await, ids) };
        ctx.spawn(touching.into_actor(self).map(|(touched, asked), actor, _| {
            // While the store is away nobody knows whether a session is gone.
            let Ok(alive) = touched else { return };
            let alive: HashSet<_> = alive.into_iter().collect();
            for id in asked.iter().filter(|id| !alive.contains(id)) {
                actor.end(id);
            }
        }));
    }

    fn end(&mut self, session: &SessionId) {
        if let Some(audience) = self.audiences.get(session) {
            audience.end();
        }
    }

    fn hear(&mut self, at: Offset, fact: Fact, ctx: &mut Context<Self>) {
        let cause = fact.traceparent;
        match fact.kind {
            Some(Kind::ResourceUpdated(updated)) => self.resource_updated(updated.uri, at, &cause),
            Some(Kind::ListChanged(changed)) => self.list_changed(changed.list(), at, &cause),
            Some(Kind::FloorTaken(floor)) => {
                if let Some(audience) = self.audiences.get_mut(&SessionId(floor.session)) {
                    match floor.stream.as_str() {
                        "" => audience.floor_freed(),
                        stream => audience.floor_taken(stream, at),
                    }
                }
            }
            Some(Kind::SessionEnded(ended)) => self.end(&SessionId(ended.session)),
            Some(Kind::SessionChanged(changed)) => {
                if let (Some(audience), Some(change)) =
                    (self.audiences.get_mut(&SessionId(changed.session)), changed.change)
                {
                    match change {
                        Change::Ready(_) => audience.ready(),
                        Change::Subscribed(uri) => audience.subscribed(uri, at),
                        Change::Unsubscribed(uri) => audience.unsubscribed(uri, at),
                    }
                }
            }
            Some(Kind::TaskChanged(changed)) => self.task_changed(&changed.task, at, &cause),
            Some(Kind::NodesChanged(_)) => {
                let discovery = self.discovery.clone();
                ctx.spawn(async move { _ = discovery.refresh().await }.into_actor(self));
            }
            None => {}
        }
    }

    fn resource_updated(&self, uri: String, at: Offset, cause: &str) {
        for listen in self.listens_by_uri.get(&uri).into_iter().flatten() {
            if let Some(listen) = self.listens.get(listen) {
                listen.pending.mark(Topic::Resource(uri.clone()), at, cause);
            }
        }
        let topic = Topic::Resource(uri);
        self.audiences.values().for_each(|audience| audience.hear(&topic, at, cause));
    }

    fn list_changed(&self, list: ListKind, at: Offset, cause: &str) {
        let topic = Topic::List(list);
        for listen in self.listens.values().filter(|listen| listen.filter_wants(&topic)) {
            listen.pending.mark(topic.clone(), at, cause);
        }
        self.audiences.values().for_each(|audience| audience.hear(&topic, at, cause));
    }

    fn forget_listen(&mut self, number: u64) {
        let Some(listen) = self.listens.remove(&number) else { return };
        forget(&mut self.listens_by_uri, &listen.filter.uris, number);
        forget(&mut self.listens_by_task, &listen.filter.tasks, number);
    }
}

fn forget(table: &mut HashMap<String, HashSet<u64>>, keys: &[String], number: u64) {
    for key in keys {
        if let Some(numbers) = table.get_mut(key) {
            numbers.remove(&number);
            if numbers.is_empty() {
                table.remove(key);
            }
        }
    }
}

impl Listen {
    fn filter_wants(&self, topic: &Topic) -> bool {
        match topic {
            Topic::List(ListKind::Tools) => self.filter.tools,
            Topic::List(ListKind::Prompts) => self.filter.prompts,
            Topic::List(ListKind::Resources) => self.filter.resources,
            Topic::List(ListKind::Unspecified) | Topic::Resource(_) | Topic::Task(_) => false,
        }
    }
}

impl Actor for Fanout {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.subscribe(ctx);
        ctx.run_interval(self.session_ttl / 4, |actor, ctx| actor.touch(ctx));
        ctx.run_interval(LOOK, |actor, _| actor.look_at_tasks());
    }
}

impl StreamHandler<Result<SubscribeReply, Status>> for Fanout {
    fn handle(&mut self, reply: Result<SubscribeReply, Status>, ctx: &mut Self::Context) {
        match reply.map(|reply| reply.reply) {
            Ok(Some(Reply::Position(position))) => {
                let begins = self.epoch.is_empty();
                self.position = Offset(position.offset);
                self.epoch = position.epoch;
                if position.lost || (begins && !self.audiences.is_empty()) {
                    self.lost_its_place(ctx);
                }
            }
            Ok(Some(Reply::Event(Event { offset, fact }))) => {
                if let Some(fact) = fact {
                    self.hear(Offset(offset), fact, ctx);
                }
                self.position = Offset(offset);
            }
            Ok(None) => {}
            Err(status) => debug!(reason = status.message(), "the event stream failed"),
        }
    }

    /// The stream ended: its node is gone, or going.
    fn finished(&mut self, ctx: &mut Self::Context) {
        ctx.run_later(PAUSE, |actor, ctx| actor.subscribe(ctx));
    }
}

/// How far the actor has heard. Answered with the offset and its epoch, which is empty before the first position.
#[derive(Message)]
#[rtype(result = "(Offset, String)")]
pub struct HowFar;

impl Handler<HowFar> for Fanout {
    type Result = MessageResult<HowFar>;

    fn handle(&mut self, _: HowFar, _: &mut Self::Context) -> Self::Result {
        MessageResult((self.position, self.epoch.clone()))
    }
}

/// A client listens. Answered with the number to leave by.
#[derive(Message)]
#[rtype(result = "u64")]
pub struct Join {
    /// What it wants to hear.
    pub filter: Filter,
    /// Where it takes it.
    pub pending: Arc<Pending>,
}

impl Handler<Join> for Fanout {
    type Result = MessageResult<Join>;

    fn handle(&mut self, Join { filter, pending }: Join, _: &mut Self::Context) -> Self::Result {
        self.next_listen += 1;
        let number = self.next_listen;
        for uri in &filter.uris {
            self.listens_by_uri.entry(uri.clone()).or_default().insert(number);
        }
        for task in &filter.tasks {
            self.listens_by_task.entry(task.clone()).or_default().insert(number);
            // It may have changed before anybody listened, so where it stands is told first.
            pending.mark(Topic::Task(task.clone()), self.position, "");
        }
        pending.open();
        self.listens.insert(number, Listen { filter, pending });
        MessageResult(number)
    }
}

/// A client listens no more.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Leave(pub u64);

impl Handler<Leave> for Fanout {
    type Result = ();

    fn handle(&mut self, Leave(number): Leave, _: &mut Self::Context) {
        self.forget_listen(number);
    }
}

/// A session's stream has come; changes of the session are noted from now on.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Attach {
    /// The session.
    pub session: SessionId,
    /// The stream.
    pub stream: String,
    /// Where it takes its news.
    pub pending: Arc<Pending>,
}

impl Handler<Attach> for Fanout {
    type Result = ();

    fn handle(&mut self, Attach { session, stream, pending }: Attach, _: &mut Self::Context) {
        self.audiences.entry(session).or_default().attach(stream, pending);
    }
}

/// A session's stream knows its place. Answered with the offset up to which it has to catch up by itself; it is
/// opened when it has.
#[derive(Message)]
#[rtype(result = "Offset")]
pub struct Place {
    /// The session as the store has it, read after [`Attach`].
    pub session: Box<Session>,
    /// The stream.
    pub stream: String,
    /// It carries what comes after this offset.
    pub from: Offset,
    /// It took the floor at this one.
    pub at: Offset,
}

impl Handler<Place> for Fanout {
    type Result = MessageResult<Place>;

    fn handle(&mut self, Place { session, stream, from, at }: Place, _: &mut Self::Context) -> Self::Result {
        if let Some(audience) = self.audiences.get_mut(&session.id) {
            audience.open(&stream, &session, from, at);
        }
        MessageResult(self.position)
    }
}

/// A stream has caught up with what it missed: facts that it found in the log.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CaughtUp {
    /// The session.
    pub session: SessionId,
    /// The stream.
    pub stream: String,
    /// What an earlier stream, which this one goes on for, had left to send, in the log's order.
    pub repeated: Vec<(Offset, Fact)>,
    /// What it found after the offset from which it carries everything, in the log's order.
    pub facts: Vec<(Offset, Fact)>,
    /// The log does not reach back that far any more, so everything counts as changed.
    pub lost: bool,
}

impl Handler<CaughtUp> for Fanout {
    type Result = ();

    fn handle(&mut self, CaughtUp { session, stream, repeated, facts, lost }: CaughtUp, _: &mut Self::Context) {
        let Some(audience) = self.audiences.get(&session) else { return };
        for (at, topic, cause) in repeated.into_iter().filter_map(news) {
            audience.repeat(&stream, &topic, at, &cause);
        }
        for (at, topic, cause) in facts.into_iter().filter_map(news) {
            audience.hear(&topic, at, &cause);
        }
        if lost {
            audience.repeat_everything(&stream, &LISTS.map(Topic::List), self.position);
        }
        audience.caught_up(&stream);
    }
}

fn news((at, fact): (Offset, Fact)) -> Option<(Offset, Topic, Cause)> {
    let topic = match fact.kind? {
        Kind::ResourceUpdated(updated) => Topic::Resource(updated.uri),
        Kind::ListChanged(changed) => Topic::List(changed.list()),
        _ => return None,
    };
    Some((at, topic, fact.traceparent))
}

/// A session's stream is gone. Answered with the offset up to which the session's facts have been handed to it, when
/// it had the floor.
#[derive(Message)]
#[rtype(result = "Option<Offset>")]
pub struct Detach {
    /// The session.
    pub session: SessionId,
    /// The stream.
    pub stream: String,
    /// Its news.
    pub pending: Arc<Pending>,
}

impl Handler<Detach> for Fanout {
    type Result = MessageResult<Detach>;

    fn handle(&mut self, Detach { session, stream, pending }: Detach, _: &mut Self::Context) -> Self::Result {
        let Some(audience) = self.audiences.get_mut(&session) else { return MessageResult(None) };
        let had_the_floor = audience.detach(&stream);
        if audience.is_empty() {
            self.audiences.remove(&session);
        }
        MessageResult(had_the_floor.then(|| pending.behind().unwrap_or(self.position)))
    }
}

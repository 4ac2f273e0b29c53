//! An open stream of notifications: a session's standing stream, or a stateless client's `subscriptions/listen`.
//!
//! One actor a stream. It takes the stream's news when the client has room for it, and lives as long as the socket:
//! when the client hangs up it stops, and tells the fan-out. When the gateway drains, a listen stream gets its result.

use std::sync::Arc;

use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::Bytes;
use prost::Message as _;
use switchyard_mcp::{Id, Refusal, Revision, RpcError, jsonrpc, notifications, notifications::Filter, results};
use switchyard_proto::v1::{Fact, FloorTaken, fact::Kind};
use switchyard_state::{FloorChange, Offset, SessionId};
use switchyard_telemetry::trace;
use tokio::sync::{mpsc, watch};
use tracing::{debug, info_span, warn};

use crate::{
    StreamTicket,
    dispatch::Dispatch,
    facts, failure,
    ledger::OpenStream,
    letters,
    pending::{News, Pending, Topic},
    subscriptions::{Attach, CaughtUp, Detach, Join, Leave, Place},
};

/// How many frames wait for a slow client; more news merges in [`Pending`] meanwhile.
const FRAMES: usize = 4;

/// How many entries of the log are read at a time while a stream catches up.
const CATCH_UP: usize = 1000;

/// What a frame of a transport looks like: from the JSON text of a message to bytes on the wire.
pub type Framing = fn(&str) -> Bytes;

/// One open stream of notifications.
pub struct Connection {
    dispatch: Dispatch,
    kind: StreamKind,
    pending: Arc<Pending>,
    frames: mpsc::Sender<Bytes>,
    framing: Framing,
    /// The stream's place among those that may be open.
    _ticket: StreamTicket,
    /// A standing stream's entry in the ledger; gone before anybody else may be told that the stream ended.
    open: Option<OpenStream>,
}

#[derive(Clone)]
enum StreamKind {
    Listen { number: u64, id: Id, revision: Revision },
    Standing { session: SessionId, stream: String },
}

/// Opens a `subscriptions/listen` stream; its first frame is the acknowledgement.
///
/// # Errors
/// 503 while too many streams are open.
pub async fn listen(
    dispatch: &Dispatch,
    id: &Id,
    filter: Filter,
    revision: Revision,
    framing: Framing,
) -> Result<mpsc::Receiver<Bytes>, Refusal> {
    let ticket = dispatch.gateway.stream_ticket()?;
    let pending = Arc::new(Pending::default());
    let acknowledged = notifications::acknowledged(id.as_json(), &filter);
    let joined = dispatch.gateway.fanout.send(Join { filter, pending: pending.clone() }).await;
    let number = joined.map_err(|_| failure::overloaded("this gateway is about to stop"))?;

    let (frames, body) = mpsc::channel(FRAMES);
    frames.try_send(framing(&acknowledged)).expect("the channel is new, and so has room");
    let kind = StreamKind::Listen { number, id: id.clone(), revision };
    Connection { dispatch: dispatch.clone(), kind, pending, frames, framing, _ticket: ticket, open: None }.start();
    Ok(body)
}

/// Opens a session's standing stream, which takes the floor.
///
/// # Errors
/// 404 when the session is gone, 503 while the store is away or too many streams are open.
pub async fn stand(
    dispatch: &Dispatch,
    session: &SessionId,
    framing: Framing,
) -> Result<mpsc::Receiver<Bytes>, Refusal> {
    let ticket = dispatch.gateway.stream_ticket()?;
    let pending = Arc::new(Pending::default());
    let stream = format!("{}.{}", dispatch.gateway.node, uuid::Uuid::new_v4().simple());
    let (frames, body) = mpsc::channel(FRAMES);
    let kind = StreamKind::Standing { session: session.clone(), stream: stream.clone() };
    let open = dispatch.gateway.ledger.open(&stream);
    let attach = Attach { session: session.clone(), stream: stream.clone(), pending: pending.clone() };
    let attached = dispatch.gateway.fanout.send(attach).await;
    attached.map_err(|_| failure::overloaded("this gateway is about to stop"))?;

    // From here on the actor's end takes the stream out again, whatever happens.
    let connection = Connection {
        dispatch: dispatch.clone(),
        kind,
        pending: pending.clone(),
        frames,
        framing,
        _ticket: ticket,
        open: Some(open),
    };
    connection.start();
    find_place(dispatch, session, &stream, pending).await?;
    Ok(body)
}

/// Takes the floor, and begins where the session's facts have not left yet.
async fn find_place(
    dispatch: &Dispatch,
    session: &SessionId,
    stream: &str,
    pending: Arc<Pending>,
) -> Result<(), Refusal> {
    let gateway = &dispatch.gateway;
    let store = |error| failure::store(&error);
    let entry = facts::floor_taken(session, stream);
    let change = gateway.sessions.take_floor(session, stream, &gateway.node, &entry).await.map_err(store)?;
    let change = change.ok_or_else(crate::sessions::gone)?;
    let left = change.left;
    let placed = catch_up(dispatch, session, stream, pending, change).await;
    if placed.is_err() {
        // Whoever comes next begins where this stream would have. A store that is away forgets it by itself.
        _ = gateway.sessions.release_floor(session, stream, left).await;
    }
    placed
}

/// Hands the stream what the session has not heard before it.
async fn catch_up(
    dispatch: &Dispatch,
    session: &SessionId,
    stream: &str,
    pending: Arc<Pending>,
    change: FloorChange,
) -> Result<(), Refusal> {
    let gateway = &dispatch.gateway;
    let store = |error| failure::store(&error);
    let holder_sends_the_rest = match &change.before {
        None => false,
        Some(holder) if holder.node == gateway.node => gateway.ledger.is_open(&holder.stream),
        Some(holder) => letters::is_open_elsewhere(&dispatch.bus, &holder.node, &holder.stream).await,
    };
    // A holder that is gone has sent what nobody knows: repeat rather than lose.
    let from = if holder_sends_the_rest { change.at } else { change.left };

    let record = gateway.sessions.load(session, gateway.options.session_ttl).await.map_err(store)?;
    let record = record.ok_or_else(crate::sessions::gone)?;
    let epoch = record.epoch.clone();
    let place = Place { session: Box::new(record), stream: stream.to_owned(), from };
    let up_to = gateway.fanout.send(place).await.map_err(|_| failure::overloaded("this gateway is about to stop"))?;

    let mut found = Vec::new();
    let mut after = from;
    while after < up_to {
        let batch = gateway.log.read(&epoch, after, CATCH_UP, std::time::Duration::ZERO).await.map_err(store)?;
        if batch.lost || batch.entries.is_empty() {
            break;
        }
        after = batch.resume;
        let facts = batch.entries.into_iter().filter(|entry| entry.offset <= up_to);
        found.extend(facts.filter_map(|entry| Some((entry.offset, Fact::decode(entry.bytes.as_slice()).ok()?))));
    }
    let caught_up = CaughtUp { session: session.clone(), pending, facts: found };
    gateway.fanout.send(caught_up).await.map_err(|_| failure::overloaded("this gateway is about to stop"))
}

impl Connection {
    /// Moves news to the client until either is gone, or the gateway drains.
    async fn carry(
        kind: StreamKind,
        pending: Arc<Pending>,
        frames: mpsc::Sender<Bytes>,
        framing: Framing,
        mut draining: watch::Receiver<bool>,
    ) {
        loop {
            let room = tokio::select! {
                () = frames.closed() => return,
                _ = draining.wait_for(|draining| *draining) => break,
                room = frames.reserve() => room,
            };
            let Ok(room) = room else { return };
            let news = tokio::select! {
                () = frames.closed() => return,
                _ = draining.wait_for(|draining| *draining) => break,
                news = pending.next() => news,
            };
            match news {
                News::Changed(topic, at, cause) => room.send(framing(&kind.notification(&topic, at, &cause))),
                News::Ended => return,
            }
        }
        if let Some(last) = kind.last_word() {
            // The client may be gone already, and then nobody misses it.
            _ = frames.try_send(framing(&last));
        }
    }

    /// Tells the fan-out that the stream is gone, and leaves the floor to whoever is still there.
    async fn take_leave(dispatch: Dispatch, kind: StreamKind, behind: Option<Offset>) {
        let gateway = &dispatch.gateway;
        let (session, stream) = match kind {
            StreamKind::Listen { number, .. } => {
                gateway.fanout.do_send(Leave(number));
                return;
            }
            StreamKind::Standing { session, stream } => (session, stream),
        };
        let detach = Detach { session: session.clone(), stream: stream.clone(), behind };
        let Ok(Some(left)) = gateway.fanout.send(detach).await else { return };
        match gateway.sessions.release_floor(&session, &stream, left).await {
            Ok(true) => {
                let freed = FloorTaken { session: session.0, stream: String::new() };
                let fact = Fact { kind: Some(Kind::FloorTaken(freed)), ..Fact::default() };
                if let Err(status) = dispatch.bus.events.publish(vec![fact]).await {
                    debug!(reason = status.message(), "could not say that the floor is free");
                }
            }
            Ok(false) => {}
            Err(error) => warn!(error = &error as &dyn std::error::Error, "could not give the floor back"),
        }
    }
}

impl StreamKind {
    fn notification(&self, topic: &Topic, at: Offset, cause: &str) -> String {
        let subscription = match self {
            Self::Listen { id, .. } => Some(id.as_json()),
            Self::Standing { .. } => None,
        };
        let (method, message) = match topic {
            Topic::List(list) => ("list_changed", notifications::list_changed(*list, subscription)),
            Topic::Resource(uri) => {
                ("notifications/resources/updated", notifications::resource_updated(uri, subscription))
            }
        };
        let span = info_span!(
            target: trace::TARGET,
            "mcp.notify",
            otel.kind = "producer",
            mcp.method.name = method,
            mcp.session.id = tracing::field::Empty,
            switchyard.offset = at.0,
        );
        if !span.is_disabled() {
            trace::continue_from(&span, cause, "");
            if let Self::Standing { session, .. } = self {
                span.record("mcp.session.id", session.0.as_str());
            }
        }
        message
    }

    /// What the client hears when the server ends the stream.
    fn last_word(&self) -> Option<String> {
        match self {
            Self::Listen { id, revision, .. } => {
                Some(jsonrpc::success(id, &results::listen_ended(id.as_json(), *revision)))
            }
            Self::Standing { .. } => None,
        }
    }
}

impl Actor for Connection {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (kind, pending, frames) = (self.kind.clone(), self.pending.clone(), self.frames.clone());
        let carrying = Self::carry(kind, pending, frames, self.framing, self.dispatch.gateway.draining());
        ctx.spawn(carrying.into_actor(self).map(|(), _, ctx| ctx.stop()));
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.open = None;
        let leaving = Self::take_leave(self.dispatch.clone(), self.kind.clone(), self.pending.behind());
        // Owned by nobody: it outlives the stream by two bounded requests, and then ends by itself.
        actix_rt::spawn(leaving);
    }
}

/// Refuses to go on where a stream broke off: nothing here numbers its events yet.
pub fn cannot_resume() -> Refusal {
    Refusal::new(
        400,
        RpcError::invalid_request("there is no event of that `Last-Event-ID`; open the stream without it"),
    )
}

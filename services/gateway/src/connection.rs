//! An open stream of notifications: a session's standing stream, or a stateless client's `subscriptions/listen`.
//!
//! One actor a stream. It takes the stream's news when the client has room for it, and lives as long as the socket:
//! when the client hangs up it stops, and tells the fan-out. When the gateway drains, a listen stream gets its result.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::Bytes;
use switchyard_mcp::{Id, Refusal, Revision, jsonrpc, notifications, notifications::Filter, results};
use switchyard_state::{Offset, SessionId};
use switchyard_telemetry::trace;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{info_span, warn};

use crate::{
    dispatch::Dispatch,
    event_id::{EventId, Passed},
    failure,
    floor::Standing,
    ledger::OpenStream,
    pending::{News, Pending, Topic},
    places,
    sessions::Live,
    sse,
    subscriptions::{Join, Leave},
    tasks::Followed,
};

/// How many frames wait for a slow client; more news merges in [`Pending`] meanwhile.
const FRAMES: usize = 4;

/// What a frame of a transport looks like: from the JSON text of a message to bytes on the wire.
pub type Framing = fn(&str) -> Bytes;

/// One open stream of notifications.
///
/// The actor enters the stream wherever it has to be known and takes it out again when it ends, whatever became of the
/// request that opened it.
pub struct Connection {
    dispatch: Dispatch,
    kind: StreamKind,
    pending: Arc<Pending>,
    frames: mpsc::Sender<Bytes>,
    framing: Framing,
    /// What the client wants to hear on a listen stream; taken when it joins.
    filter: Option<Filter>,
    /// Where an earlier stream broke off, which this one goes on for; taken when it joins.
    passed: Option<Passed>,
    /// Told whether the stream could be opened; taken when that is known.
    opened: Option<oneshot::Sender<Result<(), Refusal>>>,
    /// The number by which a listen stream leaves, once it has joined.
    number: Arc<OnceLock<u64>>,
    /// The stream's place among those that may be open.
    _ticket: places::Place,
    /// A standing stream's entry in the ledger; gone before anybody else may be told that the stream ended.
    open: Option<OpenStream>,
}

#[derive(Clone)]
enum StreamKind {
    Listen {
        id: Id,
        revision: Revision,
    },
    Standing {
        standing: Standing,
        /// Its client can go on after an event whose name it knows.
        is_resumable: bool,
        /// How long its client should wait before it comes back, where its revision has a way to say that.
        retry: Option<Duration>,
    },
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
    let ticket = dispatch.gateway.stream("listen")?;
    let (frames, body) = mpsc::channel(FRAMES);
    frames
        .try_send(framing(&notifications::acknowledged(id.as_json(), &filter)))
        .expect("the channel is new, and so has room");
    let kind = StreamKind::Listen { id: id.clone(), revision };
    let stream = Opening { kind, filter: Some(filter), passed: None, frames, framing, ticket };
    Connection::open(dispatch, stream).await?;
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
    let standing = Standing::new(&dispatch.gateway.node, session);
    open_standing(dispatch, StreamKind::Standing { standing, is_resumable: false, retry: None }, None, framing).await
}

/// Opens a session's standing stream as an event stream with names, after the event that its client got last.
///
/// # Errors
/// 404 when the session is gone, 503 while the store is away or too many streams are open.
pub async fn stand_or_resume(
    dispatch: &Dispatch,
    session: &Live,
    passed: Option<Passed>,
) -> Result<mpsc::Receiver<Bytes>, Refusal> {
    let gateway = &dispatch.gateway;
    let standing = Standing::new(&gateway.node, &session.record.id);
    let retry = session.revision.primes_streams().then_some(gateway.options.stream_retry);
    let kind = StreamKind::Standing { standing, is_resumable: session.revision.can_resume(), retry };
    open_standing(dispatch, kind, passed, sse::event).await
}

async fn open_standing(
    dispatch: &Dispatch,
    kind: StreamKind,
    passed: Option<Passed>,
    framing: Framing,
) -> Result<mpsc::Receiver<Bytes>, Refusal> {
    let ticket = dispatch.gateway.stream("standing")?;
    let (frames, body) = mpsc::channel(FRAMES);
    Connection::open(dispatch, Opening { kind, filter: None, passed, frames, framing, ticket }).await?;
    Ok(body)
}

/// A stream that is to be opened.
struct Opening {
    kind: StreamKind,
    filter: Option<Filter>,
    passed: Option<Passed>,
    frames: mpsc::Sender<Bytes>,
    framing: Framing,
    ticket: places::Place,
}

impl Connection {
    async fn open(dispatch: &Dispatch, stream: Opening) -> Result<(), Refusal> {
        let Opening { kind, filter, passed, frames, framing, ticket } = stream;
        let (opened, waiting) = oneshot::channel();
        let open = match &kind {
            StreamKind::Standing { standing, .. } => Some(dispatch.gateway.ledger.open(&standing.stream)),
            StreamKind::Listen { .. } => None,
        };
        let connection = Self {
            dispatch: dispatch.clone(),
            kind,
            pending: Arc::default(),
            frames,
            framing,
            filter,
            passed,
            opened: Some(opened),
            number: Arc::default(),
            _ticket: ticket,
            open,
        };
        connection.start();
        waiting.await.unwrap_or_else(|_| Err(failure::overloaded("this gateway is about to stop")))
    }
}

/// What carries a stream's news: everything of the actor that its work needs.
struct Carrier {
    dispatch: Dispatch,
    kind: StreamKind,
    pending: Arc<Pending>,
    frames: mpsc::Sender<Bytes>,
    framing: Framing,
    number: Arc<OnceLock<u64>>,
    /// Where a standing stream began, once it has.
    began: Option<Passed>,
    draining: watch::Receiver<bool>,
    /// What a listen stream told of the tasks that it follows.
    followed: Followed,
}

impl Carrier {
    /// Enters the stream. Not given up half-way: what it takes is bounded, and its end undoes the whole of it.
    async fn enter(&mut self, filter: Option<Filter>, passed: Option<Passed>) -> Result<(), Refusal> {
        match &self.kind {
            StreamKind::Standing { standing, .. } => {
                self.began = Some(standing.take_place(&self.dispatch, &self.pending, passed).await?);
                Ok(())
            }
            StreamKind::Listen { .. } => {
                let join = Join { filter: filter.unwrap_or_default(), pending: self.pending.clone() };
                let joined = self.dispatch.gateway.fanout.send(join).await;
                let number = joined.map_err(|_| failure::overloaded("this gateway is about to stop"))?;
                self.number.get_or_init(|| number);
                Ok(())
            }
        }
    }

    /// Moves news to the client until either is gone, or the gateway drains.
    async fn carry(mut self) {
        if let (StreamKind::Standing { retry: Some(retry), .. }, Some(began)) = (&self.kind, &self.began) {
            // Nothing was said yet, so there is room.
            _ = self.frames.try_send(sse::priming(&EventId::Standing(began.clone()), *retry));
        }
        let frames = self.frames.clone();
        loop {
            let room = tokio::select! {
                () = frames.closed() => return,
                _ = self.draining.wait_for(|draining| *draining) => break,
                room = frames.reserve() => room,
            };
            let Ok(room) = room else { return };
            let news = tokio::select! {
                () = frames.closed() => return,
                _ = self.draining.wait_for(|draining| *draining) => break,
                news = self.pending.next() => news,
            };
            match news {
                News::Changed(Topic::Task(id), at, cause) => {
                    let StreamKind::Listen { id: subscription, .. } = &self.kind else { continue };
                    if let Some(message) = self.followed.news(&self.dispatch, id, subscription).await {
                        self.kind.trace("notifications/tasks", at, &cause);
                        room.send((self.framing)(&message));
                    }
                }
                News::Changed(topic, at, cause) => {
                    let message = self.kind.notification(&topic, at, &cause);
                    room.send(self.frame(at, &message));
                }
                // Without a place it would hear nothing any more; its client comes back.
                News::FloorIsFree if !self.retake().await => break,
                News::FloorIsFree => {}
                News::Ended => return,
            }
        }
        if let Some(last) = self.last_frame() {
            // The client may be gone already, and then nobody misses it.
            _ = frames.try_send(last);
        }
    }

    /// A message with its name, where the client can go on after it.
    fn frame(&self, at: Offset, message: &str) -> Bytes {
        match (&self.kind, &self.began) {
            (StreamKind::Standing { is_resumable: true, .. }, Some(began)) => {
                sse::named_event(&EventId::Standing(Passed { offset: at, ..began.clone() }), message)
            }
            _ => (self.framing)(message),
        }
    }

    /// What the client hears when the server ends the stream.
    fn last_frame(&self) -> Option<Bytes> {
        match &self.kind {
            StreamKind::Listen { id, revision } => {
                let result = results::listen_ended(id.as_json(), *revision);
                Some((self.framing)(&jsonrpc::success(id, &result)))
            }
            StreamKind::Standing { retry, .. } => retry.map(sse::retry),
        }
    }

    /// A silent stream takes the floor that another one left, and what was not sent there.
    async fn retake(&mut self) -> bool {
        let StreamKind::Standing { standing, .. } = &self.kind else { return true };
        match standing.take_place(&self.dispatch, &self.pending, None).await {
            Ok(began) => {
                self.began = Some(began);
                true
            }
            Err(refusal) => {
                warn!(session = %standing.session, reason = %refusal.error.message, "a stream could not take the floor");
                false
            }
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
            // What is told of a task is read first, and told by whoever read it.
            Topic::Task(_) => return String::new(),
        };
        self.trace(method, at, cause);
        message
    }

    /// Has the trace of what caused a notification show it.
    fn trace(&self, method: &'static str, at: Offset, cause: &str) {
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
            if let Self::Standing { standing, .. } = self {
                span.record("mcp.session.id", standing.session.0.as_str());
            }
        }
    }
}

impl Actor for Connection {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let mut carrier = Carrier {
            dispatch: self.dispatch.clone(),
            kind: self.kind.clone(),
            pending: self.pending.clone(),
            frames: self.frames.clone(),
            framing: self.framing,
            number: self.number.clone(),
            began: None,
            draining: self.dispatch.gateway.draining(),
            followed: Followed::default(),
        };
        let (filter, passed, opened) = (self.filter.take(), self.passed.take(), self.opened.take());
        let work = async move {
            let entered = carrier.enter(filter, passed).await;
            let is_in = entered.is_ok();
            // Whoever asked may have gone meanwhile; then the stream ends at once.
            _ = opened.map(|opened| opened.send(entered));
            if is_in {
                carrier.carry().await;
            }
        };
        ctx.spawn(work.into_actor(self).map(|(), _, ctx| ctx.stop()));
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.open = None;
        match &self.kind {
            StreamKind::Listen { .. } => {
                if let Some(number) = self.number.get() {
                    self.dispatch.gateway.fanout.do_send(Leave(*number));
                }
            }
            StreamKind::Standing { standing, .. } => {
                let (standing, dispatch, pending) = (standing.clone(), self.dispatch.clone(), self.pending.clone());
                // Owned by nobody: it outlives the stream by a few bounded requests, and then ends by itself.
                actix_rt::spawn(async move { standing.leave(&dispatch, pending).await });
            }
        }
    }
}

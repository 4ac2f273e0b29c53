//! The floor: of all streams of a session, at any gateway, one carries its facts at every offset of the log.
//!
//! A stream takes the floor by an entry in the log; the one before it sends what came up to there. Where the one before
//! is gone, nobody knows what it sent, so the new one begins where facts are known to have left: repeat rather than
//! lose. A stream that ends says how far it came and leaves the floor to whoever is still there.

use std::{sync::Arc, time::Duration};

use prost::Message as _;
use switchyard_mcp::Refusal;
use switchyard_proto::v1::{Fact, FloorTaken, fact::Kind};
use switchyard_state::{FloorChange, NodeId, Offset, SessionId};
use tracing::{debug, warn};

use crate::{
    dispatch::Dispatch,
    event_id::Passed,
    facts, failure, letters,
    pending::Pending,
    sessions::gone,
    subscriptions::{Attach, CaughtUp, Detach, Place},
};

/// How many entries of the log are read at a time while a stream catches up.
const CATCH_UP: usize = 1000;

/// How often a stream that ends tries to give the floor back while the store is away, and how long it waits between.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// A session's standing stream.
#[derive(Clone)]
pub struct Standing {
    /// The session.
    pub session: SessionId,
    /// The stream's name, unique in the cluster.
    pub stream: String,
}

/// What a stream that takes the floor carries.
struct Share {
    /// Everything after this offset.
    from: Offset,
    /// And, where it goes on for a stream that broke off, what that one still had to send.
    rest_of: Option<Passed>,
}

impl Standing {
    /// A new stream of a session at this node.
    pub fn new(node: &NodeId, session: &SessionId) -> Self {
        let stream = format!("{node}.{}", uuid::Uuid::new_v4().simple());
        Self { session: session.clone(), stream }
    }

    /// Takes the floor and begins where the session's facts have not left yet, or where the client's earlier stream
    /// broke off. What it takes is bounded, and it must not be given up half-way. Returns the place where it begins.
    ///
    /// # Errors
    /// 404 when the session is gone, 503 while the store is away.
    pub async fn take_place(
        &self,
        dispatch: &Dispatch,
        pending: &Arc<Pending>,
        passed: Option<Passed>,
    ) -> Result<Passed, Refusal> {
        let gateway = &dispatch.gateway;
        let attach = Attach { session: self.session.clone(), stream: self.stream.clone(), pending: pending.clone() };
        gateway.fanout.send(attach).await.map_err(|_| stopping())?;
        let entry = facts::floor_taken(&self.session, &self.stream);
        let taken = gateway.sessions.take_floor(&self.session, &self.stream, &gateway.node, &entry).await;
        let change = taken.map_err(|error| failure::store(&error))?.ok_or_else(gone)?;
        let left = change.left;
        let placed = self.catch_up(dispatch, change, passed).await;
        if placed.is_err() {
            self.give_back(dispatch, left).await;
        }
        placed
    }

    /// Hands the stream what the session has not heard before it.
    async fn catch_up(
        &self,
        dispatch: &Dispatch,
        change: FloorChange,
        passed: Option<Passed>,
    ) -> Result<Passed, Refusal> {
        let gateway = &dispatch.gateway;
        let store = |error| failure::store(&error);
        let holder_sends_the_rest = self.is_left_to_holder(dispatch, &change).await;

        let record = gateway.sessions.load(&self.session, gateway.options.session_ttl).await.map_err(store)?;
        let record = record.ok_or_else(gone)?;
        let epoch = record.epoch.clone();
        let (share, mut lost) = share(&change, holder_sends_the_rest, passed, &epoch);
        let from = share.from;
        let place = Place { session: Box::new(record), stream: self.stream.clone(), from, at: change.at };
        let up_to = gateway.fanout.send(place).await.map_err(|_| stopping())?;

        let (mut found, mut repeated) = (Vec::new(), Vec::new());
        let mut after = share.rest_of.as_ref().map_or(from, |passed| passed.offset.min(from));
        let mut is_of_rest = share.rest_of.is_some();
        // What comes live later is only what this stream carries itself.
        let end = if share.rest_of.is_some() { up_to.max(from) } else { up_to };
        while after < end && !lost {
            let batch = gateway.log.read(&epoch, after, CATCH_UP, Duration::ZERO).await.map_err(store)?;
            lost = batch.lost;
            if batch.entries.is_empty() {
                break;
            }
            after = batch.resume;
            for entry in batch.entries.into_iter().filter(|entry| entry.offset <= end) {
                let Ok(fact) = Fact::decode(entry.bytes.as_slice()) else { continue };
                if let (Some(Kind::FloorTaken(floor)), Some(passed)) = (&fact.kind, &share.rest_of)
                    && floor.session == self.session.0
                    && !floor.stream.is_empty()
                {
                    // What follows is another stream's, or its own again.
                    is_of_rest = floor.stream == passed.stream;
                }
                match is_news(&fact) {
                    true if entry.offset > from && entry.offset <= up_to => found.push((entry.offset, fact)),
                    true if is_of_rest && entry.offset <= from => repeated.push((entry.offset, fact)),
                    _ => {}
                }
            }
        }
        let session = self.session.clone();
        let begins = share.rest_of.map_or(from, |passed| passed.offset.min(from));
        let caught_up = CaughtUp { session, stream: self.stream.clone(), repeated, facts: found, lost };
        gateway.fanout.send(caught_up).await.map_err(|_| stopping())?;
        Ok(Passed { stream: self.stream.clone(), epoch, offset: begins })
    }

    /// Whether the stream that had the floor is open still, and so sends everything up to where it lost it.
    async fn is_left_to_holder(&self, dispatch: &Dispatch, change: &FloorChange) -> bool {
        let gateway = &dispatch.gateway;
        match &change.before {
            None => false,
            Some(holder) if holder.stream == self.stream => false,
            Some(holder) if holder.node == gateway.node => gateway.ledger.is_open(&holder.stream),
            Some(holder) => letters::is_open_elsewhere(&dispatch.bus, &holder.node, &holder.stream).await,
        }
    }

    /// Takes the stream out, says how far the session's facts have left on it, and leaves the floor.
    pub async fn leave(&self, dispatch: &Dispatch, pending: Arc<Pending>) {
        let detach = Detach { session: self.session.clone(), stream: self.stream.clone(), pending };
        let Ok(Some(left)) = dispatch.gateway.fanout.send(detach).await else { return };
        self.give_back(dispatch, left).await;
    }

    async fn give_back(&self, dispatch: &Dispatch, left: Offset) {
        for _ in 0..TRIES {
            match dispatch.gateway.sessions.release_floor(&self.session, &self.stream, left).await {
                Ok(true) => return self.say_that_it_is_free(dispatch).await,
                Ok(false) => return,
                Err(error) => warn!(error = &error as &dyn std::error::Error, "could not give the floor back yet"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn say_that_it_is_free(&self, dispatch: &Dispatch) {
        let freed = FloorTaken { session: self.session.0.clone(), stream: String::new() };
        let fact = Fact { kind: Some(Kind::FloorTaken(freed)), ..Fact::default() };
        for _ in 0..TRIES {
            match dispatch.bus.events.publish(vec![fact.clone()]).await {
                Ok(_) => return,
                Err(status) => debug!(reason = status.message(), "could not say yet that the floor is free"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// What falls to a stream that took the floor, and whether the place that its client names is lost, so that everything
/// counts as changed.
fn share(change: &FloorChange, left_to_holder: bool, passed: Option<Passed>, epoch: &str) -> (Share, bool) {
    let from = if left_to_holder { change.at } else { change.left };
    let Some(passed) = passed else { return (Share { from, rest_of: None }, false) };
    if passed.epoch != epoch || passed.offset > change.at {
        return (Share { from, rest_of: None }, true);
    }
    // The client says itself how far the stream that had the floor came, and that it is no more.
    if change.before.as_ref().is_some_and(|holder| holder.stream == passed.stream) {
        return (Share { from: passed.offset, rest_of: None }, false);
    }
    (Share { from, rest_of: Some(passed) }, false)
}

/// Whether a fact is one that a client may want to hear of.
fn is_news(fact: &Fact) -> bool {
    matches!(fact.kind, Some(Kind::ResourceUpdated(_) | Kind::ListChanged(_)))
}

fn stopping() -> Refusal {
    failure::overloaded("this gateway is about to stop")
}

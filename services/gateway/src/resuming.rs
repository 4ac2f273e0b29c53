//! Going on with the reply to a call where its stream broke off, at whichever gateway the client asks.
//!
//! What was kept is repeated from the event that the client got last, and then followed to its end. Where the node
//! that the call ran through is gone, the client hears that nobody knows how the call ended.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{json, value::RawValue};
use switchyard_mcp::{Id, Message, Refusal, RpcError, jsonrpc};
use switchyard_state::{NodeId, ReplyBatch, ReplyId, StoreError};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use crate::{dispatch::Dispatch, event_id::EventId, failure, places::Place, running::LAST_WORD, sessions::Live, sse};

/// How many frames wait for a client that is slow to read them.
const FRAMES: usize = 16;

/// How long to wait for something new before the node that runs the call is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// How long to wait before a store that is away is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// Refuses to go on after an event that no stream of this session is known to have carried.
pub fn unknown_event() -> Refusal {
    let error = RpcError::invalid_request("there is no event of that `Last-Event-ID`; open the stream without it");
    Refusal::new(400, error)
}

/// Goes on with a reply after its event `number`.
///
/// # Errors
/// 400 when the session has no such reply, 503 while the store is away or too many streams are open.
pub async fn resume(
    dispatch: &Dispatch,
    session: &Live,
    stream: String,
    number: u64,
) -> Result<mpsc::Receiver<Bytes>, Refusal> {
    let place = dispatch.gateway.stream("resumed")?;
    let id = ReplyId { session: session.record.id.clone(), stream };
    let first = dispatch.gateway.replies.read(&id, number, Duration::ZERO).await;
    let first = first.map_err(|error| failure::store(&error))?.ok_or_else(unknown_event)?;
    let (frames, body) = mpsc::channel(FRAMES);
    let primes = session.revision.primes_streams();
    let before = dispatch.gateway.replies.read(&id, 0, Duration::ZERO).await.map_err(|error| failure::store(&error))?;
    let answered = before.iter().flat_map(|batch| &batch.events).filter(|(event, _)| *event <= number);
    let answered = answered.filter_map(|(_, message)| answered_id(message)).collect();
    let tail = Tail { dispatch: dispatch.clone(), id, after: number, answered, frames, primes, _place: place };
    // Owned by the response: it ends with the reply, or when the client hangs up.
    actix_rt::spawn(tail.follow(first));
    Ok(body)
}

/// What follows a reply for one client.
struct Tail {
    dispatch: Dispatch,
    id: ReplyId,
    after: u64,
    /// The requests whose answers the client has.
    answered: Vec<Id>,
    frames: mpsc::Sender<Bytes>,
    /// The client's revision has a way to send it elsewhere.
    primes: bool,
    _place: Place,
}

impl Tail {
    async fn follow(mut self, first: ReplyBatch) {
        let mut batch = first;
        let mut is_complete = true;
        loop {
            for (number, message) in &batch.events {
                is_complete &= *number == self.after + 1;
                self.answered.extend(answered_id(message));
                let id = EventId::Reply { stream: self.id.stream.clone(), number: *number };
                let frame = sse::named_event(&id, &String::from_utf8_lossy(message));
                if !matches!(timeout(LAST_WORD, self.frames.send(frame)).await, Ok(Ok(()))) {
                    return;
                }
                self.after = *number;
            }
            if batch.closed {
                // An answer may have been dropped to make room for what came later.
                if !is_complete {
                    self.end_unknown(&batch.requests).await;
                }
                return;
            }
            if batch.events.is_empty() && self.is_gone(&batch.node).await {
                return self.end_unknown(&batch.requests).await;
            }
            match self.more().await {
                More::Batch(more) => batch = more,
                // Its log ended without its end.
                More::Forgotten => return self.end_unknown(&batch.requests).await,
                More::Hangup => return,
            }
        }
    }

    async fn more(&self) -> More {
        let mut draining = self.dispatch.gateway.draining();
        let reading = async {
            loop {
                match self.dispatch.gateway.replies.read(&self.id, self.after, LOOK).await {
                    Ok(Some(batch)) => return More::Batch(batch),
                    Ok(None) => return More::Forgotten,
                    Err(StoreError::Away(_)) => sleep(PAUSE).await,
                    Err(_) => return More::Forgotten,
                }
            }
        };
        tokio::select! {
            more = reading => more,
            () = self.frames.closed() => More::Hangup,
            _ = draining.wait_for(|draining| *draining) => {
                if self.primes {
                    // The client may be gone already, and then nobody misses it.
                    _ = self.frames.try_send(sse::retry(self.dispatch.gateway.options.stream_retry));
                }
                More::Hangup
            }
        }
    }

    /// Whether the node that a call runs through is no more. One that is not known yet may be new.
    async fn is_gone(&self, node: &NodeId) -> bool {
        let gateway = &self.dispatch.gateway;
        let knows = |nodes: &[switchyard_state::NodeRecord]| nodes.iter().any(|known| known.id == *node);
        if *node == gateway.node || knows(&gateway.discovery.snapshot().borrow().nodes) {
            return false;
        }
        !knows(&gateway.discovery.refresh().await.nodes)
    }

    /// Answers each request that has no answer yet.
    async fn end_unknown(&self, requests: &str) {
        let error = RpcError::internal("the answer to this call was lost, or the node that ran it");
        let error = error.with_data(json!({ "outcome": "unknown" }));
        for id in ids_of(requests).filter(|id| !self.answered.contains(id)) {
            let frame = sse::event(&jsonrpc::failure(Some(&id), false, &error));
            if !matches!(timeout(LAST_WORD, self.frames.send(frame)).await, Ok(Ok(()))) {
                return;
            }
        }
    }
}

enum More {
    Batch(ReplyBatch),
    Forgotten,
    Hangup,
}

fn answered_id(message: &[u8]) -> Option<Id> {
    match jsonrpc::decode(message) {
        Ok(Message::Response { id }) => Some(id),
        _ => None,
    }
}

fn ids_of(requests: &str) -> impl Iterator<Item = Id> {
    let ids: Vec<&RawValue> = serde_json::from_str(requests).unwrap_or_default();
    ids.into_iter().filter_map(|id| Id::from_json(id.get())).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_of_a_reply_keep_the_types_of_their_ids() {
        let ids: Vec<_> = ids_of(r#"[1,"1",-7]"#).map(|id| id.as_json().to_owned()).collect();

        assert_eq!(ids, ["1", "\"1\"", "-7"]);
    }

    #[test]
    fn only_a_response_answers_a_request() {
        assert_eq!(answered_id(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#), Id::from_json("7"));
        assert_eq!(answered_id(br#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage"}"#), None);
    }
}

//! The calls of one lane at its caller: what has come for them, and what is still to be sent.
//!
//! One lock a lane, held for moments and never across a wait. What has come for a call is bounded by its credit.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

use prost::Message;
use switchyard_proto::v1::{CallEvent, CompleteReply, LaneReply, LaneRequest, lane_reply, lane_request};
use tonic::Status;

use super::{CREDIT, REFUND, cost_of_any, from_wire};
use crate::link::LinkError;

/// How many bytes of requests wait for a node that is slow to read before calls go another way.
const WAITING: usize = 16 * 1024 * 1024;

/// The calls of a lane.
#[derive(Default)]
pub struct Table {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    calls: HashMap<u64, Slot>,
    outbox: VecDeque<LaneRequest>,
    /// How many bytes the calls in `outbox` have.
    waiting: usize,
    writer: Option<Waker>,
    /// Nobody holds the lane any more.
    unused: bool,
    /// The node takes no new calls.
    draining: bool,
    /// The lane broke, or its end has come.
    ended: bool,
}

#[derive(Default)]
struct Slot {
    came: VecDeque<Came>,
    reader: Option<Waker>,
    /// How many bytes of events wait.
    unread: u32,
    /// How many bytes of credit are to be given back.
    taken: u32,
    /// The call has left.
    sent: bool,
}

/// What has come for a call.
pub enum Came {
    /// An event.
    Event(CallEvent),
    /// The answer to a completion.
    Completed(CompleteReply),
    /// The call is over: it failed.
    Failed(Status),
    /// The call is over without a result.
    Ended,
    /// The rest is to be fetched.
    Rest(String),
}

impl Table {
    /// Begins a call. `None` when the lane takes no more.
    pub fn begin(&self, frame: lane_request::Frame) -> Option<u64> {
        let request = LaneRequest { call: 0, frame: Some(frame) };
        let length = request.encoded_len();
        let mut state = self.lock();
        if state.is_closed() || state.waiting + length > WAITING {
            return None;
        }
        state.next += 1;
        let call = state.next;
        state.calls.insert(call, Slot::default());
        state.waiting += length;
        state.outbox.push_back(LaneRequest { call, ..request });
        wake_after(state, |state| state.writer.take());
        Some(call)
    }

    /// The next thing that has come for a call.
    pub fn poll_came(&self, call: u64, context: &Context<'_>) -> Poll<Came> {
        let mut state = self.lock();
        let Some(slot) = state.calls.get_mut(&call) else { return Poll::Ready(Came::Ended) };
        let Some(came) = slot.came.pop_front() else {
            match &mut slot.reader {
                Some(reader) => reader.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            return Poll::Pending;
        };
        if let Came::Event(event) = &came {
            let cost = cost_of_any(event);
            slot.unread = slot.unread.saturating_sub(cost);
            slot.taken += cost;
            if slot.taken >= REFUND {
                let credit = mem::take(&mut slot.taken);
                state.outbox.push_back(LaneRequest { call, frame: Some(lane_request::Frame::Credit(credit)) });
                wake_after(state, |state| state.writer.take());
            }
        }
        Poll::Ready(came)
    }

    /// A call is over, or its caller has gone: then its service is told.
    pub fn end(&self, call: u64, is_over: bool) {
        let mut state = self.lock();
        let Some(slot) = state.calls.remove(&call) else { return };
        if !slot.sent {
            state.outbox.retain(|request| request.call != call);
            state.waiting = state.outbox.iter().map(Message::encoded_len).sum();
        } else if !is_over && !state.ended {
            let cancel = lane_request::Frame::Cancel(lane_request::Cancel {});
            state.outbox.push_back(LaneRequest { call, frame: Some(cancel) });
        }
        // The last call's end may be the lane's.
        wake_after(state, |state| state.writer.take());
    }

    /// The next frame for the node; `None` once there will be no more.
    pub fn poll_outbox(&self, context: &Context<'_>) -> Poll<Option<LaneRequest>> {
        let mut state = self.lock();
        if let Some(request) = state.outbox.pop_front() {
            if let Some(slot) = state.calls.get_mut(&request.call)
                && !mem::replace(&mut slot.sent, true)
            {
                state.waiting = state.waiting.saturating_sub(request.encoded_len());
            }
            return Poll::Ready(Some(request));
        }
        if state.ended || (state.is_closed() && state.calls.is_empty()) {
            return Poll::Ready(None);
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// A frame of the node.
    pub fn take(&self, LaneReply { call, frame }: LaneReply) {
        let Some(frame) = frame else { return };
        let mut state = self.lock();
        let mut came = match frame {
            lane_reply::Frame::Event(event) => Came::Event(event),
            lane_reply::Frame::Completed(reply) => Came::Completed(reply),
            lane_reply::Frame::Failed(status) => Came::Failed(from_wire(status)),
            lane_reply::Frame::Ended(_) => Came::Ended,
            // As if it had never been sent: whoever is at that address next may take it.
            lane_reply::Frame::Refused(_) => Came::Failed(Status::from_error(Box::new(LinkError::LaneEnded))),
            lane_reply::Frame::Rest(rest) => Came::Rest(rest.token),
            lane_reply::Frame::Draining(_) => {
                state.draining = true;
                return wake_after(state, |state| state.writer.take());
            }
        };
        // It may be over at this end already.
        let Some(slot) = state.calls.get_mut(&call) else { return };
        if let Came::Event(event) = &came {
            slot.unread = slot.unread.saturating_add(cost_of_any(event));
        }
        if slot.unread > CREDIT {
            // Whoever ignores its credit gets none of our memory.
            came = Came::Failed(Status::resource_exhausted("the node sent more than the call's credit"));
            slot.came.clear();
            slot.unread = 0;
            let cancel = lane_request::Frame::Cancel(lane_request::Cancel {});
            state.outbox.push_back(LaneRequest { call, frame: Some(cancel) });
        }
        let Some(slot) = state.calls.get_mut(&call) else { return };
        slot.came.push_back(came);
        wake_after(state, |state| state.calls.get_mut(&call).and_then(|slot| slot.reader.take()));
    }

    /// The lane is over, and with it every call that it carried.
    pub fn fail(&self) {
        let mut state = self.lock();
        state.ended = true;
        let mut wakers: Vec<_> = state.writer.take().into_iter().collect();
        for slot in state.calls.values_mut() {
            let status = match slot.sent {
                true => Status::unavailable("the node gave up the call without an answer"),
                false => Status::from_error(Box::new(LinkError::LaneEnded)),
            };
            slot.came.push_back(Came::Failed(status));
            wakers.extend(slot.reader.take());
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Nobody will begin a call any more.
    pub fn leave(&self) {
        let mut state = self.lock();
        state.unused = true;
        wake_after(state, |state| state.writer.take());
    }

    /// No further call can be begun.
    pub fn is_closed(&self) -> bool {
        let state = self.lock();
        state.draining || state.ended
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }
}

impl State {
    fn is_closed(&self) -> bool {
        self.unused || self.draining || self.ended
    }
}

/// Wakes once the lock is free again.
fn wake_after(mut state: MutexGuard<'_, State>, whom: impl FnOnce(&mut State) -> Option<Waker>) {
    let waker = whom(&mut state);
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Keeps a lane open for as long as it lives.
pub struct Held(pub Arc<Table>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.leave();
    }
}

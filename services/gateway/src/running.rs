//! Calls on their way to a client: answered at once where they are quick, by a stream where they are not.
//!
//! A modern client's call is driven by the future that answers its request: when the client hangs up, it ends. A
//! session's call is driven by a task that the call table owns, for a client that loses its stream has not cancelled.

use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use switchyard_mcp::{Id, Message, Refusal, RpcError, jsonrpc};
use switchyard_telemetry::trace::TraceContext;
use tokio::{sync::mpsc, time::timeout};

use crate::{
    calls::{Call, Cancelled, Step, Ticket},
    connection::Framing,
    dispatch::{Dispatch, Reply},
    observe::Observed,
    sessions::Live,
};

/// How many notices of one call wait for a slow client before more of them are left out.
const NOTICES: usize = 64;

/// How long a client that does not read may keep a finished call's answer waiting.
pub const LAST_WORD: Duration = Duration::from_secs(30);

/// Where a call's steps come from.
pub enum Running {
    /// From the call itself; dropping it cancels.
    Here {
        /// The call.
        call: Box<Call>,
        /// Its place in the call table.
        _ticket: Ticket,
    },
    /// From the task that drives it, and goes on without us.
    Detached(mpsc::Receiver<Step>),
}

impl Running {
    /// The next step, or `None` once the call was cancelled by its client.
    pub async fn step(&mut self) -> Option<Step> {
        match self {
            Self::Here { call, .. } => Some(call.step().await),
            Self::Detached(steps) => steps.recv().await,
        }
    }
}

/// What a call came to before its answer had to become a stream.
pub enum Outcome {
    /// Its answer.
    Done(Result<String, Refusal>),
    /// It goes on; the first message may be here already.
    Goes(Running, Option<String>),
    /// Its client cancelled it: there is no answer.
    Cancelled,
}

/// Waits for a call's answer, for at most `patience` without any; `None` waits for as long as it takes, and leaves
/// notices out.
pub async fn first_word(mut running: Running, patience: Option<Duration>) -> Outcome {
    loop {
        let step = match patience {
            None => running.step().await,
            Some(patience) => match timeout(patience, running.step()).await {
                Ok(step) => step,
                Err(_) => return Outcome::Goes(running, None),
            },
        };
        match step {
            Some(Step::Done(done)) => return Outcome::Done(done),
            Some(Step::Notice(message) | Step::Question(message)) if patience.is_some() => {
                return Outcome::Goes(running, Some(message));
            }
            Some(Step::Question(_)) => return Outcome::Done(Err(cannot_ask())),
            Some(Step::Accepted | Step::Notice(_)) => {}
            None => return Outcome::Cancelled,
        }
    }
}

/// The call asks its client, who takes no stream on which it could be asked.
pub fn cannot_ask() -> Refusal {
    let message = "this asks its client something, which takes an answer by `text/event-stream`";
    Refusal::new(200, RpcError::internal(message))
}

/// Sends the rest of a call as frames. Ends with the call, or when the client has gone.
pub async fn carry(
    mut running: Running,
    first: Option<String>,
    id: Id,
    frames: mpsc::Sender<Bytes>,
    framing: Framing,
    observed: Observed,
) {
    // It may be a question, so room for it is waited for.
    if let Some(first) = first
        && !matches!(timeout(LAST_WORD, frames.send(framing(&first))).await, Ok(Ok(())))
    {
        return;
    }
    loop {
        let step = tokio::select! {
            () = frames.closed() => return,
            step = running.step() => step,
        };
        match step {
            Some(Step::Accepted) => {}
            // A client that does not read misses notices, and nobody waits for it.
            Some(Step::Notice(notice)) => _ = frames.try_send(framing(&notice)),
            Some(Step::Question(question)) => {
                // One that cannot be asked, because it does not read, has gone.
                if !matches!(timeout(LAST_WORD, frames.send(framing(&question))).await, Ok(Ok(()))) {
                    return;
                }
            }
            Some(Step::Done(done)) => {
                let last = framing(&answer(&id, &done));
                if timeout(LAST_WORD, frames.send(last)).await.is_ok_and(|sent| sent.is_ok()) {
                    settle(observed, &done);
                }
                return;
            }
            None => return,
        }
    }
}

/// The JSON text of the message that answers a request.
pub fn answer(id: &Id, done: &Result<String, Refusal>) -> String {
    match done {
        Ok(result) => jsonrpc::success(id, result),
        Err(refusal) => jsonrpc::failure(Some(id), false, &refusal.error),
    }
}

/// Notes how a request ended.
pub fn settle(observed: Observed, done: &Result<String, Refusal>) {
    match done {
        Ok(_) => observed.succeeded(),
        Err(refusal) => observed.failed(refusal.error.code),
    }
}

/// A channel of frames for one call.
pub fn frames() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(NOTICES)
}

/// Starts a session's call, which goes on whatever becomes of the request that asked for it. `body` is the whole
/// message, which has been decoded before.
pub fn detach(
    dispatch: &Dispatch,
    session: Live,
    body: Bytes,
    trace: TraceContext,
    (ticket, cancelled): (Ticket, Cancelled),
) -> Running {
    let (steps, receiver) = mpsc::channel(NOTICES);
    let dispatch = dispatch.clone();
    // Owned by the call table, whose entry lives as long as the ticket: it ends with the call, or by its cancel.
    actix_rt::spawn(async move {
        let _ticket = ticket;
        tokio::select! {
            Ok(()) = cancelled => {}
            () = drive(&dispatch, &session, &body, &trace, steps) => {}
        }
    });
    Running::Detached(receiver)
}

async fn drive(dispatch: &Dispatch, session: &Live, body: &[u8], trace: &TraceContext, steps: mpsc::Sender<Step>) {
    let Ok(Message::Request(request)) = jsonrpc::decode(body) else { return };
    let mut call = match dispatch.ask_in_session(session, &request, trace).await {
        Ok(Reply::Call(call)) => call,
        Ok(Reply::Result(result)) => return tell(&steps, Step::Done(Ok(result))).await,
        Ok(Reply::Listen(_)) => return,
        Err(refusal) => return tell(&steps, Step::Done(Err(refusal))).await,
    };
    tell(&steps, Step::Accepted).await;
    loop {
        match call.step().await {
            // A client that does not read misses notices, and the call does not wait for it.
            Step::Notice(notice) => _ = steps.try_send(Step::Notice(notice)),
            question @ Step::Question(_) => tell(&steps, question).await,
            Step::Accepted => {}
            done @ Step::Done(_) => return tell(&steps, done).await,
        }
    }
}

/// Hands a step over, unless nobody listens any more or takes it in time.
async fn tell(steps: &mpsc::Sender<Step>, step: Step) {
    _ = timeout(LAST_WORD, steps.send(step)).await;
}

/// The id that a `notifications/cancelled` names.
pub fn cancelled_id(params: Option<&RawValue>) -> Option<Id> {
    let params = switchyard_mcp::Params::read(params).ok()?;
    Id::from_json(params.request_id?.get())
}

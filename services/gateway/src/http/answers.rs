//! What a POST is answered with: JSON at once, a stream of events, or why neither.

use std::{borrow::Cow, time::Duration};

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::{StatusCode, header},
};
use bytes::Bytes;
use switchyard_mcp::{Id, Refusal, RpcError, jsonrpc, jsonrpc::DecodeError};
use tokio::sync::mpsc;

use crate::{
    dispatch::Dispatch,
    media::Accepts,
    observe::Observed,
    replies::{Reply, Speech, Word},
    running::{self, Outcome, Running},
    sessions::Live,
    sse,
};

/// How long a client should wait before it tries again what was refused because of load or an outage, in seconds.
const RETRY_AFTER: &str = "1";

/// Why a request gets no result: what its client is told, under which id.
pub(super) struct Failed {
    pub refusal: Refusal,
    pub id: Option<Id>,
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, id: None }
    }
}

impl Failed {
    pub fn into_response(self) -> HttpResponse {
        let mut response = builder(self.refusal.status);
        if self.refusal.status == 413 || self.refusal.status == 408 {
            // The rest of the body was not read, and will not be.
            response.force_close();
        }
        json(&mut response, jsonrpc::failure(self.id.as_ref(), false, &self.refusal.error))
    }
}

/// Answers with the call's result where it is quick or the client takes no streams, else with a stream. What becomes a
/// stream in a `session` is kept, for its client to go on with.
pub(super) async fn respond(
    dispatch: &Dispatch,
    session: Option<&Live>,
    id: Id,
    running: Running,
    accepts: Accepts,
    observed: Observed,
) -> HttpResponse {
    let patience = accepts.streams().then_some(dispatch.gateway.options.stream_after);
    let (sender, frames) = running::frames();
    match running::first_word(running, patience).await {
        Outcome::Done(done) => return finish(dispatch, &id, done, accepts, observed),
        Outcome::Cancelled => drop(sender),
        Outcome::Goes(running, first) => match session {
            // Owned by the response: it ends when the call does, or when the client hangs up.
            None => _ = actix_rt::spawn(running::carry(running, first, id, sender, sse::event, observed)),
            Some(session) => {
                let kept = Reply::new(dispatch, session, std::slice::from_ref(&id));
                // It may be a question, and a notice that came first is not missed either.
                let first = first.map(Word::Question).into_iter().collect();
                // Ends with the call, whatever becomes of the response.
                actix_rt::spawn(kept.carry(first, Speech::Call { running, id, observed: Some(observed) }, sender));
            }
        },
    }
    stream(dispatch, frames)
}

/// A whole answer, as JSON, or as a stream of one event for a client that takes nothing else.
pub(super) fn finish(
    dispatch: &Dispatch,
    id: &Id,
    done: Result<String, Refusal>,
    accepts: Accepts,
    observed: Observed,
) -> HttpResponse {
    let message = running::answer(id, &done);
    let status = done.as_ref().err().map_or(200, |refusal| refusal.status);
    running::settle(observed, &done);
    whole(dispatch, status, message, accepts)
}

/// One message as a whole answer.
pub(super) fn whole(dispatch: &Dispatch, status: u16, message: String, accepts: Accepts) -> HttpResponse {
    if status == 200 && !accepts.json() {
        let (sender, frames) = mpsc::channel(1);
        sender.try_send(sse::event(&message)).expect("the channel is new, and so has room");
        return stream(dispatch, frames);
    }
    json(&mut builder(status), message)
}

/// Several messages as a whole answer.
pub fn array(messages: &[String]) -> HttpResponse {
    json(&mut builder(200), format!("[{}]", messages.join(",")))
}

/// An event stream of these frames.
pub fn stream(dispatch: &Dispatch, frames: mpsc::Receiver<Bytes>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-cache, no-transform"))
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(sse::Body::new(frames, dispatch.gateway.options.keep_alive.max(Duration::from_millis(1))))
}

/// The answer to a request that is refused.
pub fn refused(refusal: Refusal) -> HttpResponse {
    Failed::from(refusal).into_response()
}

pub(super) fn not_allowed(why: &'static str) -> HttpResponse {
    let mut response = HttpResponse::MethodNotAllowed();
    response.insert_header((header::ALLOW, "POST, GET, DELETE"));
    json(&mut response, jsonrpc::failure(None, false, &RpcError::invalid_request(why)))
}

pub(super) fn undecodable(error: DecodeError) -> Failed {
    match error {
        DecodeError::Batch => {
            let error = RpcError::invalid_request("the body must be one message; an array of them is not taken");
            Refusal::new(400, error).into()
        }
        DecodeError::Invalid { id, error } => Failed { refusal: Refusal::new(400, error), id },
    }
}

fn builder(status: u16) -> HttpResponseBuilder {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.insert_header((header::RETRY_AFTER, RETRY_AFTER));
    }
    response
}

fn json(response: &mut HttpResponseBuilder, message: String) -> HttpResponse {
    let body = match sse::one_line(&message) {
        Cow::Borrowed(_) => message,
        Cow::Owned(line) => line,
    };
    response.insert_header((header::CONTENT_TYPE, "application/json")).body(body)
}

//! Batches over Streamable HTTP: several messages of a session in one body, where its revision has that.
//!
//! Each request runs by itself, and fails by itself. Their answers are one array where they are quick or the client
//! takes no streams, else each is an event of one stream.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use serde_json::value::RawValue;
use switchyard_mcp::{Id, Message, Method, Refusal, Request, RpcError, jsonrpc, jsonrpc::DecodeError};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};
use tracing::warn;

use crate::{
    calls::Step,
    dispatch::{Dispatch, Reply as Answered},
    http::{self, begin_in_session},
    media::Accepts,
    replies::{Reply, Speech, Word, conclude},
    running::{self, cannot_ask},
    sessions::Live,
};

/// How many messages wait for a client that is slow to read them.
const WORDS: usize = 64;

/// Takes the messages of a batch in their order.
///
/// # Errors
/// 400 for an empty batch, one with too many messages, or one with `initialize`: nothing of it is done then.
pub async fn receive(
    request: &HttpRequest,
    dispatch: &Dispatch,
    live: Live,
    body: &Bytes,
    accepts: Accepts,
) -> Result<HttpResponse, Refusal> {
    let texts: Vec<&RawValue> = serde_json::from_slice(body).unwrap_or_default();
    check(&texts, dispatch.gateway.options.max_requests_per_connection)?;
    let (sender, words) = mpsc::channel(WORDS);
    let (mut requests, mut said) = (Vec::new(), Vec::new());
    for text in texts {
        let text = body.slice_ref(text.get().as_bytes());
        match jsonrpc::decode(&text) {
            Ok(Message::Request(asked)) => {
                requests.push(asked.id.clone());
                ask(request, dispatch, &live, &asked, &text, sender.clone(), accepts.streams());
            }
            Ok(Message::Notification { method, params }) => {
                match dispatch.note_in_session(&live, &method, params).await {
                    Err(refusal) if requests.is_empty() && said.is_empty() => return Err(refusal),
                    // What has begun is answered all the same.
                    Err(refusal) => warn!(reason = %refusal.error.message, "a notification could not be noted"),
                    Ok(()) => {}
                }
            }
            Ok(Message::Response { id }) => dispatch.answer_in_session(&live, &id, &text).await,
            Err(error) => said.push(unreadable(&error, &live)),
        }
    }
    drop(sender);
    if requests.is_empty() && said.is_empty() {
        return Ok(HttpResponse::Accepted().finish());
    }
    let patience = accepts.streams().then_some(dispatch.gateway.options.stream_after);
    let answers = Answers { requests, said, words };
    Ok(respond(dispatch, &live, answers, patience, accepts).await)
}

fn check(texts: &[&RawValue], most: usize) -> Result<(), Refusal> {
    let refused = |what: String| Err(Refusal::new(400, RpcError::invalid_request(what)));
    if texts.is_empty() {
        return refused("a batch has at least one message".to_owned());
    }
    if texts.len() > most {
        return refused(format!("a batch has at most {most} messages"));
    }
    let opens = |text: &&RawValue| match jsonrpc::decode(text.get().as_bytes()) {
        Ok(Message::Request(asked)) => asked.method == Method::Initialize.name(),
        _ => false,
    };
    if texts.iter().any(opens) {
        return refused("`initialize` comes alone, and not in a batch".to_owned());
    }
    Ok(())
}

fn unreadable(error: &DecodeError, live: &Live) -> String {
    let null_id = !live.revision.omits_unknown_id();
    match error {
        DecodeError::Batch => {
            jsonrpc::failure(None, null_id, &RpcError::invalid_request("a batch has messages, and not batches"))
        }
        DecodeError::Invalid { id, error } => jsonrpc::failure(id.as_ref(), null_id, error),
    }
}

/// Begins one request of the batch.
fn ask(
    request: &HttpRequest,
    dispatch: &Dispatch,
    live: &Live,
    asked: &Request<'_>,
    text: &Bytes,
    words: mpsc::Sender<Word>,
    may_ask: bool,
) {
    let (observed, is_call) = begin_in_session(request, dispatch, live, asked);
    let trace = observed.context();
    let live = if may_ask { live.clone() } else { live.clone().without_questions() };
    let (dispatch, id, text) = (dispatch.clone(), asked.id.clone(), text.clone());
    // At once, for the next message of the batch may cancel it.
    let entered = is_call.then(|| dispatch.gateway.ledger.calls.enter_named(&live.record.id.0, &id));
    // Owned by the call it waits for: it ends with it.
    actix_rt::spawn(async move {
        let done = if let Some(entered) = entered {
            match entered {
                Ok(entered) => {
                    let running = running::detach(&dispatch, live, text, trace, entered);
                    let Some(done) = follow(running, &words, may_ask).await else { return };
                    done
                }
                Err(refusal) => Err(refusal),
            }
        } else {
            let Ok(Message::Request(asked)) = jsonrpc::decode(&text) else { return };
            match dispatch.ask_in_session(&live, &asked, &trace).await {
                Ok(Answered::Result(result)) => Ok(result),
                Ok(Answered::Call(_) | Answered::Listen(_)) => Err(Refusal::method_not_found(&asked.method)),
                Err(refusal) => Err(refusal),
            }
        };
        say(&words, Word::Answer(conclude(&id, &done, Some(observed)))).await;
    });
}

/// Follows a call to its end; `None` when its client cancelled it.
async fn follow(
    mut running: running::Running,
    words: &mpsc::Sender<Word>,
    may_ask: bool,
) -> Option<Result<String, Refusal>> {
    loop {
        match running.step().await? {
            Step::Accepted => {}
            // A client that does not read misses notices, and the call does not wait for it.
            Step::Notice(message) => _ = words.try_send(Word::Notice(message)),
            Step::Question(message) if may_ask => say(words, Word::Question(message)).await,
            Step::Question(_) => return Some(Err(cannot_ask())),
            Step::Done(done) => return Some(done),
        }
    }
}

/// Says what may not be missed, unless nobody listens any more or takes it in time.
async fn say(words: &mpsc::Sender<Word>, word: Word) {
    _ = tokio::time::timeout(running::LAST_WORD, words.send(word)).await;
}

/// What a batch is answered with.
struct Answers {
    /// The ids of its requests.
    requests: Vec<Id>,
    /// What is known already.
    said: Vec<String>,
    /// What comes.
    words: mpsc::Receiver<Word>,
}

async fn respond(
    dispatch: &Dispatch,
    live: &Live,
    Answers { requests, mut said, mut words }: Answers,
    patience: Option<Duration>,
    accepts: Accepts,
) -> HttpResponse {
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        let word = match until {
            None => words.recv().await,
            Some(until) => match timeout_at(until, words.recv()).await {
                Ok(word) => word,
                Err(_) => break,
            },
        };
        match word {
            Some(Word::Answer(answer)) => said.push(answer),
            Some(word) if patience.is_some() => {
                return stream(dispatch, live, &requests, said, Some(word), words);
            }
            Some(_) => {}
            // Its client cancelled all of it.
            None if said.is_empty() => return HttpResponse::Accepted().finish(),
            None if accepts.json() => return http::array(&said),
            None => break,
        }
    }
    stream(dispatch, live, &requests, said, None, words)
}

fn stream(
    dispatch: &Dispatch,
    live: &Live,
    requests: &[Id],
    said: Vec<String>,
    next: Option<Word>,
    words: mpsc::Receiver<Word>,
) -> HttpResponse {
    let first = said.into_iter().map(Word::Answer).chain(next).collect();
    let (sender, frames) = running::frames();
    let reply = Reply::new(dispatch, live, requests);
    // Ends with the calls, which are bounded.
    actix_rt::spawn(reply.carry(first, Speech::Batch(words), sender));
    http::stream(dispatch, frames)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn checked(batch: &str) -> Result<(), String> {
        let texts: Vec<&RawValue> = serde_json::from_str(batch).unwrap();
        check(&texts, 2).map_err(|refusal| refusal.error.message.into_owned())
    }

    #[test]
    fn a_batch_is_checked_before_anything_of_it_is_done() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let initialize = ping.replace("ping", "initialize");

        assert_eq!(checked(&format!("[{ping},7]")), Ok(()));
        assert!(checked("[]").unwrap_err().contains("at least one"));
        assert!(checked(&format!("[{ping},{ping},{ping}]")).unwrap_err().contains("at most 2"));
        assert!(checked(&format!("[{ping},{initialize}]")).unwrap_err().contains("`initialize`"));
    }
}

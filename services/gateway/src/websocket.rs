//! WebSocket, at `/ws` and as an upgrade of `/mcp` and `/`: one message a text message, both ways.
//!
//! A client is pinged, and given up when it is silent in spite of that or does not read. What ends a connection is told
//! in its close code: 1000 the client closed it, 1001 this server stops, 1002 broken frames, 1003 binary messages, 1007
//! no UTF-8, 1008 silence, 1009 a message above the limit for bodies, 1011 its session was lost.

pub mod incoming;

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse,
    guard::GuardContext,
    http::header::{self, HeaderMap},
    web,
};
use actix_ws::{CloseCode, CloseReason, Message, Session};
use bytes::Bytes;
use futures_util::SinkExt;
use switchyard_mcp::{Refusal, RpcError};
use tokio::{sync::mpsc, time::timeout};
use tracing::debug;

use crate::{
    conversation::{Conversation, FAREWELL, Over},
    dispatch::Dispatch,
    http,
    places::Place,
    silence::{Grown, Silence},
};

use incoming::{Incoming, Received};

/// The subprotocol, chosen where the client offers it.
const SUBPROTOCOL: &str = "mcp";

/// Whether a request asks for an upgrade to WebSocket.
pub fn is_upgrade(context: &GuardContext<'_>) -> bool {
    asks_for_upgrade(&context.head().headers)
}

fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    let mut upgrades = headers.get_all(header::UPGRADE).filter_map(|value| value.to_str().ok());
    upgrades.any(|value| value.split(',').any(|protocol| protocol.trim().eq_ignore_ascii_case("websocket")))
}

/// Begins a conversation, unless its sender may not.
pub async fn upgrade(request: HttpRequest, payload: web::Payload, dispatch: web::Data<Dispatch>) -> HttpResponse {
    open(&request, payload, &dispatch).unwrap_or_else(http::refused)
}

fn open(request: &HttpRequest, payload: web::Payload, dispatch: &Dispatch) -> Result<HttpResponse, Refusal> {
    http::check_sender(request, dispatch)?;
    if !asks_for_upgrade(request.headers()) {
        return Err(Refusal::new(426, RpcError::invalid_request("this address takes upgrades to WebSocket")));
    }
    let place = dispatch.gateway.connection("websocket")?;
    let limit = dispatch.gateway.options.max_body_bytes;
    let payload = incoming::without_oversize(request, payload, limit);
    match actix_ws::handle_with_protocols(request, payload, &[SUBPROTOCOL]) {
        Ok((response, session, messages)) => {
            // Owned by the connection: it ends when the client hangs up or is given up, or when the gateway drains.
            actix_rt::spawn(converse(dispatch.clone(), session, Incoming::new(messages, limit), place));
            Ok(response)
        }
        Err(error) => Ok(error.error_response()),
    }
}

async fn converse(dispatch: Dispatch, session: Session, incoming: Incoming, _place: Place) {
    let options = &dispatch.gateway.options;
    let (patience, silence) = (options.write_timeout, Silence::new(options.keep_alive, options.idle_timeout));
    let (mut conversation, frames) = Conversation::new(dispatch.clone(), whole);
    let mut writing = actix_rt::spawn(write(frames, session.clone(), patience));

    let reason = listen(&mut conversation, incoming, session.clone(), silence, patience).await;
    conversation.hang_up().await;
    // What was said before the end comes before it.
    _ = timeout(FAREWELL, &mut writing).await;
    writing.abort();
    if let Some(reason) = reason {
        debug!(code = ?reason.code, reason = reason.description, "a connection is closed");
        // A client that is gone does not miss it.
        _ = timeout(FAREWELL, session.close(Some(reason))).await;
    }
}

/// Hears the client until there is no use in it, and returns what to tell it then; `None` when it is gone.
async fn listen(
    conversation: &mut Conversation,
    mut incoming: Incoming,
    mut session: Session,
    mut silence: Silence,
    patience: Duration,
) -> Option<CloseReason> {
    loop {
        let received = tokio::select! {
            received = incoming.next() => received,
            over = conversation.over() => return told(over),
            grown = silence.grown() => match grown {
                Grown::Ask => match timeout(patience, session.ping(b"")).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(_)) | Err(_) => return None,
                },
                Grown::TooLong => return told(Over::Silent),
            },
        };
        silence.broken();
        match received {
            Received::Message(message) => conversation.receive(message).await,
            Received::Ping(bytes) => match timeout(patience, session.pong(&bytes)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return None,
            },
            Received::Pong => {}
            Received::Close(reason) => return Some(reason.unwrap_or_else(|| CloseCode::Normal.into())),
            Received::Bad(code, why) => return Some(CloseReason { code, description: Some(why.to_owned()) }),
            Received::End => return None,
        }
    }
}

fn told(over: Over) -> Option<CloseReason> {
    let (code, why) = match over {
        Over::Deaf => return None,
        Over::Silent => (CloseCode::Policy, "nothing was heard for too long"),
        Over::Lost => (CloseCode::Error, "the session was lost; connect again"),
        Over::Dismissed => (CloseCode::Away, "this server stops; connect again"),
    };
    Some(CloseReason { code, description: Some(why.to_owned()) })
}

/// A message is a frame as it is.
fn whole(json: &str) -> Bytes {
    Bytes::copy_from_slice(json.as_bytes())
}

/// Writes frames for as long as there are any, and the client takes them.
async fn write(mut frames: mpsc::Receiver<Bytes>, mut session: Session, patience: Duration) {
    while let Some(frame) = frames.recv().await {
        let Ok(text) = frame.try_into() else { continue };
        if !matches!(timeout(patience, session.send(Message::Text(text))).await, Ok(Ok(()))) {
            return;
        }
    }
}

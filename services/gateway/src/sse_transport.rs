//! HTTP+SSE: `GET /sse` opens a stream whose first event says where to POST messages, and whose end is the session's.
//!
//! The stream lives at this gateway, while a POST may come in at any: the id in its address names the node and the
//! conversation, and a POST that comes in elsewhere is handed over, and taken there before its client hears 202. The
//! address is relative to the stream's own, so that it is right behind a proxy that strips a prefix.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self},
    web,
};
use bytes::Bytes;
use serde::Deserialize;
use switchyard_mcp::{Refusal, RpcError, jsonrpc, jsonrpc::DecodeError};
use switchyard_state::NodeId;

use crate::{
    conversation::Conversation,
    dispatch::Dispatch,
    failure, http,
    ledger::{Handed, OpenConversation},
    letters,
    media::{self, Accepts},
    places::Place,
    silence::Silence,
    sse,
};

/// The query of a POST.
#[derive(Deserialize)]
struct Addressee {
    session_id: String,
}

/// Serves the two addresses.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/sse").route(web::get().to(get)).default_service(web::to(async || not_allowed("GET"))));
    config.service(
        web::resource("/messages").route(web::post().to(post)).default_service(web::to(async || not_allowed("POST"))),
    );
}

async fn get(request: HttpRequest, dispatch: web::Data<Dispatch>) -> HttpResponse {
    open(&request, &dispatch).unwrap_or_else(http::refused)
}

fn open(request: &HttpRequest, dispatch: &Dispatch) -> Result<HttpResponse, Refusal> {
    http::check_sender(request, dispatch)?;
    if !Accepts::of(request.headers())?.streams() {
        return Err(media::not_acceptable("this is `text/event-stream`"));
    }
    let gateway = &dispatch.gateway;
    let place = gateway.connection("sse")?;
    let name = format!("{}.{}", gateway.node, uuid::Uuid::new_v4().simple());
    let (conversation, frames) = Conversation::new(dispatch.clone(), sse::event);
    conversation.begin_with(Bytes::from(format!("event: endpoint\ndata: messages?session_id={name}\n\n")));
    // Owned by the stream: it ends when the client hangs up or is given up, or when the gateway drains.
    actix_rt::spawn(converse(dispatch.clone(), conversation, gateway.ledger.converse(&name), place));
    Ok(http::stream(dispatch, frames))
}

async fn converse(dispatch: Dispatch, mut conversation: Conversation, mut messages: OpenConversation, _place: Place) {
    let idle = dispatch.gateway.options.idle_timeout;
    let mut silence = Silence::new(idle / 2, idle);
    loop {
        let message = tokio::select! {
            message = messages.next() => message,
            _ = conversation.over_or_silent(&mut silence) => break,
        };
        silence.broken();
        conversation.receive(message).await;
    }
    // From here on its POSTs are 404.
    drop(messages);
    conversation.hang_up().await;
}

async fn post(request: HttpRequest, payload: web::Payload, dispatch: web::Data<Dispatch>) -> HttpResponse {
    match take(&request, payload, &dispatch).await {
        Ok(()) => HttpResponse::Accepted().finish(),
        Err(refusal) => http::refused(refusal),
    }
}

async fn take(request: &HttpRequest, payload: web::Payload, dispatch: &Dispatch) -> Result<(), Refusal> {
    http::check_sender(request, dispatch)?;
    let body = http::read_body(request, payload, dispatch).await?;
    let addressee = web::Query::<Addressee>::from_query(request.query_string()).map_err(|_| {
        let error = RpcError::invalid_request("`session_id` is missing; the first event of `GET /sse` has it");
        Refusal::new(400, error)
    })?;
    if let Err(error) = jsonrpc::decode(&body) {
        let error = match error {
            DecodeError::Batch => {
                RpcError::invalid_request("the body must be one message; an array of them is not taken")
            }
            DecodeError::Invalid { error, .. } => error,
        };
        return Err(Refusal::new(400, error));
    }
    hand_over(dispatch, &addressee.session_id, body).await
}

/// Hands a message to its conversation, wherever that is.
async fn hand_over(dispatch: &Dispatch, conversation: &str, body: Bytes) -> Result<(), Refusal> {
    let gateway = &dispatch.gateway;
    let node = conversation.split_once('.').map(|(node, _)| NodeId(node.to_owned()));
    let handed = match node {
        None => Handed::Nobody,
        Some(node) if node == gateway.node => gateway.ledger.hand_over(conversation, body),
        // A gateway that is gone has taken its streams along.
        Some(node) if !dispatch.bus.gateways.others().contains(&node) => Handed::Nobody,
        Some(node) => letters::hand_over_elsewhere(&dispatch.bus, &node, conversation, body).await,
    };
    match handed {
        Handed::Over => Ok(()),
        Handed::Full => {
            Err(failure::overloaded("this stream's gateway cannot take the message now; try again shortly"))
        }
        Handed::Nobody => {
            let error = RpcError::invalid_request("there is no such stream; `GET /sse` opens a new one");
            Err(Refusal::new(404, error))
        }
    }
}

fn not_allowed(method: &'static str) -> HttpResponse {
    HttpResponse::MethodNotAllowed().insert_header((header::ALLOW, method)).finish()
}

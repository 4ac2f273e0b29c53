//! Streamable HTTP at `/mcp` and `/`: both eras at one address.
//!
//! The order of the checks is part of the protocol: who may speak to us, then size, media types and JSON, then what
//! the message's era demands. An error's status is fixed by then, and a stream begins only after that.

mod answers;
mod body;
mod headers;

use std::borrow::Cow;

use actix_web::{
    HttpRequest, HttpResponse, guard,
    http::header::{self, HeaderName, HeaderValue},
    web,
};
use bytes::Bytes;
use switchyard_mcp::{
    Headers, Id, Message, Method, Params, Refusal, Request, Revision, RpcError, era,
    era::Era,
    jsonrpc::{self, DecodeError},
    meta::Meta,
    modern,
};

use crate::{
    batch, connection,
    dispatch::{Asked, Dispatch, Reply},
    event_id::EventId,
    media::{self, Accepts},
    observe::{Observed, Seen},
    resuming,
    running::{self, Running},
    sessions::{Live, gone},
    sse, websocket,
};

pub use answers::{array, refused, stream};
pub use body::read_body;

use answers::{Failed, finish, not_allowed, respond, undecodable, whole};
use headers::{LAST_EVENT, ProtocolHeaders, SESSION, joined, session_header, trace_headers};

/// Serves the endpoint at its two paths.
pub fn routes(config: &mut web::ServiceConfig) {
    for path in ["/mcp", "/"] {
        config.service(
            web::resource(path)
                .route(web::post().to(post))
                .route(web::get().guard(guard::fn_guard(websocket::is_upgrade)).to(websocket::upgrade))
                .route(web::get().to(get))
                .route(web::delete().to(delete))
                .default_service(web::to(other_verb)),
        );
    }
    config.service(web::resource("/ws").route(web::get().to(websocket::upgrade)));
}

async fn post(request: HttpRequest, payload: web::Payload, dispatch: web::Data<Dispatch>) -> HttpResponse {
    receive(&request, payload, &dispatch).await.unwrap_or_else(|failed| failed.into_response())
}

async fn receive(request: &HttpRequest, payload: web::Payload, dispatch: &Dispatch) -> Result<HttpResponse, Failed> {
    check_sender(request, dispatch)?;
    let body = read_body(request, payload, dispatch).await?;
    let accepts = Accepts::of(request.headers())?;
    let headers = ProtocolHeaders::of(request.headers());
    let session = session_header(request.headers());
    let message = match jsonrpc::decode(&body) {
        Err(DecodeError::Batch) if session.is_some() => {
            let live = find_session(dispatch, session, &headers).await?;
            if !live.revision.has_batches() {
                return Err(undecodable(DecodeError::Batch));
            }
            return Ok(batch::receive(request, dispatch, live, &body, accepts).await?);
        }
        message => message.map_err(undecodable)?,
    };
    let (method, params) = match &message {
        Message::Request(request) => (Some(request.method.as_ref()), request.params),
        Message::Notification { method, params } => (Some(method.as_ref()), *params),
        Message::Response { .. } => (None, None),
    };
    // Parameters of the wrong form have no `_meta`; whoever reads them later says what is wrong.
    let meta = Meta::read(Params::read(params).unwrap_or_default().meta);
    let with_id = |refusal| Failed { refusal, id: id_of(&message) };
    let era = era::classify(method, &meta, &headers.borrowed(), session.is_some()).map_err(with_id)?;
    match (era, message) {
        (Era::Modern, Message::Request(asked)) => {
            ask_modern(request, dispatch, &asked, &headers.borrowed(), accepts).await
        }
        (Era::Modern, Message::Notification { .. }) => Ok(HttpResponse::Accepted().finish()),
        (Era::Modern, Message::Response { .. }) => {
            let error = RpcError::invalid_request("there is nothing to answer: this revision asks by results");
            Err(Refusal::new(400, error).into())
        }
        (Era::Handshake, Message::Request(asked)) => handshake(dispatch, &asked, session, accepts).await,
        (Era::Handshake, _) => Err(Refusal::new(400, RpcError::invalid_request("`initialize` is a request")).into()),
        (Era::Session, message) => {
            let id = id_of(&message);
            let live = find_session(dispatch, session, &headers).await.map_err(|refusal| Failed { refusal, id })?;
            in_session(request, dispatch, live, message, &body, accepts).await
        }
    }
}

async fn ask_modern(
    request: &HttpRequest,
    dispatch: &Dispatch,
    asked: &Request<'_>,
    headers: &Headers<'_>,
    accepts: Accepts,
) -> Result<HttpResponse, Failed> {
    let with_id = |refusal| Failed { refusal, id: Some(asked.id.clone()) };
    let checked = modern::check(asked, Some(headers)).map_err(with_id)?;
    if checked.method == Method::SubscriptionsListen && !accepts.streams() {
        return Err(with_id(media::not_acceptable("a stream of notifications is `text/event-stream`")));
    }

    // A name that is missing is refused by whoever needs it.
    let target = checked.params.name_for(checked.method).ok();
    let seen = Seen {
        id: &asked.id,
        method: &asked.method,
        revision: checked.revision,
        session: None,
        target: target.as_deref(),
        trace: trace_headers(request.headers()),
    };
    let gateway = &dispatch.gateway;
    let observed = Observed::begin(gateway.metrics.clone(), &gateway.node.0, seen, &checked.meta);
    let trace = observed.context();
    let lookup = |name: &str| joined(request.headers(), name);
    let asking = Asked {
        revision: checked.revision,
        method: checked.method,
        params: checked.params,
        meta: checked.meta,
        capabilities: checked.capabilities,
        principal: "",
        session: None,
        log_level: checked.meta.log_level().ok().flatten(),
        headers: Some(&lookup),
        trace: &trace,
    };
    let ticket = gateway.ledger.calls.enter().map_err(with_id)?;
    match dispatch.ask(&asking).await {
        Ok(Reply::Result(result)) => Ok(finish(dispatch, &asked.id, Ok(result), accepts, observed)),
        Ok(Reply::Call(call)) => {
            Ok(respond(dispatch, None, asked.id.clone(), Running::Here { call, _ticket: ticket }, accepts, observed)
                .await)
        }
        Ok(Reply::Listen(filter)) => {
            drop(ticket);
            let frames = connection::listen(dispatch, &asked.id, filter, checked.revision, sse::event).await;
            let frames = frames.map_err(with_id)?;
            observed.succeeded();
            Ok(stream(dispatch, frames))
        }
        Err(refusal) => Ok(finish(dispatch, &asked.id, Err(refusal), accepts, observed)),
    }
}

async fn handshake(
    dispatch: &Dispatch,
    asked: &Request<'_>,
    session: Option<Cow<'_, str>>,
    accepts: Accepts,
) -> Result<HttpResponse, Failed> {
    let with_id = |refusal| Failed { refusal, id: Some(asked.id.clone()) };
    if let Some(session) = session {
        dispatch.session(&session, "").await.map_err(with_id)?;
        let error = RpcError::invalid_request("this session is open already; `initialize` comes without a session id");
        return Err(with_id(Refusal::new(400, error)));
    }
    let (live, result) = dispatch.open_session(asked.params, "").await.map_err(with_id)?;
    dispatch.gateway.metrics.sessions_opened.inc();
    let message = jsonrpc::success(&asked.id, &result);
    let mut response = whole(dispatch, 200, message, accepts);
    let id = HeaderValue::from_str(&live.record.id.0).expect("a session's id is visible ASCII");
    response.headers_mut().insert(SESSION, id);
    Ok(response)
}

async fn in_session(
    request: &HttpRequest,
    dispatch: &Dispatch,
    live: Live,
    message: Message<'_>,
    body: &Bytes,
    accepts: Accepts,
) -> Result<HttpResponse, Failed> {
    let asked = match message {
        Message::Request(asked) => asked,
        Message::Notification { method, params } => {
            dispatch.note_in_session(&live, &method, params).await?;
            return Ok(HttpResponse::Accepted().finish());
        }
        Message::Response { id } => {
            dispatch.answer_in_session(&live, &id, body).await;
            return Ok(HttpResponse::Accepted().finish());
        }
    };

    let (observed, is_call) = begin_in_session(request, dispatch, &live, &asked);
    let trace = observed.context();
    if is_call {
        let entered = dispatch.gateway.ledger.calls.enter_named(&live.record.id.0, &asked.id);
        let entered = entered.map_err(|refusal| Failed { refusal, id: Some(asked.id.clone()) })?;
        let whom = if accepts.streams() { live.clone() } else { live.clone().without_questions() };
        let running = running::detach(dispatch, whom, body.clone(), trace, entered);
        return Ok(respond(dispatch, Some(&live), asked.id, running, accepts, observed).await);
    }
    let done = match dispatch.ask_in_session(&live, &asked, &trace).await {
        Ok(Reply::Result(result)) => Ok(result),
        Ok(Reply::Call(_) | Reply::Listen(_)) => Err(Refusal::method_not_found(&asked.method)),
        Err(refusal) => Err(refusal),
    };
    Ok(finish(dispatch, &asked.id, done, accepts, observed))
}

/// Notes that a session's request begins. `true` with it when the request is a call.
pub fn begin_in_session(
    request: &HttpRequest,
    dispatch: &Dispatch,
    live: &Live,
    asked: &Request<'_>,
) -> (Observed, bool) {
    let params = Params::read(asked.params).unwrap_or_default();
    let method = Method::named(&asked.method, live.revision);
    let target = method.and_then(|method| params.name_for(method).ok());
    let seen = Seen {
        id: &asked.id,
        method: &asked.method,
        revision: live.revision,
        session: Some(&live.record.id.0),
        target: target.as_deref(),
        trace: trace_headers(request.headers()),
    };
    let gateway = &dispatch.gateway;
    let observed = Observed::begin(gateway.metrics.clone(), &gateway.node.0, seen, &Meta::read(params.meta));
    (observed, method.is_some_and(Method::is_call))
}

async fn get(request: HttpRequest, dispatch: web::Data<Dispatch>) -> HttpResponse {
    open_stream(&request, &dispatch).await.unwrap_or_else(|refusal| Failed::from(refusal).into_response())
}

async fn open_stream(request: &HttpRequest, dispatch: &Dispatch) -> Result<HttpResponse, Refusal> {
    check_sender(request, dispatch)?;
    let headers = ProtocolHeaders::of(request.headers());
    let Some(session) = session_header(request.headers()) else {
        return Ok(not_allowed("without a session there is no stream to get"));
    };
    if !Accepts::of(request.headers())?.streams() {
        return Err(media::not_acceptable("a session's stream is `text/event-stream`"));
    }
    let live = find_session(dispatch, Some(session), &headers).await?;
    let last = request.headers().get(LAST_EVENT).filter(|_| live.revision.can_resume());
    let frames = match last.map(|last| last.to_str().ok().and_then(EventId::parse)) {
        None => connection::stand_or_resume(dispatch, &live, None).await?,
        Some(Some(EventId::Standing(passed))) => connection::stand_or_resume(dispatch, &live, Some(passed)).await?,
        Some(Some(EventId::Reply { stream, number })) => resuming::resume(dispatch, &live, stream, number).await?,
        Some(None) => return Err(resuming::unknown_event()),
    };
    Ok(stream(dispatch, frames))
}

async fn delete(request: HttpRequest, dispatch: web::Data<Dispatch>) -> HttpResponse {
    end_session(&request, &dispatch).await.unwrap_or_else(|refusal| Failed::from(refusal).into_response())
}

async fn end_session(request: &HttpRequest, dispatch: &Dispatch) -> Result<HttpResponse, Refusal> {
    check_sender(request, dispatch)?;
    let headers = ProtocolHeaders::of(request.headers());
    let session = session_header(request.headers()).ok_or_else(|| {
        Refusal::new(400, RpcError::invalid_request("the `Mcp-Session-Id` header says which session to end"))
    })?;
    let live = find_session(dispatch, Some(session), &headers).await?;
    dispatch.end_session(&live).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn other_verb(request: HttpRequest, dispatch: web::Data<Dispatch>) -> HttpResponse {
    if let Err(refusal) = check_sender(&request, &dispatch) {
        return Failed::from(refusal).into_response();
    }
    not_allowed("this address takes POST, and GET and DELETE within a session")
}

/// Whether this web page, and by this name, may speak to us at all.
pub fn check_sender(request: &HttpRequest, dispatch: &Dispatch) -> Result<(), Refusal> {
    let text = |name: HeaderName| request.headers().get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"));
    let access = &dispatch.gateway.access;
    let refused = |why: &switchyard_access::AccessError| Refusal::new(403, RpcError::invalid_request(why.to_string()));
    access.check_host(text(header::HOST)).map_err(|error| refused(&error))?;
    access.check_origin(text(header::ORIGIN)).map_err(|error| refused(&error))
}

/// The session that a request names, with its version header checked where the session's revision has one.
async fn find_session(
    dispatch: &Dispatch,
    session: Option<Cow<'_, str>>,
    headers: &ProtocolHeaders<'_>,
) -> Result<Live, Refusal> {
    let session = session.ok_or_else(gone)?;
    let live = dispatch.session(&session, "").await?;
    if let (true, Some(version)) = (live.revision.checks_version_header(), &headers.version) {
        let version = String::from_utf8_lossy(version.trim_ascii());
        if Revision::named(&version).is_none() {
            return Err(Refusal::unsupported_version(&version));
        }
    }
    Ok(live)
}

fn id_of(message: &Message<'_>) -> Option<Id> {
    match message {
        Message::Request(request) => Some(request.id.clone()),
        Message::Notification { .. } | Message::Response { .. } => None,
    }
}

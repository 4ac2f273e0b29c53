//! Streamable HTTP at `/mcp` and `/`: both eras at one address.
//!
//! The order of the checks is part of the protocol: who may speak to us, then size, media types and JSON, then what
//! the message's era demands. An error's status is fixed by then, and a stream begins only after that.

use std::{borrow::Cow, time::Duration};

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder, guard,
    http::{
        StatusCode,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
    web,
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use switchyard_mcp::{
    Headers, Id, Message, Method, Params, Refusal, Request, Revision, RpcError, era,
    era::Era,
    jsonrpc::{self, DecodeError},
    meta::Meta,
    modern,
};
use switchyard_telemetry::trace::TraceContext;
use tokio::{sync::mpsc, time::timeout};

use crate::{
    batch, connection,
    dispatch::{Asked, Dispatch, Reply},
    event_id::EventId,
    media::{self, Accepts},
    observe::{Observed, Seen},
    replies::{self, Speech, Word},
    resuming,
    running::{self, Outcome, Running},
    sessions::{Live, gone},
    sse, websocket,
};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long a client should wait before it tries again what was refused because of load or an outage, in seconds.
const RETRY_AFTER: &str = "1";

/// Why a request gets no result: what its client is told, under which id.
struct Failed {
    refusal: Refusal,
    id: Option<Id>,
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, id: None }
    }
}

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
            Ok(respond(dispatch, asked.id.clone(), Running::Here { call, _ticket: ticket }, accepts, observed).await)
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
        let running = running::detach(dispatch, live.clone(), body.clone(), trace, entered);
        return Ok(reply(dispatch, &live, asked.id, running, accepts, observed).await);
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

fn not_allowed(why: &'static str) -> HttpResponse {
    let mut response = HttpResponse::MethodNotAllowed();
    response.insert_header((header::ALLOW, "POST, GET, DELETE"));
    json(&mut response, jsonrpc::failure(None, false, &RpcError::invalid_request(why)))
}

/// Whether this web page, and by this name, may speak to us at all.
pub fn check_sender(request: &HttpRequest, dispatch: &Dispatch) -> Result<(), Refusal> {
    let text = |name: HeaderName| request.headers().get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"));
    let access = &dispatch.gateway.access;
    let refused = |why: &switchyard_access::AccessError| Refusal::new(403, RpcError::invalid_request(why.to_string()));
    access.check_host(text(header::HOST)).map_err(|error| refused(&error))?;
    access.check_origin(text(header::ORIGIN)).map_err(|error| refused(&error))
}

/// The whole body, within its limits of size and time.
///
/// # Errors
/// 408, 413 or 415, and 400 for one that breaks off.
pub async fn read_body(request: &HttpRequest, payload: web::Payload, dispatch: &Dispatch) -> Result<Bytes, Refusal> {
    let options = &dispatch.gateway.options;
    let limit = options.max_body_bytes;
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return Err(media::too_large(limit));
    }
    media::check_content_type(request.headers())?;
    match timeout(options.body_timeout, collect(payload, limit, length)).await {
        Ok(body) => body,
        Err(_) => {
            let limit = options.body_timeout.as_secs_f64();
            let error = RpcError::invalid_request(format!("the body did not arrive within {limit} s"));
            Err(Refusal::new(408, error))
        }
    }
}

async fn collect(mut payload: web::Payload, limit: usize, length: Option<u64>) -> Result<Bytes, Refusal> {
    let broken = |_| Refusal::new(400, RpcError::new(RpcError::PARSE, "the body broke off"));
    let Some(first) = payload.next().await else { return Ok(Bytes::new()) };
    let first = first.map_err(broken)?;
    if length == Some(first.len() as u64) {
        return Ok(first);
    }
    let mut body = BytesMut::from(first.as_ref());
    while let Some(chunk) = payload.next().await {
        body.extend_from_slice(&chunk.map_err(broken)?);
        if body.len() > limit {
            return Err(media::too_large(limit));
        }
    }
    if body.len() > limit {
        return Err(media::too_large(limit));
    }
    Ok(body.freeze())
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

/// Answers with the call's result where it is quick or the client takes no streams, else with a stream.
async fn respond(dispatch: &Dispatch, id: Id, running: Running, accepts: Accepts, observed: Observed) -> HttpResponse {
    let patience = accepts.streams().then_some(dispatch.gateway.options.stream_after);
    match running::first_word(running, patience).await {
        Outcome::Done(done) => finish(dispatch, &id, done, accepts, observed),
        Outcome::Cancelled => {
            let (_, frames) = running::frames();
            stream(dispatch, frames)
        }
        Outcome::Goes(running, first) => {
            let (sender, frames) = running::frames();
            // Owned by the response: it ends when the call does, or when the client hangs up.
            actix_rt::spawn(running::carry(running, first, id, sender, sse::event, observed));
            stream(dispatch, frames)
        }
    }
}

/// Answers a session's call as [`respond`] does, but keeps what becomes a stream for its client to go on with.
async fn reply(
    dispatch: &Dispatch,
    live: &Live,
    id: Id,
    running: Running,
    accepts: Accepts,
    observed: Observed,
) -> HttpResponse {
    let patience = accepts.streams().then_some(dispatch.gateway.options.stream_after);
    match running::first_word(running, patience).await {
        Outcome::Done(done) => finish(dispatch, &id, done, accepts, observed),
        Outcome::Cancelled => {
            let (_, frames) = running::frames();
            stream(dispatch, frames)
        }
        Outcome::Goes(running, first) => {
            let (sender, frames) = running::frames();
            let kept = replies::Reply::new(dispatch, live, std::slice::from_ref(&id));
            // It may be a question, and a notice that came first is not missed either.
            let first = first.map(Word::Question).into_iter().collect();
            // Ends with the call, whatever becomes of the response.
            actix_rt::spawn(kept.carry(first, Speech::Call { running, id, observed: Some(observed) }, sender));
            stream(dispatch, frames)
        }
    }
}

/// A whole answer, as JSON, or as a stream of one event for a client that takes nothing else.
fn finish(
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
fn whole(dispatch: &Dispatch, status: u16, message: String, accepts: Accepts) -> HttpResponse {
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

impl Failed {
    fn into_response(self) -> HttpResponse {
        let mut response = builder(self.refusal.status);
        if self.refusal.status == 413 || self.refusal.status == 408 {
            // The rest of the body was not read, and will not be.
            response.force_close();
        }
        json(&mut response, jsonrpc::failure(self.id.as_ref(), false, &self.refusal.error))
    }
}

fn undecodable(error: DecodeError) -> Failed {
    match error {
        DecodeError::Batch => {
            let error = RpcError::invalid_request("the body must be one message; an array of them is not taken");
            Refusal::new(400, error).into()
        }
        DecodeError::Invalid { id, error } => Failed { refusal: Refusal::new(400, error), id },
    }
}

fn id_of(message: &Message<'_>) -> Option<Id> {
    match message {
        Message::Request(request) => Some(request.id.clone()),
        Message::Notification { .. } | Message::Response { .. } => None,
    }
}

fn session_header(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    headers.get(SESSION).map(|value| String::from_utf8_lossy(value.as_bytes()))
}

fn trace_headers(headers: &HeaderMap) -> TraceContext {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    text("traceparent")
        .and_then(|parent| TraceContext::from_headers(parent, text("tracestate").unwrap_or_default()))
        .unwrap_or_default()
}

/// A header's value; one that came more than once is joined, and so equals nothing.
fn joined(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<Cow<'_, [u8]>> {
    let mut values = headers.get_all(name).map(|value| value.as_bytes());
    let first = values.next()?;
    let mut all = Cow::Borrowed(first);
    for value in values {
        all.to_mut().extend_from_slice(b", ");
        all.to_mut().extend_from_slice(value);
    }
    Some(all)
}

/// The protocol's own headers; one that came more than once is joined, and so equals nothing.
struct ProtocolHeaders<'a> {
    version: Option<Cow<'a, [u8]>>,
    method: Option<Cow<'a, [u8]>>,
    name: Option<Cow<'a, [u8]>>,
}

impl<'a> ProtocolHeaders<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        Self { version: joined(headers, VERSION), method: joined(headers, METHOD), name: joined(headers, NAME) }
    }

    fn borrowed(&self) -> Headers<'_> {
        Headers { version: self.version.as_deref(), method: self.method.as_deref(), name: self.name.as_deref() }
    }
}

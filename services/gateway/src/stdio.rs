//! One client on a byte stream: newline-delimited messages in, newline-delimited messages out.
//!
//! The connection is the session. Both eras may mix on it: a line with a modern `_meta` stands for itself, any other
//! belongs to the session that `initialize` opened. When the input ends, what runs is finished within a few seconds.

use std::{collections::HashMap, io, time::Duration};

use bytes::Bytes;
use switchyard_mcp::{
    Id, Message, Method, Params, Refusal, Request, Revision, RpcError, jsonrpc, jsonrpc::DecodeError, meta::Meta,
    modern, results,
};
use switchyard_telemetry::trace::TraceContext;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::timeout,
};

use crate::{
    connection,
    dispatch::{Asked, Dispatch, Reply},
    observe::{Observed, Seen},
    running::{self, Outcome, Running, cancelled_id},
    sessions::Live,
    sse::one_line,
};

/// How many lines wait for a client that is slow to read them.
const LINES: usize = 256;

/// How long requests that run may take once the input has ended.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves the client until its input ends.
///
/// # Errors
/// Reading or writing failed.
pub async fn serve(
    dispatch: Dispatch,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + 'static,
) -> io::Result<()> {
    let (lines, written) = mpsc::channel(LINES);
    let writing = actix_rt::spawn(write(written, output));
    let mut conversation = Conversation {
        dispatch,
        lines,
        session: None,
        name: format!("stdio.{}", uuid::Uuid::new_v4().simple()),
        tasks: JoinSet::new(),
        listens: HashMap::new(),
    };
    conversation.read(input).await?;
    conversation.end().await;
    drop(conversation);
    match timeout(FAREWELL, writing).await {
        Ok(written) => written.unwrap_or(Ok(())),
        Err(_) => Ok(()),
    }
}

async fn write(mut lines: mpsc::Receiver<Bytes>, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(&line).await?;
        output.flush().await?;
    }
    Ok(())
}

/// A message as a line.
fn line(json: &str) -> Bytes {
    let mut line = one_line(json).into_owned();
    line.push('\n');
    line.into()
}

struct Conversation {
    dispatch: Dispatch,
    lines: mpsc::Sender<Bytes>,
    session: Option<Live>,
    /// Names this connection's stateless calls in the call table.
    name: String,
    /// Requests that run, and streams that are open; they end with the connection.
    tasks: JoinSet<()>,
    listens: HashMap<Id, AbortHandle>,
}

impl Conversation {
    async fn read(&mut self, input: impl AsyncRead + Unpin) -> io::Result<()> {
        let limit = self.dispatch.gateway.options.max_body_bytes;
        let mut input = BufReader::new(input);
        let mut draining = self.dispatch.gateway.draining();
        loop {
            let next = tokio::select! {
                next = next_line(&mut input, limit) => next?,
                _ = draining.wait_for(|draining| *draining) => return Ok(()),
            };
            match next {
                Line::End => return Ok(()),
                Line::TooLong => {
                    let message = format!("the line is longer than the limit of {limit} bytes");
                    self.refuse(None, &RpcError::invalid_request(message)).await;
                }
                Line::Whole(line) if line.trim_ascii().is_empty() => {}
                Line::Whole(line) => self.receive(line.into()).await,
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    /// Lets what runs come to its end, but not for long.
    async fn end(&mut self) {
        for (_, listen) in self.listens.drain() {
            listen.abort();
        }
        if let Some(session) = self.session.take()
            && let Err(refusal) = self.dispatch.end_session(&session).await
        {
            tracing::debug!(reason = %refusal.error.message, "the session of a closed connection could not be ended");
        }
        _ = timeout(FAREWELL, async { while self.tasks.join_next().await.is_some() {} }).await;
        self.tasks.shutdown().await;
    }

    async fn say(&self, message: &str) {
        // A writer that is gone means that the client is; the input will end.
        _ = self.lines.send(line(message)).await;
    }

    async fn refuse(&self, id: Option<&Id>, error: &RpcError) {
        let null_id = self.session.as_ref().is_some_and(|session| !session.revision.omits_unknown_id());
        self.say(&jsonrpc::failure(id, null_id, error)).await;
    }

    async fn receive(&mut self, body: Bytes) {
        let message = match jsonrpc::decode(&body) {
            Ok(message) => message,
            Err(DecodeError::Batch) => {
                let error = RpcError::invalid_request("a line must be one message; an array of them is not taken");
                return self.refuse(None, &error).await;
            }
            Err(DecodeError::Invalid { id, error }) => return self.refuse(id.as_ref(), &error).await,
        };
        match message {
            Message::Request(request) => self.request(&request, &body).await,
            Message::Notification { method, params } => self.note(&method, params).await,
            // Nothing was asked of the client, so there is nobody to hear it.
            Message::Response { .. } => {}
        }
    }

    async fn request(&mut self, request: &Request<'_>, body: &Bytes) {
        let meta = Meta::read(Params::read(request.params).unwrap_or_default().meta);
        if meta.is_modern() {
            return self.ask_modern(request, body.clone());
        }
        if request.method == Method::Initialize.name() {
            return self.handshake(request).await;
        }
        match &self.session {
            Some(session) => self.ask_in_session(session.clone(), request, body.clone()).await,
            None if request.method == Method::Ping.name() => {
                self.say(&jsonrpc::success(&request.id, &results::empty(switchyard_mcp::LATEST_LEGACY))).await;
            }
            None => {
                let error =
                    RpcError::invalid_request("`initialize` comes first, or a `_meta` that describes the client");
                self.refuse(Some(&request.id), &error).await;
            }
        }
    }

    async fn handshake(&mut self, request: &Request<'_>) {
        if self.session.is_some() {
            let error = RpcError::invalid_request("this session is open already");
            return self.refuse(Some(&request.id), &error).await;
        }
        let opened = self.dispatch.open_session(request.params, "").await;
        let (live, result) = match opened {
            Ok(opened) => opened,
            Err(refusal) => return self.refuse(Some(&request.id), &refusal.error).await,
        };
        self.dispatch.gateway.metrics.sessions_opened.inc();
        self.say(&jsonrpc::success(&request.id, &result)).await;
        match connection::stand(&self.dispatch, &live.record.id, line).await {
            Ok(frames) => {
                self.tasks.spawn_local(forward(frames, self.lines.clone()));
            }
            Err(refusal) => tracing::warn!(reason = %refusal.error.message, "a session has no stream for its news"),
        }
        self.session = Some(live);
    }

    async fn note(&mut self, method: &str, params: Option<&serde_json::value::RawValue>) {
        if method == "notifications/cancelled"
            && let Some(id) = cancelled_id(params)
        {
            if let Some(listen) = self.listens.remove(&id) {
                listen.abort();
            }
            self.dispatch.gateway.ledger.calls.cancel(&self.name, &id);
        }
        let Some(session) = &mut self.session else { return };
        match self.dispatch.note_in_session(session, method, params).await {
            Ok(()) => session.record.ready |= method == "notifications/initialized",
            Err(refusal) => tracing::warn!(reason = %refusal.error.message, "a notification could not be noted"),
        }
    }

    async fn ask_in_session(&mut self, session: Live, request: &Request<'_>, body: Bytes) {
        let gateway = &self.dispatch.gateway;
        let params = Params::read(request.params).unwrap_or_default();
        let target = Method::named(&request.method, session.revision).and_then(|method| params.name_for(method).ok());
        let seen = Seen {
            id: &request.id,
            method: &request.method,
            revision: session.revision,
            session: Some(&session.record.id.0),
            target: target.as_deref(),
            trace: TraceContext::default(),
        };
        let observed = Observed::begin(gateway.metrics.clone(), &gateway.node.0, seen, &Meta::read(params.meta));
        let trace = observed.context();
        if running::is_call(&request.method) {
            match gateway.ledger.calls.enter_named(&session.record.id.0, &request.id) {
                Ok(entered) => {
                    let running = running::detach(&self.dispatch, session, body, trace, entered);
                    let id = request.id.clone();
                    self.tasks.spawn_local(finish(running, id, self.lines.clone(), observed));
                }
                Err(refusal) => self.refuse(Some(&request.id), &refusal.error).await,
            }
            return;
        }
        let done = match self.dispatch.ask_in_session(&session, request, &trace).await {
            Ok(Reply::Result(result)) => Ok(result),
            Ok(Reply::Call(_) | Reply::Listen(_)) => Err(Refusal::method_not_found(&request.method)),
            Err(refusal) => Err(refusal),
        };
        self.say(&running::answer(&request.id, &done)).await;
        running::settle(observed, &done);
    }

    /// A stateless request runs as a task of its own; what it is told of depends on nothing before it.
    fn ask_modern(&mut self, request: &Request<'_>, body: Bytes) {
        let (dispatch, lines, name) = (self.dispatch.clone(), self.lines.clone(), self.name.clone());
        let task = self.tasks.spawn_local(async move {
            if let Err(failed) = answer_modern(&dispatch, &body, &name, lines.clone()).await {
                _ = lines.send(line(&failed)).await;
            }
        });
        if request.method == Method::SubscriptionsListen.name() {
            self.listens.retain(|_, listen| !listen.is_finished());
            self.listens.insert(request.id.clone(), task);
        }
    }
}

/// Answers one stateless request. The error is the JSON text of the message that refuses it.
async fn answer_modern(dispatch: &Dispatch, body: &[u8], name: &str, lines: mpsc::Sender<Bytes>) -> Result<(), String> {
    let Ok(Message::Request(request)) = jsonrpc::decode(body) else { return Ok(()) };
    let id = request.id.clone();
    let refused = |refusal: Refusal| jsonrpc::failure(Some(&id), false, &refusal.error);
    let checked = modern::check(&request, None).map_err(refused)?;
    let gateway = &dispatch.gateway;
    let target = checked.params.name_for(checked.method).ok();
    let seen = Seen {
        id: &id,
        method: &request.method,
        revision: checked.revision,
        session: None,
        target: target.as_deref(),
        trace: TraceContext::default(),
    };
    let observed = Observed::begin(gateway.metrics.clone(), &gateway.node.0, seen, &checked.meta);
    let trace = observed.context();
    let asked = Asked {
        revision: checked.revision,
        method: checked.method,
        params: checked.params,
        meta: checked.meta,
        capabilities: checked.capabilities,
        principal: "",
        session: None,
        trace: &trace,
    };

    let (ticket, cancelled) = gateway.ledger.calls.enter_named(name, &id).map_err(refused)?;
    let answering = async {
        match dispatch.ask(&asked).await {
            Ok(Reply::Call(call)) => {
                finish(Running::Here { call, _ticket: ticket }, id.clone(), lines, observed).await;
            }
            Ok(Reply::Listen(filter)) => {
                drop(ticket);
                observed.succeeded();
                listen(dispatch, &id, filter, checked.revision, lines).await;
            }
            Ok(Reply::Result(result)) => say(&lines, &id, Ok(result), observed).await,
            Err(refusal) => say(&lines, &id, Err(refusal), observed).await,
        }
    };
    // Once cancelled, nothing more may be said of it.
    tokio::select! {
        Ok(()) = cancelled => {}
        () = answering => {}
    }
    Ok(())
}

async fn listen(
    dispatch: &Dispatch,
    id: &Id,
    filter: switchyard_mcp::notifications::Filter,
    revision: Revision,
    lines: mpsc::Sender<Bytes>,
) {
    match connection::listen(dispatch, id, filter, revision, line).await {
        Ok(frames) => forward(frames, lines).await,
        Err(refusal) => _ = lines.send(line(&jsonrpc::failure(Some(id), false, &refusal.error))).await,
    }
}

/// Says the answer of a request, and notes how it ended.
async fn say(lines: &mpsc::Sender<Bytes>, id: &Id, done: Result<String, Refusal>, observed: Observed) {
    _ = lines.send(line(&running::answer(id, &done))).await;
    running::settle(observed, &done);
}

/// Says what a call has to say, to its end.
async fn finish(running: Running, id: Id, lines: mpsc::Sender<Bytes>, observed: Observed) {
    match running::first_word(running, Some(Duration::MAX)).await {
        Outcome::Done(done) => say(&lines, &id, done, observed).await,
        Outcome::Goes(running, first) => running::carry(running, first, id, lines, line, observed).await,
        Outcome::Cancelled => {}
    }
}

async fn forward(mut frames: mpsc::Receiver<Bytes>, lines: mpsc::Sender<Bytes>) {
    while let Some(frame) = frames.recv().await {
        if lines.send(frame).await.is_err() {
            return;
        }
    }
}

enum Line {
    Whole(Vec<u8>),
    TooLong,
    End,
}

/// The next line without its end; one that is too long is read to its end and left out.
async fn next_line(input: &mut (impl AsyncBufReadExt + Unpin), limit: usize) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(if line.is_empty() && !too_long {
                Line::End
            } else if too_long {
                Line::TooLong
            } else {
                Line::Whole(line)
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let piece = end.unwrap_or(available.len());
        too_long |= line.len() + piece > limit;
        if too_long {
            line.clear();
        } else {
            line.extend_from_slice(&available[..piece]);
        }
        input.consume(end.map_or(piece, |end| end + 1));
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Whole(line) });
        }
    }
}

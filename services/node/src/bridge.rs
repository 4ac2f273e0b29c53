//! `switchyard stdio --connect URL`: a client that starts its servers itself, talking to one that is elsewhere.
//!
//! Each line is a POST, and what comes back are lines. A session's own stream is opened after the handshake, and again
//! whenever it breaks; it ends with the input. Stateless requests get the headers that a client over HTTP would send.
//! What fails on the way is the error of the request that it fails, and nothing goes unanswered.

mod answers;
mod headers;
mod remote;

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{Url, header::HeaderMap};
use switchyard_gateway::stdio::{self, Line, line};
use switchyard_mcp::{Id, Message, Method, Params, Request, RpcError, jsonrpc, jsonrpc::DecodeError, meta::Meta};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::timeout,
};

use crate::{NodeError, signals::StopSignals};

use answers::{MESSAGE_LIMIT, follow, stand};
use remote::Remote;

/// How many lines wait for whoever started this process to read them.
const LINES: usize = 64;

/// How many requests run at a time; more are refused.
const REQUESTS: usize = 256;

/// How long requests that run may take once the input has ended.
const FAREWELL: Duration = Duration::from_secs(5);

struct Bridge {
    remote: Arc<Remote>,
    lines: mpsc::Sender<Bytes>,
    tasks: JoinSet<()>,
    running: HashMap<Id, Running>,
    standing: JoinSet<()>,
}

struct Running {
    task: AbortHandle,
    /// It belongs to no session.
    stateless: bool,
    listens: bool,
}

/// Bridges standard input and output to the server at `url` until the input ends.
///
/// # Errors
/// The URL is none, standard input or output failed, or the server gave the session up.
pub fn run(url: &str) -> Result<(), NodeError> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(|| {
        NodeError::Remote(format!("`{url}` is no http or https URL, such as https://mcp.example.com/mcp"))
    })?;
    let remote = Remote::new(url).map_err(|error| NodeError::Remote(format!("no HTTP can be spoken: {error}")))?;
    let failed = |source| NodeError::System { what: "standard input or output failed", source };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let bridged = runtime.block_on(bridge(Arc::new(remote)));
    // Standard input cannot be left off being read.
    runtime.shutdown_background();
    bridged
}

async fn bridge(remote: Arc<Remote>) -> Result<(), NodeError> {
    let failed = |source| NodeError::System { what: "standard input or output failed", source };
    let (lines, written) = mpsc::channel(LINES);
    let mut writing = tokio::spawn(stdio::write(written, tokio::io::stdout(), Duration::MAX));
    let mut bridge = Bridge {
        remote: remote.clone(),
        lines,
        tasks: JoinSet::new(),
        running: HashMap::new(),
        standing: JoinSet::new(),
    };
    let mut stop = StopSignals::listen();
    let ended = tokio::select! {
        // What went wrong counts, also where the input has ended by then.
        biased;
        () = remote.gone() => Err(NodeError::Remote("the server gave the session up; start again".to_owned())),
        written = &mut writing => written.unwrap_or(Ok(())).map_err(failed),
        () = stop.next() => Ok(()),
        read = bridge.read() => read.map_err(failed),
    };
    bridge.end().await;
    if !writing.is_finished() {
        _ = timeout(FAREWELL, writing).await;
    }
    ended
}

impl Bridge {
    async fn read(&mut self) -> std::io::Result<()> {
        let mut input = stdio::Lines::new(tokio::io::stdin(), MESSAGE_LIMIT);
        loop {
            match input.next().await? {
                Line::End => return Ok(()),
                Line::TooLong => self.refuse(None, &RpcError::invalid_request("the line is too long")).await,
                Line::Whole(line) if line.trim_ascii().is_empty() => {}
                Line::Whole(line) => self.take(line.into()).await,
            }
        }
    }

    async fn take(&mut self, body: Bytes) {
        while self.tasks.try_join_next().is_some() {}
        self.running.retain(|_, running| !running.task.is_finished());
        match jsonrpc::decode(&body) {
            Ok(Message::Request(request)) => self.ask(&request, &body).await,
            Ok(Message::Notification { method, params }) => {
                let params = Params::read(params).unwrap_or_default();
                self.note(&method, &params, &body).await;
            }
            Ok(Message::Response { .. }) => self.tell(body.clone(), self.remote.session_headers()).await,
            // Some revisions have batches; whether this one does is the server's to say.
            Err(DecodeError::Batch) => self.start(None, body.clone(), false),
            Err(DecodeError::Invalid { id, error }) => self.refuse(id.as_ref(), &error).await,
        }
    }

    async fn ask(&mut self, request: &Request<'_>, body: &Bytes) {
        if self.running.len() >= REQUESTS {
            let error = RpcError::internal("too many requests run already; try again shortly");
            return self.refuse(Some(&request.id), &error).await;
        }
        if request.method == Method::Initialize.name() && !is_stateless(request) {
            return self.shake_hands(&request.id, body.clone()).await;
        }
        self.start(Some(request), body.clone(), is_stateless(request));
    }

    /// Nothing of a session makes sense before it is there, so this is waited for.
    async fn shake_hands(&mut self, id: &Id, body: Bytes) {
        let remote = self.remote.clone();
        let done = async {
            let response = remote.post(body, HeaderMap::new()).await?;
            remote.enter(response.headers());
            follow(&remote, response, Some(id), &self.lines).await
        };
        match done.await {
            Ok(answer) => remote.agree(&answer),
            Err(error) => self.refuse(Some(id), &error).await,
        }
    }

    /// Runs a request, or a batch of them, beside the others.
    fn start(&mut self, request: Option<&Request<'_>>, body: Bytes, stateless: bool) {
        let headers = match request {
            Some(request) if stateless => headers::modern(&meta_of(request), Some(request), &self.remote.tools),
            _ => self.remote.session_headers(),
        };
        let id = request.map(|request| request.id.clone());
        let lists_tools = stateless && request.is_some_and(|request| request.method == Method::ToolsList.name());
        let (remote, lines, asked) = (self.remote.clone(), self.lines.clone(), id.clone());
        let task = self.tasks.spawn(async move {
            let answered = match remote.post(body, headers).await {
                Ok(response) => follow(&remote, response, asked.as_ref(), &lines).await,
                Err(error) => Err(error),
            };
            match answered {
                Ok(answer) if lists_tools => remote.tools.learn(&answer),
                Ok(_) => {}
                Err(error) => _ = lines.send(line(&jsonrpc::failure(asked.as_ref(), false, &error))).await,
            }
        });
        let listens = request.is_some_and(|request| request.method == Method::SubscriptionsListen.name());
        if let Some(id) = id {
            self.running.insert(id, Running { task, stateless, listens });
        }
    }

    async fn note(&mut self, method: &str, params: &Params<'_>, body: &Bytes) {
        let meta = Meta::read(params.meta);
        if meta.is_modern() && method != "notifications/cancelled" {
            return self.tell(body.clone(), headers::modern(&meta, None, &self.remote.tools)).await;
        }
        if method == "notifications/cancelled"
            && let Some(id) = params.request_id.and_then(|id| Id::from_json(id.get()))
            && let Some(running) = self.running.remove(&id)
        {
            // Nothing more may be said of it; and closing its stream is how a stateless request is cancelled.
            running.task.abort();
            if running.stateless {
                return;
            }
        }
        self.tell(body.clone(), self.remote.session_headers()).await;
        if method == "notifications/initialized" && self.standing.is_empty() {
            self.standing.spawn(stand(self.remote.clone(), self.lines.clone()));
        }
    }

    /// Hands over what needs no answer. That waits, so that what is told stays in order.
    async fn tell(&self, body: Bytes, headers: HeaderMap) {
        if let Err(error) = self.remote.post(body, headers).await {
            tracing::warn!(reason = %error.message, "the server did not take what it was told");
        }
    }

    async fn refuse(&self, id: Option<&Id>, error: &RpcError) {
        _ = self.lines.send(line(&jsonrpc::failure(id, false, error))).await;
    }

    /// Lets what runs come to its end, though not for long, and ends the session.
    async fn end(mut self) {
        self.running.values().filter(|running| running.listens).for_each(|running| running.task.abort());
        _ = timeout(FAREWELL, async { while self.tasks.join_next().await.is_some() {} }).await;
        self.tasks.shutdown().await;
        self.standing.shutdown().await;
        self.remote.leave().await;
    }
}

fn meta_of<'a>(request: &Request<'a>) -> Meta<'a> {
    Meta::read(Params::read(request.params).unwrap_or_default().meta)
}

/// Whether a request describes itself, and so belongs to no session.
fn is_stateless(request: &Request<'_>) -> bool {
    meta_of(request).is_modern()
}

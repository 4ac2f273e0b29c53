//! The server at the other end: where it is, the session there, and one HTTP request to it.

use std::{
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use reqwest::{
    Client, ClientBuilder, Method, RequestBuilder, Response, StatusCode, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use serde_json::Value;
use switchyard_mcp::RpcError;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::headers::ToolHeaders;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// How long to wait before a connection that failed is tried once more.
const AGAIN: Duration = Duration::from_millis(500);

/// How long the server may take to end the session when nobody waits for it any more.
const FAREWELL: Duration = Duration::from_secs(3);

/// The most bytes of an answer that is an error that are looked at.
const ERROR_LIMIT: usize = 64 * 1024;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The server, and the session there.
pub struct Remote {
    client: Client,
    url: Url,
    session: Mutex<Session>,
    gone: watch::Sender<bool>,
    /// What is known of its tools.
    pub tools: ToolHeaders,
}

#[derive(Clone, Default)]
struct Session {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// How a message came to be refused: what its client is told.
pub type Refused = Result<Response, RpcError>;

impl Remote {
    /// The server at `url`. Nothing is sent yet.
    ///
    /// # Errors
    /// No HTTP can be spoken from here.
    pub fn new(url: Url) -> reqwest::Result<Self> {
        // The process has one; when someone installed it before us, theirs serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || -> ClientBuilder {
            Client::builder()
                .user_agent(concat!("switchyard/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT)
                .redirect(Policy::none())
        };
        // Without a certificate authority of the system's, plain http still works.
        let client = builder().build().or_else(|_| builder().tls_certs_only([]).build())?;
        Ok(Self {
            client,
            url,
            session: Mutex::default(),
            gone: watch::Sender::new(false),
            tools: ToolHeaders::default(),
        })
    }

    /// Sends a message; returns once the head of a successful answer is there.
    ///
    /// # Errors
    /// What the server, or the way to it, has against the message.
    pub async fn post(&self, body: Bytes, headers: HeaderMap) -> Refused {
        let request = || {
            let request = self.client.post(self.url.clone()).headers(headers.clone());
            request.header(ACCEPT, "application/json, text/event-stream").header(CONTENT_TYPE, "application/json")
        };
        let mut sent = request().body(body.clone()).send().await;
        if sent.as_ref().is_err_and(reqwest::Error::is_connect) {
            // It has not begun, so it may be tried again.
            sleep(AGAIN).await;
            sent = request().body(body).send().await;
        }
        self.accepted(sent, headers.contains_key(SESSION)).await
    }

    /// Asks for the session's own stream, or the rest of one that broke off after `last` event.
    ///
    /// # Errors
    /// There is none, for now or at all.
    pub async fn stream(&self, last: Option<&str>) -> Result<Response, Option<StatusCode>> {
        let request = self.in_session(self.client.get(self.url.clone())).header(ACCEPT, "text/event-stream");
        let request = match last.and_then(|last| HeaderValue::try_from(last).ok()) {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        let response = request.send().await.map_err(|_| None)?;
        match response.status() {
            StatusCode::OK => Ok(response),
            status => {
                if status == StatusCode::NOT_FOUND {
                    self.gone.send_replace(true);
                }
                Err(Some(status))
            }
        }
    }

    /// Ends the session, if there is one.
    pub async fn leave(&self) {
        if self.session().id.is_none() {
            return;
        }
        let request = self.in_session(self.client.request(Method::DELETE, self.url.clone()));
        if !matches!(timeout(FAREWELL, request.send()).await, Ok(Ok(_))) {
            tracing::debug!("the session could not be ended");
        }
    }

    /// The headers of a message of the session, if there is one.
    pub fn session_headers(&self) -> HeaderMap {
        let session = self.session().clone();
        let mut headers = HeaderMap::new();
        headers.extend(session.id.map(|id| (SESSION, id)));
        headers.extend(session.version.map(|version| (VERSION, version)));
        headers
    }

    /// Notes the session that an answer opens.
    pub fn enter(&self, headers: &HeaderMap) {
        self.session().id = headers.get(SESSION).cloned();
    }

    /// Notes the revision that the handshake agreed on.
    pub fn agree(&self, answer: &str) {
        let answer: Value = serde_json::from_str(answer).unwrap_or_default();
        let version = answer["result"]["protocolVersion"].as_str();
        self.session().version = version.and_then(|version| HeaderValue::try_from(version).ok());
    }

    /// Resolves once the server no longer knows the session.
    pub async fn gone(&self) {
        _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    fn in_session(&self, request: RequestBuilder) -> RequestBuilder {
        request.headers(self.session_headers())
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().expect("nothing panics while holding it")
    }

    async fn accepted(&self, sent: reqwest::Result<Response>, in_session: bool) -> Refused {
        let response = sent.map_err(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, "the server cannot be reached");
            let what = if error.is_connect() { "cannot be reached" } else { "broke the connection off" };
            RpcError::internal(format!("the server at {} {what}", self.url))
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::NOT_FOUND && in_session {
            self.gone.send_replace(true);
        }
        Err(said(response).await.unwrap_or_else(|| {
            RpcError::internal(format!("the server at {} answered with HTTP status {status}", self.url))
        }))
    }
}

/// The error that an answer carries, if it is one of the protocol's.
async fn said(mut response: Response) -> Option<RpcError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > ERROR_LIMIT {
            return None;
        }
    }
    let body: Value = serde_json::from_slice(&body).ok()?;
    let error = body.get("error")?;
    let code = i32::try_from(error.get("code")?.as_i64()?).ok()?;
    let said = RpcError::new(code, error.get("message")?.as_str()?.to_owned());
    Some(match error.get("data") {
        Some(data) => said.with_data(data.clone()),
        None => said,
    })
}

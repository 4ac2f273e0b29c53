//! The session of a conversation: `initialize` opens it, and its connection ends it.

use bytes::Bytes;
use serde_json::value::RawValue;
use switchyard_mcp::{Id, LATEST_LEGACY, Method, Params, Refusal, Request, RpcError, jsonrpc, meta::Meta, results};
use switchyard_telemetry::trace::TraceContext;

use crate::{
    connection,
    dispatch::Reply,
    observe::{Observed, Seen},
    running,
};

use super::Conversation;

impl Conversation {
    pub(super) async fn handshake(&mut self, request: &Request<'_>) {
        if self.session.is_some() {
            let error = RpcError::invalid_request("this session is open already");
            return self.refuse(Some(&request.id), &error).await;
        }
        let opened = self.dispatch.open_session(request.params, "").await;
        let (live, result) = match opened {
            Ok(opened) => opened,
            Err(refusal) => return self.refuse(Some(&request.id), &refusal.error).await,
        };
        let stream = connection::stand(&self.dispatch, &live.record.id, self.voice.framing).await;
        self.session = Some(live);
        match stream {
            Ok(frames) => _ = self.standing.spawn_local(self.voice.clone().forward(frames)),
            Err(refusal) => {
                // A session that hears no news is none.
                self.end_session().await;
                return self.refuse(Some(&request.id), &refusal.error).await;
            }
        }
        self.dispatch.gateway.metrics.sessions_opened.inc();
        self.voice.say(&jsonrpc::success(&request.id, &result)).await;
    }

    pub(super) async fn ask_in_session(&mut self, request: &Request<'_>, body: &Bytes) {
        let Some(session) = self.session.clone() else { return self.ask_before_the_handshake(request).await };
        let gateway = &self.dispatch.gateway;
        let params = Params::read(request.params).unwrap_or_default();
        let method = Method::named(&request.method, session.revision);
        let target = method.and_then(|method| params.name_for(method).ok());
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
        if method.is_some_and(Method::is_call) {
            match gateway.ledger.calls.enter_named(&session.record.id.0, &request.id) {
                Ok(entered) => {
                    let running = running::detach(&self.dispatch, session, body.clone(), trace, entered);
                    let telling = self.voice.clone().tell(running, request.id.clone(), observed);
                    self.run(&request.id, false, telling);
                }
                Err(refusal) => self.refuse(Some(&request.id), &refusal.error).await,
            }
            return;
        }
        let done = match self.dispatch.ask_in_session(&session, request, &trace).await {
            Ok(Reply::Result(result)) => {
                if method == Some(Method::LoggingSetLevel) {
                    self.note_log_level(&params);
                }
                Ok(result)
            }
            Ok(Reply::Call(_) | Reply::Listen(_)) => Err(Refusal::method_not_found(&request.method)),
            Err(refusal) => Err(refusal),
        };
        self.voice.answer(&request.id, done, observed).await;
    }

    async fn ask_before_the_handshake(&self, request: &Request<'_>) {
        if request.method == Method::Ping.name() {
            return self.voice.say(&jsonrpc::success(&request.id, &results::empty(LATEST_LEGACY))).await;
        }
        let error = RpcError::invalid_request("`initialize` comes first, or a `_meta` that describes the client");
        self.refuse(Some(&request.id), &error).await;
    }

    pub(super) async fn note(&mut self, method: &str, params: Option<&RawValue>) {
        let Some(session) = &mut self.session else { return };
        match self.dispatch.note_in_session(session, method, params).await {
            Ok(()) => session.record.ready |= method == "notifications/initialized",
            Err(refusal) => tracing::warn!(reason = %refusal.error.message, "a notification could not be noted"),
        }
    }

    /// The record at hand is as old as the session, so what changes in the store is noted here, too.
    fn note_log_level(&mut self, params: &Params<'_>) {
        if let (Some(session), Ok(level)) = (&mut self.session, params.level()) {
            session.record.log_level = Some(level.to_owned());
        }
    }

    /// The client answered a request of ours. A ping's answer has done its work by coming.
    pub(super) async fn answered(&mut self, id: &Id, body: &Bytes) {
        if self.pinged.take_if(|ping| id.as_json() == ping.as_str()).is_some() {
            return;
        }
        match &self.session {
            Some(session) => self.dispatch.answer_in_session(session, id, body).await,
            None => _ = self.dispatch.gateway.unasked.inc(),
        }
    }

    /// Asks the client for a sign of life, where its revision has a way to.
    pub fn ping(&mut self) {
        if self.session.is_none() {
            return;
        }
        self.pings += 1;
        // A queue without room says that the client does not read, and whoever writes to it finds that out.
        let id = format!(r#""ping.{}""#, self.pings);
        self.voice.try_say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        self.pinged = Some(id);
    }

    pub(super) async fn end_session(&mut self) {
        if let Some(session) = self.session.take()
            && let Err(refusal) = self.dispatch.end_session(&session).await
        {
            tracing::debug!(reason = %refusal.error.message, "the session of a closed connection could not be ended");
        }
    }
}

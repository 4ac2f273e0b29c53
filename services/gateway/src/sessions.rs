//! Legacy sessions: the handshake, what a session's messages mean, its end. A session is a record that any gateway
//! reads; nothing of it is kept here.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::value::RawValue;
use switchyard_mcp::{
    Id, Method, Params, Refusal, Request, Revision, RpcError, legacy::initialize_result, legacy::read_handshake,
    meta::Meta, results,
};
use switchyard_proto::v1::{Answer, Cancel, session_changed::Change};
use switchyard_state::{Offset, Session, SessionId};
use switchyard_telemetry::trace::TraceContext;
use tracing::{debug, info};

use crate::{
    asking::Desk,
    dispatch::{Asked, Dispatch, Reply},
    facts, failure,
    failure::refuse,
    letters,
};

/// A session with its revision, which this server speaks.
#[derive(Clone)]
pub struct Live {
    /// The record.
    pub record: Session,
    /// What it negotiated.
    pub revision: Revision,
}

impl Live {
    /// The session for a request whose client takes no stream: there is nothing that a question could come on.
    #[must_use]
    pub fn without_questions(mut self) -> Self {
        self.record.client_capabilities = "{}".to_owned();
        self
    }
}

/// The session is unknown, expired or over; a client then opens a new one.
pub fn gone() -> Refusal {
    Refusal::new(404, RpcError::invalid_request("there is no such session; `initialize` opens a new one"))
}

impl Dispatch {
    /// Opens a session: its record, and the JSON text of the handshake's result.
    ///
    /// # Errors
    /// -32602 for a handshake that lacks something, 503 while the store is away.
    pub async fn open_session(&self, params: Option<&RawValue>, principal: &str) -> Result<(Live, String), Refusal> {
        let handshake = read_handshake(params).map_err(|error| Refusal::new(200, error))?;
        let record = Session {
            id: SessionId(uuid::Uuid::new_v4().simple().to_string()),
            revision: handshake.revision.name().to_owned(),
            principal: principal.to_owned(),
            client_capabilities: handshake.capabilities.to_owned(),
            client: handshake.client,
            ready: false,
            log_level: None,
            subscriptions: BTreeMap::new(),
            floor: None,
            left: Offset(0),
            epoch: String::new(),
        };
        let gateway = &self.gateway;
        gateway.sessions.create(&record, gateway.options.session_ttl).await.map_err(|error| failure::store(&error))?;
        info!(session = %record.id, client = %record.client, revision = %record.revision, "a session was opened");
        let result = initialize_result(handshake.revision, &gateway.options.instructions);
        Ok((Live { record, revision: handshake.revision }, result))
    }

    /// The session of that id, if it is this principal's.
    ///
    /// # Errors
    /// 404 when there is none, 503 while the store is away.
    pub async fn session(&self, id: &str, principal: &str) -> Result<Live, Refusal> {
        let gateway = &self.gateway;
        let id = SessionId(id.to_owned());
        let record = gateway.sessions.load(&id, gateway.options.session_ttl).await;
        let record = record.map_err(|error| failure::store(&error))?.ok_or_else(gone)?;
        let revision = Revision::named(&record.revision).ok_or_else(gone)?;
        if record.principal != principal {
            return Err(gone());
        }
        Ok(Live { record, revision })
    }

    /// Answers a request of a session.
    ///
    /// # Errors
    /// What the client is told instead.
    pub async fn ask_in_session(
        &self,
        session: &Live,
        request: &Request<'_>,
        trace: &TraceContext,
    ) -> Result<Reply, Refusal> {
        let revision = session.revision;
        let checked = |error| refuse(error, revision);
        let method = Method::named(&request.method, revision)
            .ok_or_else(|| checked(RpcError::method_not_found(&request.method)))?;
        let params = Params::read(request.params).map_err(checked)?;
        let asked = Asked {
            revision,
            method,
            params,
            meta: Meta::read(params.meta),
            // Before the handshake is over, a client can be asked nothing.
            capabilities: if session.record.ready { &session.record.client_capabilities } else { "{}" },
            principal: &session.record.principal,
            session: Some(&session.record.id.0),
            log_level: session.record.log_level.as_deref(),
            headers: None,
            trace,
        };
        match method {
            Method::Initialize => Err(Refusal::new(400, RpcError::invalid_request("this session is open already"))),
            Method::ResourcesSubscribe => self.subscribe(session, &asked).await,
            Method::ResourcesUnsubscribe => self.unsubscribe(session, &asked).await,
            Method::LoggingSetLevel => self.set_log_level(session, &asked).await,
            _ => self.ask(&asked).await,
        }
    }

    async fn set_log_level(&self, session: &Live, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let level = asked.params.level().map_err(|error| refuse(error, session.revision))?;
        let set = self.gateway.sessions.set_log_level(&session.record.id, level).await;
        if !set.map_err(|error| failure::store(&error))? {
            return Err(gone());
        }
        Ok(Reply::Result(results::empty(session.revision)))
    }

    /// Hands a client's answer to the call that asked for it, at whichever gateway that runs. An answer that nobody
    /// waits for is dropped and counted. `message` is the whole message.
    pub async fn answer_in_session(&self, session: &Live, id: &Id, message: &[u8]) {
        let (ledger, session) = (&self.gateway.ledger, &session.record.id.0);
        let taken = match Desk::node_of(id) {
            None => false,
            Some(node) if ledger.desk.is_of(&node) => ledger.desk.answer(session, id, message),
            Some(node) => {
                let message_json = Bytes::copy_from_slice(message);
                let answer = Answer { session: session.clone(), question: id.as_json().to_owned(), message_json };
                letters::answer_elsewhere(&self.bus, &node, answer).await
            }
        };
        if !taken {
            debug!(session = %session, "an answer that nobody waits for was dropped");
            self.gateway.unasked.inc();
        }
    }

    async fn subscribe(&self, session: &Live, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let uri = asked.params.uri().map_err(|error| refuse(error, session.revision))?;
        // Changes are told under the one normal spelling of a URI.
        let uri = self.describe(asked, &uri).await?.uri;
        let id = &session.record.id;
        let entry = facts::session_changed(id, Change::Subscribed(uri.clone()));
        let since = self.gateway.sessions.subscribe(id, &uri, &entry).await;
        since.map_err(|error| failure::store(&error))?.ok_or_else(gone)?;
        Ok(Reply::Result(results::empty(session.revision)))
    }

    async fn unsubscribe(&self, session: &Live, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let uri = asked.params.uri().map_err(|error| refuse(error, session.revision))?;
        // What is gone meanwhile is given up under the spelling that the client uses.
        let uri = self.describe(asked, &uri).await.map_or_else(|_| uri.clone().into_owned(), |resource| resource.uri);
        let id = &session.record.id;
        let entry = facts::session_changed(id, Change::Unsubscribed(uri.clone()));
        // Giving up what one does not have is no error.
        self.gateway.sessions.unsubscribe(id, &uri, &entry).await.map_err(|error| failure::store(&error))?;
        Ok(Reply::Result(results::empty(session.revision)))
    }

    /// Notes a notification of a session. What is unknown, or comes too late, is ignored.
    ///
    /// # Errors
    /// 503 while the store is away.
    pub async fn note_in_session(
        &self,
        session: &Live,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), Refusal> {
        let id = &session.record.id;
        match method {
            "notifications/initialized" if !session.record.ready => {
                let entry = facts::session_changed(id, Change::Ready(true));
                let noted =
                    self.gateway.sessions.set_ready(id, &entry).await.map_err(|error| failure::store(&error))?;
                if noted { Ok(()) } else { Err(gone()) }
            }
            "notifications/cancelled" => {
                let params = Params::read(params).unwrap_or_default();
                let request = params.request_id.and_then(|id| Id::from_json(id.get()));
                if let Some(request) = request {
                    self.cancel(id, &request, &params.reason()).await;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Cancels a session's request, at whichever gateway it runs.
    async fn cancel(&self, session: &SessionId, request: &Id, reason: &str) {
        debug!(session = %session, request = %request, "a request was cancelled");
        if self.gateway.ledger.calls.cancel(&session.0, request) {
            return;
        }
        let cancel = Cancel {
            session: session.0.clone(),
            request_id_json: request.as_json().to_owned(),
            reason: reason.chars().take(200).collect(),
        };
        letters::cancel_elsewhere(&self.bus, cancel).await;
    }

    /// Ends a session, at every gateway.
    ///
    /// # Errors
    /// 404 when there is none any more, 503 while the store is away.
    pub async fn end_session(&self, session: &Live) -> Result<(), Refusal> {
        let id = &session.record.id;
        let removed = self.gateway.sessions.remove(id, &facts::session_ended(id)).await;
        if !removed.map_err(|error| failure::store(&error))? {
            return Err(gone());
        }
        info!(session = %id, "a session was ended by its client");
        Ok(())
    }
}

//! What a client hears when a service could not do what it was asked.

use serde_json::{Value, json};
use switchyard_mcp::{Method, Refusal, Revision, RpcError};
use switchyard_proto::v1::{Failure, failure::Reason};
use switchyard_state::StoreError;
use tonic::{Code, Status};
use tracing::{error, warn};

/// What was asked for, as far as its failure is told by it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The request's method.
    pub method: Method,
    /// The name or URI that it is about.
    pub name: &'a str,
    /// The client's revision.
    pub revision: Revision,
}

/// An error with the HTTP status that it has in its revision.
pub fn refuse(error: RpcError, revision: Revision) -> Refusal {
    Refusal::new(error.http_status(revision), error)
}

/// Nothing more can be taken on now: 503, also where a JSON-RPC error would do, so that a balancer sees it too.
pub fn overloaded(what: &'static str) -> Refusal {
    Refusal::new(503, RpcError::internal(what))
}

/// The state store is away, or holds what cannot be read.
pub fn store(failure: &StoreError) -> Refusal {
    match failure {
        StoreError::Away(_) => {
            warn!(error = failure as &dyn std::error::Error, "the state store is away");
            overloaded("the state store is away; try again shortly")
        }
        StoreError::Record { .. } | StoreError::Option { .. } => {
            error!(error = failure as &dyn std::error::Error, "a record of the state store cannot be read");
            Refusal::new(500, RpcError::internal("the server's own records cannot be read"))
        }
    }
}

impl Target<'_> {
    /// What a service's status means to the client, noted in the log where somebody should look. `started` tells whether
    /// the call may have had effects.
    pub fn failed(self, status: &Status, started: bool) -> Refusal {
        let (method, name, reason) = (self.method.name(), self.name, status.message());
        match (status.code(), Failure::of(status)) {
            (Code::Unavailable, Some(Reason::NotStarted(_))) => {
                warn!(method, name, reason, "no node took the call");
            }
            (
                Code::NotFound
                | Code::InvalidArgument
                | Code::OutOfRange
                | Code::ResourceExhausted
                | Code::DeadlineExceeded,
                _,
            )
            | (Code::FailedPrecondition, Some(Reason::MissingCapabilitiesJson(_))) => {}
            (code, _) => error!(method, name, ?code, reason, "a call failed in its service"),
        }
        self.means(status, started)
    }

    /// The same, when it was noted before.
    pub fn means(self, status: &Status, started: bool) -> Refusal {
        let revision = self.revision;
        let message = status.message().to_owned();
        let reason = Failure::of(status);
        match (status.code(), reason) {
            (Code::NotFound, _) => refuse(self.unknown(), revision),
            (Code::InvalidArgument | Code::OutOfRange, _) => refuse(RpcError::invalid_params(message), revision),
            (Code::FailedPrecondition, Some(Reason::MissingCapabilitiesJson(missing))) => {
                let missing: Value = serde_json::from_slice(&missing).unwrap_or_else(|_| json!({}));
                let error = RpcError::new(RpcError::MISSING_CAPABILITY, message);
                refuse(error.with_data(json!({ "requiredCapabilities": missing })), revision)
            }
            (Code::ResourceExhausted, _) => Refusal::new(503, RpcError::internal(message)),
            (Code::DeadlineExceeded, _) => refuse(RpcError::internal(message), revision),
            (Code::Unavailable, Some(Reason::NotStarted(_))) => {
                overloaded("no node that serves this can be reached now; try again shortly")
            }
            _ => {
                let failed = RpcError::internal("the service failed while it worked on this request");
                let failed = if started { failed.with_data(json!({ "outcome": "unknown" })) } else { failed };
                refuse(failed, revision)
            }
        }
    }

    /// Nothing has that name.
    pub fn unknown(self) -> RpcError {
        match self.method {
            Method::ToolsCall => RpcError::invalid_params(format!("no tool is named `{}`", self.name)),
            Method::PromptsGet => RpcError::invalid_params(format!("no prompt is named `{}`", self.name)),
            _ => RpcError::resource_not_found(self.name, self.revision),
        }
    }
}

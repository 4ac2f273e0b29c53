//! What a failed attempt proves: that the call may have run, or that it provably did not start.

use std::error::Error;

use switchyard_proto::v1::{Failure, failure::Reason};
use switchyard_state::NodeId;
use tonic::{Code, Status};

use crate::link::LinkError;

pub(crate) enum Failed {
    /// The call ran, or nobody knows.
    Started(Status),
    /// The service says that it did not begin, or there is no way to it.
    NotStarted(Status),
    /// The connection ended before the request was sent.
    NotSent(Status),
}

impl Failed {
    /// What a service said.
    pub fn from_service(status: Status) -> Self {
        match Failure::of(&status) {
            Some(Reason::NotStarted(_)) => Self::NotStarted(status),
            _ => Self::Started(status),
        }
    }

    /// What a call over the wire came to, before its answer began.
    pub fn from_wire(status: Status, node: &NodeId) -> Self {
        if is_not_sent(&status) {
            return Self::NotSent(Failure::not_started(format!("node `{node}` did not take the request")));
        }
        Self::from_service(settled(status, node))
    }

    /// There was no connection to send it on.
    pub fn to_connect(error: &LinkError, node: &NodeId) -> Self {
        Self::NotStarted(Failure::not_started(format!("node `{node}` is not reachable: {error}")))
    }

    pub fn status(&self) -> &Status {
        match self {
            Self::Started(status) | Self::NotStarted(status) | Self::NotSent(status) => status,
        }
    }

    pub fn into_status(self) -> Status {
        match self {
            Self::Started(status) | Self::NotStarted(status) | Self::NotSent(status) => status,
        }
    }
}

/// A status as the service gave it, or `UNAVAILABLE` when it comes from a broken connection or from a service that died
/// without a word, neither of which proves anything.
pub(crate) fn settled(status: Status, node: &NodeId) -> Status {
    let wordless = status.code() == Code::Unknown && status.details().is_empty();
    if status.source().is_none() && !wordless {
        return status;
    }
    Status::unavailable(format!("node `{node}` gave up the call without an answer"))
}

fn is_not_sent(status: &Status) -> bool {
    let mut source = status.source();
    while let Some(error) = source {
        if let Some(LinkError::NotSent(_) | LinkError::LaneEnded) = error.downcast_ref() {
            return true;
        }
        source = error.source();
    }
    false
}

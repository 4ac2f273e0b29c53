//! A failed call is a status whose details are a [`Failure`].

use prost::Message;
use tonic::{Code, Status};

use crate::v1::{Failure, NotStarted, Violation, Violations, failure::Reason};

impl Failure {
    /// Nothing has that name or URI.
    pub fn unknown(name: &str, message: impl Into<String>) -> Status {
        status(Code::NotFound, message, Reason::Unknown(name.to_owned()))
    }

    /// These arguments do not fit.
    pub fn invalid(violations: Vec<Violation>, message: impl Into<String>) -> Status {
        status(Code::InvalidArgument, message, Reason::Violations(Violations { violations }))
    }

    /// The client lacks abilities that the call cannot do without; `capabilities` has the shape of a client's
    /// capabilities, such as `{"sampling":{}}`.
    pub fn missing_capabilities(capabilities: impl Into<bytes::Bytes>, message: impl Into<String>) -> Status {
        status(Code::FailedPrecondition, message, Reason::MissingCapabilitiesJson(capabilities.into()))
    }

    /// The call had provably not started, so it may be tried elsewhere.
    pub fn not_started(message: impl Into<String>) -> Status {
        status(Code::Unavailable, message, Reason::NotStarted(NotStarted {}))
    }

    /// Why the call behind `status` failed, or `None` when the status does not tell.
    pub fn of(status: &Status) -> Option<Reason> {
        Self::decode(status.details()).ok().and_then(|failure| failure.reason)
    }
}

fn status(code: Code, message: impl Into<String>, reason: Reason) -> Status {
    let details = Failure { reason: Some(reason) }.encode_to_vec();
    Status::with_details(code, message, details.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_read_back_from_its_status() {
        let status = Failure::unknown("nope", "no tool is named `nope`");

        assert_eq!(status.code(), Code::NotFound);
        assert_eq!(Failure::of(&status), Some(Reason::Unknown("nope".into())));
    }

    #[test]
    fn a_foreign_status_tells_no_reason() {
        assert_eq!(Failure::of(&Status::internal("boom")), None);
        assert_eq!(Failure::of(&Status::with_details(Code::Internal, "boom", vec![0xff].into())), None);
    }
}

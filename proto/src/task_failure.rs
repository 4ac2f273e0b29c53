//! A failed call as the task store keeps it.

use tonic::{Code, Status};

use crate::v1::TaskFailure;

impl From<&Status> for TaskFailure {
    fn from(status: &Status) -> Self {
        let details = bytes::Bytes::copy_from_slice(status.details());
        Self { code: status.code().into(), message: status.message().to_owned(), details }
    }
}

impl From<TaskFailure> for Status {
    fn from(failure: TaskFailure) -> Self {
        Self::with_details(Code::from_i32(failure.code), failure.message, failure.details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{Failure, failure::Reason};

    #[test]
    fn a_kept_failure_is_the_status_that_it_was() {
        let status = Failure::unknown("nope", "no tool is named `nope`");

        let kept = Status::from(TaskFailure::from(&status));

        assert_eq!((kept.code(), kept.message()), (Code::NotFound, "no tool is named `nope`"));
        assert_eq!(Failure::of(&kept), Some(Reason::Unknown("nope".into())));
    }
}

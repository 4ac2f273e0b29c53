//! Lanes: many calls over one stream, for a fraction of what a gRPC call costs.
//!
//! A lane carries the very messages of the contract, told apart by a number. What HTTP/2 gives each call by itself is
//! done here: cancelling, a credit for each call so that one that is not read stalls no other, failures with details, a
//! clear end for everything when the lane breaks, and an orderly one when the node stops. What is large takes a call of
//! its own, for a shared stream is slower for it.

mod caller;
mod events;
mod outbox;
mod parked;
mod server;
mod table;

use prost::Message;
use switchyard_proto::v1::{CallEvent, LaneStatus};
use tonic::{Code, Status};

pub(crate) use caller::Lane;
pub(crate) use server::LaneService;

/// How many bytes of events a call may have sent that its caller has not taken.
const CREDIT: u32 = 512 * 1024;

/// How much of a call's credit its caller gives back at once.
const REFUND: u32 = CREDIT / 4;

/// The largest request, and the largest event, that takes a lane.
pub(crate) const LARGEST: usize = 256 * 1024;

/// What an event costs of its call's credit beside its length.
const OVERHEAD: u32 = 32;

/// What an event costs of its call's credit, or `None` for one that is too large for a lane.
fn cost(event: &CallEvent) -> Option<u32> {
    let length = event.encoded_len();
    (length <= LARGEST).then(|| u32::try_from(length).expect("it is below the limit") + OVERHEAD)
}

/// The same for one that has no other way left.
fn cost_of_any(event: &CallEvent) -> u32 {
    cost(event).unwrap_or(LARGEST as u32 + OVERHEAD)
}

fn to_wire(status: &Status) -> LaneStatus {
    if status.message().len() + status.details().len() > LARGEST {
        return to_wire(&Status::internal("the service failed, and said too much of it"));
    }
    LaneStatus {
        code: status.code() as i32,
        message: status.message().to_owned(),
        details: status.details().to_vec().into(),
    }
}

fn from_wire(status: LaneStatus) -> Status {
    Status::with_details(Code::from_i32(status.code), status.message, status.details)
}

#[cfg(test)]
mod tests {
    use switchyard_proto::v1::Failure;

    use super::*;

    #[test]
    fn a_status_comes_out_of_a_lane_as_it_went_in() {
        let status = Failure::unknown("nope", "no tool is named `nope`");

        let passed = from_wire(to_wire(&status));

        assert_eq!((passed.code(), passed.message()), (status.code(), status.message()));
        assert_eq!(Failure::of(&passed), Failure::of(&status));
    }

    #[test]
    fn what_a_caller_keeps_back_never_holds_up_the_largest_event() {
        assert!(CREDIT - REFUND >= LARGEST as u32 + OVERHEAD);
    }
}

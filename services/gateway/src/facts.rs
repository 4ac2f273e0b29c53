//! Facts as entries of the event log.

use prost::Message;
use switchyard_proto::v1::{
    Fact, FloorTaken, SessionChanged, SessionEnded, TaskChanged, fact::Kind, session_changed::Change,
};
use switchyard_state::{SessionId, TaskId};

fn entry(kind: Kind) -> Vec<u8> {
    Fact { kind: Some(kind), ..Fact::default() }.encode_to_vec()
}

/// A stream takes the floor; an empty name leaves it to whoever is still there.
pub fn floor_taken(session: &SessionId, stream: &str) -> Vec<u8> {
    entry(Kind::FloorTaken(FloorTaken { session: session.0.clone(), stream: stream.to_owned() }))
}

/// A session is over.
pub fn session_ended(session: &SessionId) -> Vec<u8> {
    entry(Kind::SessionEnded(SessionEnded { session: session.0.clone() }))
}

/// A session is not what it was.
pub fn session_changed(session: &SessionId, change: Change) -> Vec<u8> {
    entry(Kind::SessionChanged(SessionChanged { session: session.0.clone(), change: Some(change) }))
}

/// A task is not what it was, or is gone.
pub fn task_changed(task: &TaskId) -> Vec<u8> {
    entry(Kind::TaskChanged(TaskChanged { task: task.0.clone() }))
}

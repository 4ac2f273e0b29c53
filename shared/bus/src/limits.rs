//! The largest message, checked before it leaves: a larger one would be refused only at the other end, without a name
//! for the limit.

use prost::Message;
use tonic::Status;

/// # Errors
/// `RESOURCE_EXHAUSTED` when `message`, which is called `what`, has more than `limit` bytes.
pub(crate) fn check(message: &impl Message, limit: usize, what: &str) -> Result<(), Status> {
    let length = message.encoded_len();
    if length <= limit {
        return Ok(());
    }
    Err(Status::resource_exhausted(format!(
        "{what} has {length} bytes, and the bus carries at most {limit} (`maxMessageBytes`)"
    )))
}

/// The same for what a service answered.
pub(crate) fn answer<M: Message>(answer: Result<M, Status>, limit: usize) -> Result<M, Status> {
    let message = answer?;
    check(&message, limit, "the answer")?;
    Ok(message)
}

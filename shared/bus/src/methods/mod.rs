//! The methods of the contract, one per request type: how each is called in process and over the wire.

mod events;
mod gateway;
mod prompts;
mod resources;
mod tasks;
mod tools;

use prost::Message;
use switchyard_proto::v1::Context;
use tonic::Status;

use crate::{
    link::Link,
    local::{Local, Place},
};

/// A method's names on the wire and in traces.
pub(crate) struct Names {
    pub span: &'static str,
    pub service: &'static str,
    pub method: &'static str,
    /// What the nodes offer that are asked for it, for people.
    pub offer: &'static str,
}

/// One method of the contract, told by its request.
pub(crate) trait Method: Message + Clone + Default + 'static {
    const NAMES: Names;

    type Answer: Send;

    /// The request's context, for methods that have one.
    fn context(&mut self) -> Option<&mut Context> {
        None
    }

    /// Whether this process has the service.
    fn served(local: &Local) -> bool;

    fn here(self, local: &Local, place: &Place) -> impl Future<Output = Result<Self::Answer, Status>> + Send;

    /// `limit` is the largest answer, in bytes.
    fn there(self, link: Link, limit: usize) -> impl Future<Output = Result<Self::Answer, Status>> + Send;
}

/// The process was asked for a service that it does not have.
fn absent() -> Status {
    Status::unimplemented("this process does not have the service")
}

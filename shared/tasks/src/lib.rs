//! Runs calls of tools that go on after their reply.
//!
//! A node that runs tools puts its service into a [`TaskRunner`], which is the contract's `Tools` in its place, and its
//! `Tasks`. A call whose client can follow a task becomes one when it is not done soon, when its tool says so
//! ([`GoOn`]), or at once where the tool is never anything else. From then on it belongs to this node's table rather
//! than to whoever called: it gives signs of life to the task store, which any gateway answers from, asks its client by
//! way of the store, and ends there. All other calls pass through untouched.

mod begun;
mod go_on;
mod job;
mod options;
mod rounds;
mod runner;
mod table;

pub use go_on::GoOn;
pub use options::TaskOptions;
pub use runner::TaskRunner;

use futures_util::stream::BoxStream;
use switchyard_proto::v1::{CallEvent, tools_server::Tools};
use tonic::Status;

/// What a running call reports. Dropping it cancels the call.
pub(crate) type CallEvents = BoxStream<'static, Result<CallEvent, Status>>;

/// Any tools service.
pub(crate) type DynTools = dyn Tools<CallStream = CallEvents>;

//! The contract's traits as objects: what the bus holds of a service, whoever implements it.

use futures_util::stream::BoxStream;
use switchyard_proto::v1::{
    CallEvent, SubscribeReply, events_server::Events, gateway_server::Gateway, prompts_server::Prompts,
    resources_server::Resources, tasks_server::Tasks, tools_server::Tools,
};
use tonic::Status;

/// What a running call reports. Dropping it cancels the call.
pub type CallEvents = BoxStream<'static, Result<CallEvent, Status>>;

/// Facts as they come. Dropping it ends the subscription.
pub type Facts = BoxStream<'static, Result<SubscribeReply, Status>>;

/// Any tools service.
pub type DynTools = dyn Tools<CallStream = CallEvents>;

/// Any service that runs tasks.
pub type DynTasks = dyn Tasks;

/// Any resources service.
pub type DynResources = dyn Resources<ReadStream = CallEvents>;

/// Any prompts service.
pub type DynPrompts = dyn Prompts<GetStream = CallEvents>;

/// Any events service.
pub type DynEvents = dyn Events<SubscribeStream = Facts>;

/// Any gateway, as other gateways see it.
pub type DynGateway = dyn Gateway;

//! How services are reached: in process, by a lane or by plain gRPC, with discovery and balancing.
//!
//! Callers hold a [`Bus`] and cannot tell where a service is. [`Discovery`] says which nodes there are, and tells them
//! of this one; [`serve`] is the listener by which other nodes reach this one's services.

mod answer;
mod bus;
mod caller;
mod discovery;
mod failed;
mod lane;
mod limits;
mod link;
mod local;
mod methods;
mod nodes;
mod options;
mod pause;
mod server;
mod service;
mod shared;
mod ticket;
mod trace;

pub use bus::{Bus, EventsBus, GatewaysBus, PromptsBus, ResourcesBus, TasksBus, ToolsBus};
pub use discovery::Discovery;
pub use local::Local;
pub use options::BusOptions;
pub use server::{Health, ServeError, serve};
pub use service::{CallEvents, DynEvents, DynGateway, DynPrompts, DynResources, DynTasks, DynTools, Facts};

//! The system seen from outside: real processes, real sockets, real clients.
//!
//! [`Node`] and [`Cluster`] start the `switchyard` program as a person would; the clients speak each revision of the
//! protocol over sockets that they own, so a test decides every byte and sees every byte. No client here shares code
//! with the server, and each holds every message that it hears against the official schema of its revision; a [`ServiceNode`] shares the bus contract, as any other node would. Everything listens on loopback
//! with a port that the system chose, every wait has a deadline whose message says what was waited for, and whatever a
//! test started ends with it.

mod backend;
mod balancer;
mod body;
mod cluster;
mod collector;
mod compose;
mod door;
mod folder;
mod held_run;
mod http_client;
mod legacy;
mod lines;
mod modern;
mod node;
mod offered;
mod options;
mod output;
mod pool;
mod record;
mod reply;
mod request;
mod response;
mod scripted;
mod service_node;
mod sse;
mod sse_client;
mod stage;
mod stdio;
mod stripping;
mod talker;
mod wait;
mod websocket;

pub use backend::{Backend, Held};
pub use balancer::Balancer;
pub use cluster::{Cluster, Shape};
pub use collector::{Collector, Span};
pub use compose::{Compose, Container};
pub use door::{AnyClient, Door};
pub use folder::Folder;
pub use held_run::HeldRun;
pub use http_client::HttpClient;
pub use legacy::{LegacyClient, Revision};
pub use lines::LineClient;
pub use modern::{Listener, MODERN, ModernClient, meta};
pub use node::{Finished, Node};
pub use offered::Offered;
pub use options::{NodeOptions, switchyard};
pub use pool::KeptConnection;
pub use reply::{Call, Reply, RpcError};
pub use request::{Endpoint, Request};
pub use response::Response;
pub use scripted::{Asked, Scripted, Streaming};
pub use service_node::ServiceNode;
pub use sse::{Event, EventStream, Frame};
pub use sse_client::SseClient;
pub use stage::Stage;
pub use stdio::StdioClient;
pub use stripping::StrippingProxy;
pub use talker::Talker;
pub use wait::{PATIENCE, eventually, within};
pub use websocket::{Opcode, WebSocketClient};

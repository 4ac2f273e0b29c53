//! The Model Context Protocol as clients speak it: decoding what they send, encoding what they hear.
//!
//! Pure: no sockets, no clock, no state. What differs between revisions is a table of facts in [`Revision`] and
//! [`Method`]; the two eras have a file each, [`modern`] (stateless) and [`legacy`] (sessions). Inside the cluster
//! there is one shape, the newest revision's; [`definitions`], [`content`] and [`results`] meet older clients here.

pub mod content;
pub mod cursor;
pub mod definitions;
pub mod era;
mod error;
mod forms;
pub mod header_params;
pub mod headers;
pub mod identity;
pub mod jsonrpc;
pub mod legacy;
pub mod meta;
mod method;
pub mod modern;
pub mod notifications;
mod params;
pub mod questions;
pub mod results;
mod revision;
mod sampling;
pub mod sse;
pub mod tasks;

pub use error::{Refusal, RpcError};
pub use headers::Headers;
pub use jsonrpc::{Id, Message, Request};
pub use method::{CacheScope, Method};
pub use params::{Completed, Completion, Params, object_text};
pub use revision::{LATEST_LEGACY, Revision};

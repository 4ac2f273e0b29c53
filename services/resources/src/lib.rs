//! Lists, reads and watches resources.
//!
//! Each source of resources is a provider: one file here, one entry in the catalogue, and the owner of the URIs below its
//! prefix. [`ResourceService`] answers requests by handing them to the provider whose URI it is, and tells the
//! cluster what changed (`publish`): of the nodes that serve a prefix one at a time does, and when it is gone another
//! one tells again what it may have kept to itself.

mod error;
mod filesystem;
mod options;
mod provider;
mod publish;
mod reading;
mod service;
mod span;

pub use error::ResourcesError;
pub use options::{ResourceOptions, ServiceOptions};
pub use publish::Publish;
pub use service::ResourceService;

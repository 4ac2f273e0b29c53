//! The bus contract: what gateways and services say to each other, generated from `switchyard/v1/*.proto`.
//!
//! The generated traits are the service traits: a service is a struct that implements one of them.

/// Version 1 of the contract.
#[allow(missing_docs, clippy::all, unused_qualifications)]
pub mod v1 {
    tonic::include_proto!("switchyard.v1");
}

mod failure;
mod task_failure;

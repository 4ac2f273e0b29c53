//! Tools as a gateway calls them: through the contract, over the real disk, network and processes.
#![allow(clippy::unwrap_used)]

mod caller;
mod definitions;
mod disk;
mod options;
mod processes;
mod search;
mod service;
mod status;
mod traces;

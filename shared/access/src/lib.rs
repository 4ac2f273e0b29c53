//! Who may speak to this server: principals, allowed origins and hosts.
//!
//! A browser lets any page send requests to any address, also to a server that only listens on this machine. Two
//! headers tell such requests apart, and [`Access`] judges them: `Origin` names the page, and `Host` the name under
//! which the page reached us, which after DNS rebinding is the attacker's. Programs that are no browsers send no
//! `Origin` and pass.

mod access;
mod authority;
mod error;
mod hosts;
mod origins;
mod principal;

pub use access::Access;
pub use error::AccessError;
pub use hosts::AllowedHost;
pub use origins::AllowedOrigin;
pub use principal::Principal;

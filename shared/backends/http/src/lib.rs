//! Requests to other people's HTTP servers, kept away from private networks.
//!
//! Whoever chooses the address may be a stranger, so [`Egress`] connects to public addresses only, unless the host
//! is allowed by name. What is checked is the address that gets connected to, at the moment it does: a name that
//! resolves to something else the second time, and a redirect, are checked like the first request. Proxies named in
//! the environment are not used, for behind one nothing could be checked.

mod address;
mod allowed;
mod answer;
mod egress;
mod error;
mod lookup;
mod options;

pub use address::AddressKind;
pub use allowed::AllowedHost;
pub use answer::Answer;
pub use egress::{Egress, MAX_REDIRECTS};
pub use error::EgressError;
pub use lookup::{Addresses, Lookup, SystemLookup};
pub use options::EgressOptions;

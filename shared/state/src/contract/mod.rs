//! What every implementation of the stores does: the suites that both pass. For tests only.
//!
//! Each behaviour is one function, whose name is the sentence that fails, and gets new, empty stores.

// A step that fails is a test that fails.
#![allow(clippy::unwrap_used)]

mod log;
mod registry;
mod registry_life;
mod reply_logs;
mod reply_logs_life;
mod secrets;
mod sessions;
mod sessions_changes;
mod tasks;
mod tasks_input;
mod tasks_life;

use crate::{Limits, Offset, Session, SessionId, Stores};

pub use log::event_log;
pub use registry::registry;
pub use reply_logs::reply_log;
pub use sessions::session_store;
pub use sessions_changes::take_floor_at_once;
pub use tasks::task_store;

/// Makes stores that share nothing with others that it made.
pub type Fresh<'a> = &'a dyn Fn(&Limits) -> Stores;

fn fresh_stores(fresh: Fresh<'_>) -> Stores {
    fresh(&Limits::default())
}

/// A session as a gateway would create it.
fn a_session(id: &str) -> Session {
    Session {
        id: SessionId(id.into()),
        revision: "2025-06-18".into(),
        principal: "ann".into(),
        client_capabilities: r#"{"sampling":{},"big":12345678901234567890}"#.into(),
        client: "a \"client\"\u{0}/1 ü".into(),
        ready: false,
        log_level: None,
        subscriptions: Default::default(),
        floor: None,
        left: Offset::default(),
        epoch: String::new(),
    }
}

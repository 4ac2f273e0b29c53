//! What nodes share, kept in this process: the embedded default. Gone when the process ends.

mod catalogue;
mod log;
mod registry;
mod sessions;

use std::sync::Arc;

use crate::{LogLimits, Stores};

/// New, empty stores with the default limits.
pub fn stores() -> Stores {
    stores_within(&LogLimits::default())
}

/// New, empty stores whose log keeps what `limits` say.
pub fn stores_within(limits: &LogLimits) -> Stores {
    let log = Arc::new(log::MemoryLog::new(limits.clone()));
    Stores {
        sessions: Arc::new(sessions::MemorySessions::new(log.clone())),
        log,
        registry: Arc::new(registry::MemoryRegistry::default()),
    }
}

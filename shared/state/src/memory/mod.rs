//! What nodes share, kept in this process: the embedded default. Gone when the process ends.

mod catalogue;
mod log;
mod registry;
mod replies;
mod secrets;
mod sessions;
mod tasks;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{CENTURY, Limits, Stores};

/// How long what has expired may still take up memory.
const SWEEP: Duration = Duration::from_secs(10);

/// New, empty stores with the default limits.
pub fn stores() -> Stores {
    stores_within(&Limits::default())
}

/// New, empty stores that keep what `limits` say.
pub fn stores_within(limits: &Limits) -> Stores {
    let log = Arc::new(log::MemoryLog::new(limits.log.clone()));
    let replies = Arc::new(replies::MemoryReplies::new(limits.replies.clone()));
    Stores {
        sessions: Arc::new(sessions::MemorySessions::new(log.clone(), replies.clone())),
        log,
        replies,
        registry: Arc::new(registry::MemoryRegistry::default()),
        tasks: Arc::new(tasks::MemoryTasks::new(limits.tasks.clone())),
    }
}

fn expiry(ttl: Duration) -> Instant {
    Instant::now() + ttl.min(CENTURY)
}

//! What nodes share, kept in Redis 7.0 or newer: for a cluster.
//!
//! Every change of more than one key is one Lua script, and all keys of a cluster lie in one slot. A request
//! takes at most [`RedisOptions::timeout_ms`], then fails with [`StoreError::Away`]; when Redis is back, the next
//! one finds it. Nothing here repeats a request by itself.

mod keys;
mod link;
mod log;
mod options;
mod record;
mod registry;
mod replies;
mod sessions;
mod task_record;
mod tasks;
mod waits;

use std::sync::Arc;

use crate::{StoreError, Stores};
use keys::Keys;
use link::{Link, Opener};
pub use options::RedisOptions;

/// The stores of the cluster that `options` name. Redis is not asked for anything yet, so it may be away.
///
/// Connections belong to the tokio runtime on which this is called.
///
/// # Errors
/// [`StoreError::Option`] when the options do not fit.
///
/// # Panics
/// When called outside a tokio runtime.
pub fn connect(options: &RedisOptions) -> Result<Stores, StoreError> {
    let keys = Arc::new(Keys::new(&options.cluster)?);
    let opener = Opener::new(options)?;
    let link = Arc::new(Link::new(opener.clone()));
    let log = Arc::new(log::RedisLog::new(&options.log, keys.clone(), link.clone(), opener.clone()));
    let replies = replies::RedisReplies::new(&options.replies, keys.clone(), link.clone(), opener);
    Ok(Stores {
        sessions: Arc::new(sessions::RedisSessions::new(keys.clone(), link.clone(), log.clone())),
        log,
        replies: Arc::new(replies),
        registry: Arc::new(registry::RedisRegistry::new(keys.clone(), link.clone())),
        tasks: Arc::new(tasks::RedisTasks::new(&options.tasks, keys, link)),
    })
}

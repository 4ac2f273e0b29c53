//! Which Redis a cluster uses, and how.

use std::{fmt, num::NonZeroU64, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{LogLimits, ReplyLimits, TaskLimits};

/// Where a cluster keeps what its nodes share.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RedisOptions {
    /// Where Redis is, such as `redis://:password@10.0.0.5:6379/0` or `redis+unix:///run/redis.sock`. Version 7.0
    /// or newer, with `maxmemory-policy noeviction`.
    pub url: String,

    /// The cluster's name: nodes with one name share everything, clusters with different names nothing. 1 to 64
    /// letters, digits, dots, dashes and underscores.
    pub cluster: String,

    /// How long Redis may take to answer one request, connecting included, in milliseconds. After that it counts as
    /// away.
    pub timeout_ms: NonZeroU64,

    /// How much of the event log is kept.
    pub log: LogLimits,

    /// How much is kept of the replies that a legacy client may resume.
    pub replies: ReplyLimits,

    /// How many tasks are kept.
    pub tasks: TaskLimits,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            url: "redis://127.0.0.1:6379".into(),
            cluster: "switchyard".into(),
            timeout_ms: NonZeroU64::new(1_000).expect("not zero"),
            log: LogLimits::default(),
            replies: ReplyLimits::default(),
            tasks: TaskLimits::default(),
        }
    }
}

impl RedisOptions {
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.get())
    }
}

/// Leaves the URL out, for it may hold a password.
impl fmt::Debug for RedisOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisOptions")
            .field("cluster", &self.cluster)
            .field("timeout_ms", &self.timeout_ms)
            .field("log", &self.log)
            .field("replies", &self.replies)
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_printed() {
        let options = RedisOptions { url: "redis://:hunter2@127.0.0.1".into(), ..RedisOptions::default() };

        assert!(!format!("{options:?}").contains("hunter2"));
    }
}

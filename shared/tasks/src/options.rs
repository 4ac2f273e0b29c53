//! Options of tasks.

use std::{num::NonZeroUsize, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchyard_config::duration;
use switchyard_state::TaskLimits;

/// When calls become tasks, and how long those are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TaskOptions {
    /// How long a call of a tool that may be a task is waited for before it becomes one, such as `1s`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub after: Duration,

    /// How long a task is kept from its creation on, its result included, such as `1h`. One that still runs then is
    /// ended.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub ttl: Duration,

    /// How long clients are told to leave between two looks at a task, such as `1s`.
    #[serde(with = "duration")]
    #[schemars(with = "duration::Text")]
    pub poll_interval: Duration,

    /// How many tasks run on one node at a time. A call beyond that is answered in its own reply, and refused where its
    /// tool only runs as a task.
    pub max_running: NonZeroUsize,

    /// The most tasks that one principal has at a time, ended ones included until their time is over; beyond that as
    /// with `maxRunning`. All anonymous clients are one principal.
    pub max_per_principal: NonZeroUsize,

    /// The largest result, or questions of one round, that are kept of a task, in bytes; a task with a larger one fails.
    pub max_result_bytes: NonZeroUsize,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(1),
            ttl: Duration::from_secs(60 * 60),
            poll_interval: Duration::from_secs(1),
            max_running: NonZeroUsize::new(256).expect("not zero"),
            max_per_principal: TaskLimits::default().max_per_principal,
            max_result_bytes: NonZeroUsize::new(4 * 1024 * 1024).expect("not zero"),
        }
    }
}

impl TaskOptions {
    /// What the store is to keep.
    pub const fn limits(&self) -> TaskLimits {
        TaskLimits { max_per_principal: self.max_per_principal }
    }
}

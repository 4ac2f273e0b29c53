//! The end of tasks whose time to live is over. Every gateway looks for them, and the store gives each out once.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use switchyard_bus::Bus;
use switchyard_state::Task;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::debug;

use super::PATIENCE;
use crate::{Gateway, facts};

/// How often expired tasks are looked for.
const EVERY: Duration = Duration::from_secs(1);

/// How many are taken at a time.
const AT_ONCE: usize = 100;

/// Removes expired tasks for as long as the gateway lives.
pub async fn expire(gateway: Weak<Gateway>, bus: Bus) {
    let mut looks = interval(EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let Some(gateway) = gateway.upgrade() else { return };
        loop {
            let expired = match gateway.tasks.expire(AT_ONCE).await {
                Ok(expired) => expired,
                Err(error) => {
                    debug!(error = &error as &dyn std::error::Error, "expired tasks could not be looked for");
                    break;
                }
            };
            for task in &expired {
                end(&gateway, &bus, task).await;
            }
            if expired.len() < AT_ONCE {
                break;
            }
        }
    }
}

/// Tells whoever follows a task that it is gone, and its node that it need not go on.
async fn end(gateway: &Arc<Gateway>, bus: &Bus, task: &Task) {
    gateway.expired.inc();
    if task.status.is_final() {
        return;
    }
    debug!(task = %task.id, tool = %task.call.tool, "a task did not end within its time to live");
    if let Err(error) = gateway.log.append(&facts::task_changed(&task.id), "").await {
        debug!(task = %task.id, error = &error as &dyn std::error::Error, "a task's end could not be told");
    }
    if let Some(node) = &task.node {
        // A node that cannot be told finds out by its next sign of life.
        _ = timeout(PATIENCE, bus.tasks.stop(node, &task.id.0)).await;
    }
}

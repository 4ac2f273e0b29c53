//! Waiting for the log's next entry.
//!
//! A waiting command occupies its connection, so each waits on one of its own, which is kept for the next wait. It is
//! closed when the wait is dropped, and Redis forgets the wait with it.

use std::{sync::Mutex, time::Duration};

use redis::{RedisResult, Value};
use tokio::time::timeout;

use super::{
    keys,
    link::{Line, Opener, silence, store_error},
};
use crate::{CENTURY, Offset, StoreError};

/// The most connections that are kept without a wait on them.
const IDLE: usize = 4;

/// Connections on which reads wait.
pub struct Waits {
    opener: Opener,
    idle: Mutex<Vec<Line>>,
}

impl Waits {
    pub fn new(opener: Opener) -> Self {
        Self { opener, idle: Mutex::default() }
    }

    /// Returns when `log` has an entry after `after`, or after `wait`.
    pub async fn entry_after(&self, log: &str, after: Offset, wait: Duration) -> Result<(), StoreError> {
        let mut command = redis::cmd("XREAD");
        command
            .arg("COUNT")
            .arg(1)
            .arg("BLOCK")
            .arg(keys::millis(wait))
            .arg("STREAMS")
            .arg(log)
            .arg(format!("{}-0", after.0));

        let answer = timeout(wait.min(CENTURY) + self.opener.timeout(), async {
            let mut line = self.line().await?;
            command.query_async::<Value>(&mut line.connection).await?;
            RedisResult::Ok(line)
        });
        let line = answer.await.unwrap_or_else(|_| Err(silence())).map_err(|error| store_error(log, error))?;
        self.keep(line);
        Ok(())
    }

    async fn line(&self) -> RedisResult<Line> {
        while let Some(line) = self.take() {
            if line.is_usable() {
                return Ok(line);
            }
        }
        self.opener.open().await
    }

    fn take(&self) -> Option<Line> {
        self.idle.lock().expect("nothing panics while holding it").pop()
    }

    fn keep(&self, line: Line) {
        let mut idle = self.idle.lock().expect("nothing panics while holding it");
        if idle.len() < IDLE {
            idle.push(line);
        }
    }
}

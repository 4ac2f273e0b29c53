//! Waiting for the next entry of a stream.
//!
//! A waiting command occupies its connection, so each waits on one of its own, which is kept for the next wait. It is
//! closed when the wait is dropped, and Redis forgets the wait with it. When there are too many connections, waits are
//! short instead.

use std::{sync::Mutex, time::Duration};

use redis::{RedisResult, Value};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::{
    keys,
    link::{Line, Opener, silence, store_error},
};
use crate::{CENTURY, StoreError};

/// The most connections that are kept without a wait on them.
const IDLE: usize = 4;

/// The most connections on which reads of one kind wait.
const MOST: usize = 64;

/// How long a read waits when there is no connection left for it.
const CROWDED: Duration = Duration::from_millis(250);

/// Connections on which reads wait.
pub struct Waits {
    opener: Opener,
    idle: Mutex<Vec<Line>>,
    free: Semaphore,
}

impl Waits {
    pub fn new(opener: Opener) -> Self {
        Self { opener, idle: Mutex::default(), free: Semaphore::new(MOST) }
    }

    /// Returns when the stream `key` has an entry after `after-0`, or after `wait`, or earlier when too many wait.
    pub async fn entry_after(&self, key: &str, after: u64, wait: Duration) -> Result<(), StoreError> {
        let Ok(_free) = self.free.try_acquire() else {
            sleep(wait.min(CROWDED)).await;
            return Ok(());
        };
        let mut command = redis::cmd("XREAD");
        command
            .arg("COUNT")
            .arg(1)
            .arg("BLOCK")
            .arg(keys::millis(wait))
            .arg("STREAMS")
            .arg(key)
            .arg(format!("{after}-0"));

        let answer = timeout(wait.min(CENTURY) + self.opener.timeout(), async {
            let mut line = self.line().await?;
            command.query_async::<Value>(&mut line.connection).await?;
            RedisResult::Ok(line)
        });
        let line = answer.await.unwrap_or_else(|_| Err(silence())).map_err(|error| store_error(key, error))?;
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

//! The event log of a cluster: a stream, and a head that names its epoch and its end.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use redis::{Script, ScriptInvocation};

use super::{
    keys::{self, Keys},
    link::{Link, Opener},
    waits::Waits,
};
use crate::{Appended, Batch, EventLog, LogEntry, LogLimits, Offset, Position, StoreError, log::REPEATS, random_epoch};

/// A second in the unit of offsets.
const MICROS: u64 = 1_000_000;

/// The log that all nodes of a cluster append to and read.
pub struct RedisLog {
    limits: LogLimits,
    keys: Arc<Keys>,
    link: Arc<Link>,
    waits: Waits,
    append: Script,
    position: Script,
    read: Script,
}

impl RedisLog {
    pub fn new(limits: &LogLimits, keys: Arc<Keys>, link: Arc<Link>, opener: Opener) -> Self {
        Self {
            limits: limits.clone(),
            keys,
            link,
            waits: Waits::new(opener),
            append: script(include_str!("log_append.lua")),
            position: script(include_str!("log_position.lua")),
            read: script(include_str!("log_read.lua")),
        }
    }

    /// A call of a script that [`script`] made, with what `log_head.lua` takes; the script's own keys and arguments
    /// come after.
    pub fn call<'a>(&self, script: &'a Script) -> ScriptInvocation<'a> {
        let mut call = script.key(&self.keys.head);
        call.key(&self.keys.log)
            .arg(random_epoch())
            .arg(self.limits.max_age_secs.get().saturating_mul(MICROS))
            .arg(keys::millis(keys::IDLE))
            .arg(self.limits.max_entries.get());
        call
    }

    async fn batch(&self, epoch: &str, after: Offset, limit: usize) -> Result<Batch, StoreError> {
        let mut call = self.call(&self.read);
        call.arg(epoch).arg(after.0).arg(limit.max(1));
        let (epoch, last, lost, offsets, bytes): (String, u64, bool, Vec<u64>, Vec<Vec<u8>>) =
            self.link.script(&self.keys.log, &call).await?;

        let entries: Vec<_> =
            offsets.into_iter().zip(bytes).map(|(offset, bytes)| LogEntry { offset: Offset(offset), bytes }).collect();
        let resume = match entries.last() {
            Some(entry) => entry.offset,
            None if lost => Offset(last),
            None => after,
        };
        Ok(Batch { epoch, entries, lost, resume })
    }
}

#[async_trait]
impl EventLog for RedisLog {
    async fn append(&self, bytes: &[u8], producer_id: &str) -> Result<Appended, StoreError> {
        let mut call = self.call(&self.append);
        if !producer_id.is_empty() {
            call.key(self.keys.producer(producer_id));
        }
        call.arg(bytes).arg(keys::millis(REPEATS));
        let (offset, repeated) = self.link.script(&self.keys.log, &call).await?;
        Ok(Appended { offset: Offset(offset), repeated })
    }

    async fn position(&self) -> Result<Position, StoreError> {
        let (epoch, last) = self.link.script(&self.keys.head, &self.call(&self.position)).await?;
        Ok(Position { epoch, last: Offset(last) })
    }

    async fn read(&self, epoch: &str, after: Offset, limit: usize, wait: Duration) -> Result<Batch, StoreError> {
        let batch = self.batch(epoch, after, limit).await?;
        if batch.lost || !batch.entries.is_empty() || wait.is_zero() {
            return Ok(batch);
        }
        self.waits.entry_after(&self.keys.log, after.0, wait).await?;
        self.batch(epoch, after, limit).await
    }
}

/// A script that begins with `log_head.lua`.
pub fn script(body: &str) -> Script {
    Script::new(&format!("{}\n{body}", include_str!("log_head.lua")))
}

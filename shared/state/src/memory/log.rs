//! The event log of one process.
//!
//! Entries leave it by number and by age, whenever one is appended. Producers' ids are remembered for a minute, and
//! no more of them than entries.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use crate::{Appended, Batch, EventLog, LogEntry, LogLimits, Offset, Position, StoreError, log::REPEATS, random_epoch};

/// The log and those who wait for its next entry.
pub struct MemoryLog {
    limits: LogLimits,
    epoch: String,
    state: Mutex<State>,
    /// The newest offset; a waiting read sees it change.
    last: watch::Sender<Offset>,
}

#[derive(Default)]
struct State {
    entries: VecDeque<Kept>,
    /// The entry before the first that is kept.
    trimmed: Offset,
    last: Offset,
    producers: HashMap<String, Offset>,
    /// The same ids in the order in which they came.
    remembered: VecDeque<(Instant, String)>,
}

struct Kept {
    offset: Offset,
    since: Instant,
    bytes: Vec<u8>,
}

impl MemoryLog {
    pub fn new(limits: LogLimits) -> Self {
        Self { limits, epoch: random_epoch(), state: Mutex::default(), last: watch::Sender::new(Offset(0)) }
    }

    /// Appends an entry whose producer is not asked for.
    pub fn push(&self, bytes: &[u8]) -> Offset {
        self.append_once(bytes, "").offset
    }

    /// The end of the log.
    pub fn end(&self) -> Position {
        Position { epoch: self.epoch.clone(), last: self.state().last }
    }

    fn append_once(&self, bytes: &[u8], producer_id: &str) -> Appended {
        let now = Instant::now();
        let mut state = self.state();
        state.forget_producers(now, self.limits.max_entries.get());
        if let Some(offset) = state.producers.get(producer_id) {
            return Appended { offset: *offset, repeated: true };
        }

        let offset = Offset((state.last.0 + 1).max(clock()));
        if !producer_id.is_empty() {
            state.producers.insert(producer_id.to_owned(), offset);
            state.remembered.push_back((now, producer_id.to_owned()));
        }
        state.entries.push_back(Kept { offset, since: now, bytes: bytes.to_vec() });
        state.last = offset;
        state.trim(now, &self.limits);
        // Still under the lock, so the waiting see offsets only grow.
        self.last.send_replace(offset);
        Appended { offset, repeated: false }
    }

    fn batch(&self, epoch: &str, after: Offset, limit: usize) -> Batch {
        let state = self.state();
        let epoch_now = self.epoch.clone();
        let place = if epoch == self.epoch { state.place_after(after) } else { None };
        let Some(first) = place else {
            return Batch { epoch: epoch_now, entries: Vec::new(), lost: true, resume: state.last };
        };
        let entries: Vec<_> = state.entries.range(first..).take(limit.max(1)).map(Kept::entry).collect();
        let resume = entries.last().map_or(after, |entry| entry.offset);
        Batch { epoch: epoch_now, entries, lost: false, resume }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }
}

impl State {
    /// Where the entry after `after` is or will be, or `None` when it was trimmed or `after` is no entry's offset.
    fn place_after(&self, after: Offset) -> Option<usize> {
        if after == self.trimmed {
            return Some(0);
        }
        self.entries.binary_search_by_key(&after, |kept| kept.offset).ok().map(|place| place + 1)
    }

    fn trim(&mut self, now: Instant, limits: &LogLimits) {
        while let Some(first) = self.entries.front() {
            let too_many = self.entries.len() > limits.max_entries.get();
            if !too_many && now.duration_since(first.since) <= limits.max_age() {
                return;
            }
            self.trimmed = first.offset;
            self.entries.pop_front();
        }
    }

    fn forget_producers(&mut self, now: Instant, most: usize) {
        while let Some((since, id)) = self.remembered.front() {
            if self.remembered.len() < most && now.duration_since(*since) < REPEATS {
                return;
            }
            self.producers.remove(id);
            self.remembered.pop_front();
        }
    }
}

impl Kept {
    fn entry(&self) -> LogEntry {
        LogEntry { offset: self.offset, bytes: self.bytes.clone() }
    }
}

#[async_trait]
impl EventLog for MemoryLog {
    async fn append(&self, bytes: &[u8], producer_id: &str) -> Result<Appended, StoreError> {
        Ok(self.append_once(bytes, producer_id))
    }

    async fn position(&self) -> Result<Position, StoreError> {
        Ok(self.end())
    }

    async fn read(&self, epoch: &str, after: Offset, limit: usize, wait: Duration) -> Result<Batch, StoreError> {
        // Before the first look, so that no entry slips in between.
        let mut news = self.last.subscribe();
        let batch = self.batch(epoch, after, limit);
        if batch.lost || !batch.entries.is_empty() || wait.is_zero() {
            return Ok(batch);
        }
        // An error is the deadline: the sender lives as long as this log.
        let _ = timeout(wait, news.wait_for(|last| *last != after)).await;
        Ok(self.batch(epoch, after, limit))
    }
}

/// The least offset for an entry appended now: the time in microseconds, as in Redis.
fn clock() -> u64 {
    let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since_1970.as_micros()).unwrap_or_default()
}

//! The newest entries of the log, read by one task for the whole process.
//!
//! The task ends with the last [`Tail`]. While the store is away it keeps what it has and tries again; when its own
//! place in the log is lost it begins anew at the end, and every subscriber finds out by the epoch or offset it holds.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use prost::Message;
use switchyard_proto::v1::Fact;
use switchyard_state::{Batch, EventLog, LogEntry, Offset, StoreError};
use switchyard_telemetry::metrics::Counter;
use tokio::{
    sync::watch,
    task::{AbortHandle, spawn},
};

use crate::pause::Backoff;

/// How many entries one read takes.
const BATCH: usize = 256;

/// How long one read waits for the next entry.
const WAIT: Duration = Duration::from_secs(1);

/// An entry as subscribers see it; one that cannot be read has no fact.
#[derive(Clone)]
pub(crate) struct Stored {
    pub offset: Offset,
    pub fact: Option<Arc<Fact>>,
}

/// What the tail has of what a subscriber asks for.
pub(crate) enum Found {
    /// At least one entry, in order.
    Entries(Vec<Stored>),
    /// Nothing new: wait for the tail to move.
    Nothing,
    /// The place asked for is not within the tail: ask the log.
    Elsewhere,
}

pub(crate) struct Tail {
    log: Arc<dyn EventLog>,
    kept: Arc<Kept>,
    skipped: Counter,
    task: AbortHandle,
}

/// What the task and the subscribers share.
struct Kept {
    entries: Mutex<Entries>,
    /// Changes whenever there may be more to see.
    moved: watch::Sender<()>,
}

/// All entries of one epoch after `start` up to `end`.
#[derive(Default)]
struct Entries {
    epoch: String,
    start: Offset,
    end: Offset,
    newest: VecDeque<Stored>,
}

impl Tail {
    pub fn start(log: Arc<dyn EventLog>, capacity: usize, skipped: Counter) -> Arc<Self> {
        let kept = Arc::new(Kept { entries: Mutex::default(), moved: watch::channel(()).0 });
        // Aborted when the tail is dropped.
        let task = spawn(follow(log.clone(), kept.clone(), capacity.max(1), skipped.clone())).abort_handle();
        Arc::new(Self { log, kept, skipped, task })
    }

    pub fn log(&self) -> &dyn EventLog {
        &*self.log
    }

    /// Tells when the tail moved.
    pub fn moves(&self) -> watch::Receiver<()> {
        self.kept.moved.subscribe()
    }

    /// At most `limit` entries after `after`.
    pub fn find(&self, epoch: &str, after: Offset, limit: usize) -> Found {
        let entries = self.kept.entries.lock().expect("nothing panics while holding it");
        if entries.epoch != epoch || after < entries.start || after > entries.end {
            return Found::Elsewhere;
        }
        let first = entries.newest.partition_point(|entry| entry.offset <= after);
        let found: Vec<Stored> = entries.newest.range(first..).take(limit).cloned().collect();
        if found.is_empty() { Found::Nothing } else { Found::Entries(found) }
    }

    /// Reads an entry that a subscriber took from the log itself.
    pub fn read(&self, entry: LogEntry) -> Stored {
        read(entry, &self.skipped)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn read(entry: LogEntry, skipped: &Counter) -> Stored {
    let fact = match Fact::decode(&*entry.bytes) {
        Ok(fact) => Some(Arc::new(fact)),
        Err(error) => {
            skipped.inc();
            tracing::warn!(
                offset = entry.offset.0,
                error = &error as &dyn std::error::Error,
                "skipped an entry of the event log"
            );
            None
        }
    };
    Stored { offset: entry.offset, fact }
}

/// Reads the log without end.
async fn follow(log: Arc<dyn EventLog>, kept: Arc<Kept>, capacity: usize, skipped: Counter) {
    let mut backoff = Backoff::default();
    let mut place = None;
    loop {
        match step(&*log, &kept, &mut place, capacity, &skipped).await {
            Ok(()) => {
                if backoff.over() {
                    tracing::info!("the event log is back");
                }
            }
            Err(error) => {
                if backoff.is_fresh() {
                    tracing::warn!(error = &error as &dyn std::error::Error, "the event log cannot be read");
                }
                backoff.wait().await;
            }
        }
    }
}

/// Takes one step: to the end of the log at first, to the next entries after that.
async fn step(
    log: &dyn EventLog,
    kept: &Kept,
    place: &mut Option<(String, Offset)>,
    capacity: usize,
    skipped: &Counter,
) -> Result<(), StoreError> {
    let Some((epoch, after)) = place else {
        let position = log.position().await?;
        kept.begin(&position.epoch, position.last);
        *place = Some((position.epoch, position.last));
        return Ok(());
    };
    let batch = log.read(epoch, *after, BATCH, WAIT).await?;
    if batch.lost || batch.epoch != *epoch {
        kept.begin(&batch.epoch, batch.resume);
    } else if !batch.entries.is_empty() {
        kept.extend(&batch, capacity, skipped);
    }
    *place = Some((batch.epoch, batch.resume));
    Ok(())
}

impl Kept {
    fn begin(&self, epoch: &str, at: Offset) {
        let mut entries = self.entries.lock().expect("nothing panics while holding it");
        *entries = Entries { epoch: epoch.to_owned(), start: at, end: at, newest: VecDeque::new() };
        drop(entries);
        self.moved.send_replace(());
    }

    fn extend(&self, batch: &Batch, capacity: usize, skipped: &Counter) {
        let stored: Vec<Stored> = batch.entries.iter().map(|entry| read(entry.clone(), skipped)).collect();
        let mut entries = self.entries.lock().expect("nothing panics while holding it");
        entries.newest.extend(stored);
        entries.end = batch.resume;
        while entries.newest.len() > capacity {
            if let Some(oldest) = entries.newest.pop_front() {
                entries.start = oldest.offset;
            }
        }
        drop(entries);
        self.moved.send_replace(());
    }
}

//! The tasks that run at this node.
//!
//! An entry leaves with its job, however that ends. A task may come back while its last run is still ending, so entries
//! are told apart by number.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use switchyard_state::TaskId;
use tokio::{sync::Notify, task::AbortHandle};

#[derive(Default)]
pub(crate) struct Table {
    entries: Mutex<HashMap<TaskId, Entry>>,
    numbers: AtomicU64,
    /// An entry left.
    left: Notify,
}

struct Entry {
    number: u64,
    job: AbortHandle,
    ending: Arc<AtomicBool>,
}

/// A job's entry; dropping it takes it out.
pub(crate) struct Place {
    table: Arc<Table>,
    id: TaskId,
    number: u64,
    ending: Arc<AtomicBool>,
}

impl Table {
    /// Spawns a job on the current runtime, with a place in the table.
    pub fn spawn<F>(self: &Arc<Self>, id: &TaskId, job: impl FnOnce(Place) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let ending = Arc::new(AtomicBool::new(false));
        let place = Place { table: self.clone(), id: id.clone(), number, ending: ending.clone() };
        // Held until the entry is there, so that even a job that ends at once takes it out again.
        let mut entries = self.entries();
        // Owned by this table, and aborted by it.
        let job = tokio::spawn(job(place)).abort_handle();
        entries.insert(id.clone(), Entry { number, job, ending });
    }

    /// What runs here, each with its number.
    pub fn running(&self) -> Vec<(TaskId, u64)> {
        self.entries().iter().map(|(id, entry)| (id.clone(), entry.number)).collect()
    }

    /// Ends a run that the store no longer knows as ours. One that is ending anyhow finds that out by itself.
    pub fn disown(&self, id: &TaskId, number: u64) {
        if let Some(entry) = self.entries().get(id)
            && entry.number == number
            && !entry.ending.load(Ordering::Relaxed)
        {
            entry.job.abort();
        }
    }

    /// Ends a run. `false` when there is none.
    pub fn stop(&self, id: &TaskId) -> bool {
        self.entries().get(id).map(|entry| entry.job.abort()).is_some()
    }

    /// Resolves when nothing runs here.
    pub async fn emptied(&self) {
        loop {
            let left = self.left.notified();
            if self.entries().is_empty() {
                return;
            }
            left.await;
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<TaskId, Entry>> {
        self.entries.lock().expect("nothing panics while holding it")
    }
}

impl Place {
    /// The run is over; what is left is to tell the store.
    pub fn ends(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut entries = self.table.entries();
        if entries.get(&self.id).is_some_and(|entry| entry.number == self.number) {
            entries.remove(&self.id);
        }
        drop(entries);
        self.table.left.notify_waiters();
    }
}

//! Keeps the prompts of a folder as its files are.
//!
//! The system says that something changed; a burst of changes becomes one look at the folder. Where it does not say
//! so, for a network file system or because it has no watches left, the folder is looked at from time to time.

use std::{path::Path, time::Duration};

use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use switchyard_state::Entry;
use tokio::{
    sync::{mpsc, watch},
    task::{JoinHandle, spawn_blocking},
    time::{Instant, timeout, timeout_at},
};
use tracing::{error, info, warn};

use crate::{
    catalog::Catalog,
    folder::{Folder, Report, Scan},
};

/// How long nothing must change for a burst to be over.
const QUIET: Duration = Duration::from_millis(100);

/// How long a burst is waited for at most.
const LONGEST_BURST: Duration = Duration::from_secs(1);

/// How often the folder is looked at though nothing is said to have changed.
const LOOK: Duration = Duration::from_secs(30);

/// The same, while nobody would say so.
const LOOK_UNWATCHED: Duration = Duration::from_secs(2);

/// Where the prompts of a folder go.
pub(crate) struct Served {
    pub(crate) catalog: watch::Sender<Catalog>,
    pub(crate) entries: watch::Sender<Vec<Entry>>,
}

/// The task that follows a folder; it ends with this.
pub(crate) struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Follows a folder until the returned value is dropped.
pub(crate) fn follow(folder: Folder, served: Served) -> Following {
    // One word is enough to look again.
    let (changed, changes) = mpsc::channel(1);
    Following(tokio::spawn(run(folder, served, changed, changes)))
}

async fn run(mut folder: Folder, served: Served, changed: mpsc::Sender<()>, mut changes: mpsc::Receiver<()>) {
    let mut watcher = None;
    let mut was_watching = true;
    let mut was_readable = true;
    loop {
        let changed = changed.clone();
        let look = spawn_blocking(move || {
            // Before the files are read, so that no change falls between. Again each time, for the folder may be another.
            watcher = watch_folder(watcher, folder.path(), changed);
            let scan = folder.scan();
            (folder, watcher, scan)
        });
        let scan;
        (folder, watcher, scan) = match look.await {
            Ok(looked) => looked,
            // The runtime ends, and this with it.
            Err(error) if error.is_cancelled() => return,
            Err(error) => {
                error!(error = &error as &dyn std::error::Error, "the prompt folder is no longer followed");
                return;
            }
        };

        let watching = watcher.is_some();
        if was_watching && !watching {
            warn!(folder = %folder.path().display(), "cannot watch the prompt folder, looking at it every 2 s instead");
        }
        was_watching = watching;
        match scan {
            Ok(scan) => {
                was_readable = true;
                served.update(scan);
            }
            Err(error) if was_readable => {
                was_readable = false;
                warn!(error = &error as &dyn std::error::Error, "cannot read the prompt folder, keeping its prompts");
            }
            Err(_) => {}
        }
        let pause = if watching { LOOK } else { LOOK_UNWATCHED };
        if timeout(pause, changes.recv()).await.is_ok() {
            end_of_burst(&mut changes).await;
        }
    }
}

async fn end_of_burst(changes: &mut mpsc::Receiver<()>) {
    let end = Instant::now() + LONGEST_BURST;
    while timeout_at(end.min(Instant::now() + QUIET), changes.recv()).await.is_ok() {
        if Instant::now() >= end {
            return;
        }
    }
}

/// A watcher of the folder as it is now; `None` when it cannot be watched.
fn watch_folder(
    watcher: Option<RecommendedWatcher>,
    path: &Path,
    changed: mpsc::Sender<()>,
) -> Option<RecommendedWatcher> {
    let tell = move |event: notify::Result<notify::Event>| {
        // An error, such as too many events at once, may hide any change. A full channel has the word in it already.
        if event.is_ok_and(|event| !is_change(event.kind) && !event.need_rescan()) {
            return;
        }
        let _ = changed.try_send(());
    };
    let mut watcher = watcher.or_else(|| notify::recommended_watcher(tell).ok())?;
    watcher.watch(path, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

/// Reading the files is no change of them.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

impl Served {
    /// Serves what was found, and reports what is newly wrong. Those who wait for entries are woken only when some changed.
    pub(crate) fn update(&self, scan: Scan) {
        for Report { file, problem } in scan.reports {
            warn!(file, line = problem.line, reason = problem.reason, "a prompt file is not served as it is");
        }
        let entries = scan.catalog.entries();
        let prompts = entries.len();
        self.catalog.send_replace(scan.catalog);
        let changed = self.entries.send_if_modified(|known| {
            let changed = *known != entries;
            *known = entries;
            changed
        });
        if changed {
            info!(prompts, "the prompts changed");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::PromptOptions;

    #[test]
    fn those_who_wait_for_entries_are_woken_only_by_a_prompt_that_changed() {
        let directory = tempfile::tempdir().unwrap();
        let write =
            |text: &str| fs::write(directory.path().join("a.md"), format!("---\nname: a\n---\n{text}")).unwrap();
        let mut folder = Folder::new(directory.path(), &PromptOptions::default());
        let served =
            Served { catalog: watch::Sender::new(Catalog::default()), entries: watch::Sender::new(Vec::new()) };
        let mut entries = served.entries.subscribe();

        write("one");
        served.update(folder.scan().unwrap());
        let digest = entries.borrow_and_update()[0].digest.clone();
        write("one");
        served.update(folder.scan().unwrap());
        assert!(!entries.has_changed().unwrap());

        write("two");
        served.update(folder.scan().unwrap());
        assert!(entries.has_changed().unwrap());
        assert_ne!(entries.borrow_and_update()[0].digest, digest);
    }

    #[test]
    fn reading_a_file_is_no_change_of_it() {
        use notify::event::{CreateKind, DataChange, ModifyKind};

        assert!(!is_change(EventKind::Access(AccessKind::Open(AccessMode::Any))));
        assert!(!is_change(EventKind::Access(AccessKind::Close(AccessMode::Read))));
        assert!(is_change(EventKind::Access(AccessKind::Close(AccessMode::Write))));
        assert!(is_change(EventKind::Create(CreateKind::File)));
        assert!(is_change(EventKind::Modify(ModifyKind::Data(DataChange::Any))));
        assert!(is_change(EventKind::Any));
    }
}

//! Looks where it is told to look, and tells what differs from the picture.

use std::{
    collections::BTreeSet,
    mem,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use super::{
    Changes,
    notices::{Notices, Places},
    outbox::Outbox,
    system::System,
};
use crate::{WatchMode, picture::Differences, root::Inner, scan, uri};

/// How often it is looked for a root that is not there.
const ABSENT: Duration = Duration::from_secs(1);

/// The whole tree is not looked at again before this many times as long as the last look took, so that a flood of
/// changes costs a bounded share of a core.
const REST_AFTER_ALL: u32 = 4;

/// What looks brought.
#[derive(Default)]
struct Found {
    changes: Changes,
    /// Places that must be looked at again.
    others: Vec<PathBuf>,
    /// Everything could be looked at.
    complete: bool,
}

/// Keeps one picture. It runs on a thread of its own until the notices are stopped.
pub(super) struct Worker {
    root: Arc<Inner>,
    notices: Arc<Notices>,
    outbox: Arc<Outbox>,
    system: System,
    /// When the whole tree is looked at next without any notice.
    next_all: Option<Instant>,
    earliest_all: Instant,
    /// Changes are found by rescanning though notices were asked for; said once.
    falls_back: bool,
}

impl Worker {
    pub fn new(root: Arc<Inner>, notices: Arc<Notices>, outbox: Arc<Outbox>) -> Self {
        let system = System::new(&root, &notices);
        let earliest_all = Instant::now();
        Self { root, notices, outbox, system, next_all: None, earliest_all, falls_back: false }
    }

    pub fn run(mut self) {
        self.look_at_all();
        // Nobody can have missed what is in the first picture.
        self.outbox.set_ready();
        let options = self.root.options.watch.clone();
        while let Some(places) = self.notices.wait(&options, self.earliest_all, self.next_all) {
            let changes = match places {
                Places::All => self.look_at_all(),
                Places::These(paths) => self.look_at(paths),
            };
            self.outbox.put(changes);
        }
    }

    fn look_at_all(&mut self) -> Changes {
        let began = Instant::now();
        let is_there = self.root.confined.reopen();
        let mut found = Found { complete: true, ..Found::default() };
        self.look(Path::new(""), &mut found);
        for other in found.others {
            self.notices.look_at(other);
        }
        self.earliest_all = Instant::now() + began.elapsed() * REST_AFTER_ALL;
        self.plan(is_there, found.complete);
        found.changes
    }

    fn look_at(&mut self, mut paths: BTreeSet<PathBuf>) -> Changes {
        let mut found = Found { complete: true, ..Found::default() };
        // No notice comes to a link when its target changes.
        paths.extend(self.root.picture.links().iter().filter_map(|key| uri::path(key)));
        while let Some(path) = paths.pop_first() {
            self.look(&path, &mut found);
            while paths.first().is_some_and(|next| next.starts_with(&path)) {
                paths.pop_first();
            }
            paths.extend(found.others.drain(..));
        }
        // A rescan that is planned already is not put off.
        if self.next_all.is_none() && !(found.complete && self.system.missing().is_none()) {
            self.plan(true, found.complete);
        }
        found.changes
    }

    /// Looks at and below `path`.
    fn look(&mut self, path: &Path, found: &mut Found) {
        found.others.extend(self.system.begin(path, &self.root.confined));
        let on_folder = &mut |folder: &Path, inode| self.system.watch(folder, inode);
        let look = scan::look(&self.root, path, on_folder, self.notices.stopped());
        if look.stopped {
            return;
        }
        found.others.extend(self.system.end(path));
        found.complete &= look.sight.unseen.is_empty();
        let differences = self.root.update(path, look.sight);
        self.note(differences, &mut found.changes);
    }

    fn note(&self, differences: Differences, changes: &mut Changes) {
        changes.listed |= !differences.appeared.is_empty() || !differences.gone.is_empty();
        let seen = differences.appeared.into_iter().chain(differences.changed).map(|(key, _)| key);
        changes.updated.extend(seen.chain(differences.gone).map(|key| self.root.uris.uri(&key)));
    }

    /// Decides when to look at the whole tree without any notice, and says so when that is not as it should be.
    fn plan(&mut self, is_there: bool, complete: bool) {
        let options = &self.root.options.watch;
        let missing = if complete { self.system.missing() } else { Some("not everything could be looked at") };
        let falls_back = missing.is_some();
        let root = self.root.confined.path().display();
        let every_ms = options.rescan_every.as_millis();
        match (mem::replace(&mut self.falls_back, falls_back), missing) {
            (false, Some(reason)) => {
                tracing::warn!(%root, reason, every_ms, "changes are found by rescanning, for not all of them are told");
            }
            (true, None) => tracing::info!(%root, "changes are told by the system again"),
            _ => (),
        }
        let every = match () {
            () if !is_there => Some(ABSENT.min(options.rescan_every)),
            () if falls_back || options.mode == WatchMode::Rescan => Some(options.rescan_every),
            () => None,
        };
        self.next_all = every.map(|every| (Instant::now() + every).max(self.earliest_all));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.root.watched.store(false, Ordering::Release);
        self.outbox.close();
    }
}

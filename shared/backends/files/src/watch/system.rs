//! The operating system's notices of changes: one watch for every folder that is served.
//!
//! A folder is watched before what is in it is looked at, so nothing that happens in between is missed. The system
//! ties a watch to the folder itself, our library to its path: a folder that moved may lose its new watch together
//! with the old one. Hence whenever a watch is dropped, the folder's other path is looked at, and so watched, again.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    ops::Bound::{Included, Unbounded},
    path::{Path, PathBuf},
    sync::Arc,
};

use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};

use super::notices::Notices;
use crate::{
    WatchMode,
    confine::{Confined, Kind},
    root::Inner,
};

/// Whether every folder needs a watch of its own. Elsewhere the root's covers what is below it.
const BY_FOLDER: bool = cfg!(target_os = "linux");

/// The watches of one root.
pub(super) struct System {
    root: PathBuf,
    /// `None` when there are to be no notices, or the system gives none.
    watcher: Option<RecommendedWatcher>,
    max: usize,
    watched: BTreeMap<PathBuf, Watch>,
    by_inode: HashMap<u64, PathBuf>,
    /// Counts the looks, so that a look finds the watches that it did not renew.
    look: u64,
    /// Why not every folder is watched.
    missing: Option<String>,
}

struct Watch {
    inode: u64,
    look: u64,
}

impl System {
    pub fn new(root: &Inner, notices: &Arc<Notices>) -> Self {
        let path = root.confined.path().to_owned();
        let (watcher, missing) = match root.options.watch.mode {
            WatchMode::Rescan => (None, None),
            WatchMode::Events => match notify::recommended_watcher(handler(path.clone(), notices.clone())) {
                Ok(watcher) => (Some(watcher), None),
                Err(error) => (None, Some(error.to_string())),
            },
        };
        let max = root.options.watch.max_watches;
        let (watched, by_inode) = (BTreeMap::new(), HashMap::new());
        Self { root: path, watcher, max, watched, by_inode, look: 0, missing }
    }

    /// Why not every folder is watched, if it is so and should not be.
    pub fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Begins a look at and below `path`: drops the watches of folders that are no longer there. The answer names
    /// folders elsewhere that may have lost their watch with it.
    pub fn begin(&mut self, path: &Path, confined: &Confined) -> Vec<PathBuf> {
        self.look += 1;
        if path.as_os_str().is_empty() && self.watcher.is_some() {
            self.missing = None;
        }
        let is_there = |folder: &Path, inode| {
            confined.stat(folder).is_ok_and(|stat| stat.kind == Kind::Folder && stat.inode == inode)
        };
        self.drop_where(path, |folder, watch| !is_there(folder, watch.inode))
    }

    /// Watches a folder.
    pub fn watch(&mut self, folder: &Path, inode: u64) {
        let is_root = folder.as_os_str().is_empty();
        let Some(watcher) = self.watcher.as_mut().filter(|_| is_root || BY_FOLDER) else { return };
        if self.watched.len() >= self.max && !self.watched.contains_key(folder) {
            self.missing = Some(format!("more than {} folders (`maxWatches`)", self.max));
            return;
        }
        let mode = if BY_FOLDER { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
        // Also one that is watched already: by now it may be another folder under the same path.
        match watcher.watch(&self.root.join(folder), mode) {
            Ok(()) => {
                self.watched.insert(folder.to_owned(), Watch { inode, look: self.look });
                self.by_inode.insert(inode, folder.to_owned());
            }
            // It is gone, as the watch over its parent will tell.
            Err(error) if is_absence(&error.kind) => (),
            Err(error) => self.missing = Some(error.to_string()),
        }
    }

    /// Ends a look: drops the watches of folders that it did not enter.
    pub fn end(&mut self, path: &Path) -> Vec<PathBuf> {
        let look = self.look;
        self.drop_where(path, |_, watch| watch.look != look)
    }

    fn drop_where(&mut self, path: &Path, is_unwanted: impl Fn(&Path, &Watch) -> bool) -> Vec<PathBuf> {
        let Some(watcher) = self.watcher.as_mut() else { return Vec::new() };
        let below = self.watched.range::<Path, _>((Included(path), Unbounded));
        let below = below.take_while(|(folder, _)| folder.starts_with(path));
        let unwanted = below.filter(|(folder, watch)| is_unwanted(folder, watch));
        let dropped: Vec<_> = unwanted.map(|(folder, watch)| (folder.clone(), watch.inode)).collect();
        let mut others = Vec::new();
        for (folder, inode) in dropped {
            self.watched.remove(&folder);
            // Where the folder went, the system or the library has dropped the watch already.
            let _ = watcher.unwatch(&self.root.join(&folder));
            match self.by_inode.get(&inode) {
                Some(other) if *other != folder => others.push(other.clone()),
                _ => drop(self.by_inode.remove(&inode)),
            }
        }
        others
    }
}

/// Turns the system's events into notices.
fn handler(root: PathBuf, notices: Arc<Notices>) -> impl FnMut(notify::Result<Event>) {
    move |event| match event {
        Ok(event) if event.need_rescan() => {
            tracing::warn!(root = %root.display(), "changes came faster than they were told; looking at everything");
            notices.look_at_all();
        }
        Ok(event) if tells_a_change(event.kind) => {
            for path in &event.paths {
                if let Ok(path) = path.strip_prefix(&root) {
                    notices.look_at(path.to_owned());
                }
            }
        }
        Ok(_) => (),
        Err(error) => {
            tracing::warn!(root = %root.display(), %error, "the system failed to tell of changes; looking at everything");
            notices.look_at_all();
        }
    }
}

/// Reading a file is told too, and is none.
fn tells_a_change(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

fn is_absence(error: &ErrorKind) -> bool {
    match error {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt, time::Instant};

    use notify::event::{CreateKind, Flag};

    use super::{super::notices::Places, *};
    use crate::{FilesOptions, Root, WatchOptions};

    fn places(notices: &Notices) -> Option<Places> {
        notices.wait(
            &WatchOptions::default(),
            Instant::now(),
            Some(Instant::now() + std::time::Duration::from_secs(60)),
        )
    }

    #[test]
    fn events_that_were_lost_are_a_notice_of_everything() {
        let notices = Arc::new(Notices::default());
        let mut handle = handler("/srv".into(), notices.clone());

        handle(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        assert_eq!(places(&notices), Some(Places::All));

        handle(Err(notify::Error::new(ErrorKind::MaxFilesWatch)));
        assert_eq!(places(&notices), Some(Places::All));
    }

    #[test]
    fn only_changes_below_the_root_are_noticed() {
        let notices = Arc::new(Notices::default());
        let mut handle = handler("/srv".into(), notices.clone());
        let event = |kind, path: &str| Ok(Event::new(kind).add_path(path.into()));

        handle(event(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/srv/opened"));
        handle(event(EventKind::Access(AccessKind::Close(AccessMode::Read)), "/srv/read"));
        handle(event(EventKind::Create(CreateKind::File), "/elsewhere"));
        handle(event(EventKind::Access(AccessKind::Close(AccessMode::Write)), "/srv/written"));

        assert_eq!(places(&notices), Some(Places::These([PathBuf::from("written")].into())));
    }

    #[test]
    fn a_folder_that_may_have_lost_its_watch_with_its_old_path_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("old/deep")).unwrap();
        let root = Root::open(&FilesOptions { path: folder.path().to_owned(), ..FilesOptions::default() }).unwrap();
        let mut system = System::new(&root.inner, &Arc::default());
        let inode = |path: &str| fs::metadata(at(path)).unwrap().ino();
        let (old, deep) = (inode("old"), inode("old/deep"));
        system.watch(Path::new("old"), old);
        system.watch(Path::new("old/deep"), deep);

        fs::rename(at("old"), at("new")).unwrap();
        system.watch(Path::new("new"), old);
        system.watch(Path::new("new/deep"), deep);

        let others = system.begin(Path::new("old"), &root.inner.confined);
        assert_eq!(others, [Path::new("new"), Path::new("new/deep")]);
        assert_eq!(system.begin(Path::new("new"), &root.inner.confined), Vec::<PathBuf>::new());
    }
}

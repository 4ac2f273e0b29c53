//! Where to look, as the system or anybody else says, until a burst of notices has come to rest.

use std::{
    collections::BTreeSet,
    mem,
    path::PathBuf,
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use crate::{WatchOptions, ignores};

/// The most paths remembered one by one. More, and the whole tree is looked at.
const MAX_PATHS: usize = 10_000;

/// Paths to look at.
#[derive(Debug, Default)]
pub(super) struct Notices {
    noted: Mutex<Noted>,
    news: Condvar,
    stop: AtomicBool,
}

#[derive(Debug, Default)]
struct Noted {
    paths: BTreeSet<PathBuf>,
    all: bool,
    /// When the first and the last notice of this burst came.
    burst: Option<(Instant, Instant)>,
}

/// Where to look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// Everywhere.
    All,
    /// At and below these.
    These(BTreeSet<PathBuf>),
}

impl Notices {
    /// Something happened at this path, relative to the root.
    pub fn look_at(&self, mut path: PathBuf) {
        // It says what is served in its folder.
        if path.file_name().is_some_and(|name| name == ignores::FILE) {
            path.pop();
        }
        self.note(|noted| {
            if path.as_os_str().is_empty() || noted.paths.len() >= MAX_PATHS {
                noted.all = true;
                noted.paths.clear();
            } else {
                noted.paths.insert(path);
            }
        });
    }

    /// Something may have happened anywhere.
    pub fn look_at_all(&self) {
        self.note(|noted| noted.all = true);
    }

    /// Ends every wait, now and from now on.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let _noted = self.noted.lock().expect("nothing panics while holding it");
        self.news.notify_all();
    }

    /// Set once [`Self::stop`] was called.
    pub fn stopped(&self) -> &AtomicBool {
        &self.stop
    }

    /// Waits until a burst of notices has come to rest, or long enough, and takes it. The whole tree is not due before
    /// `earliest`, and without any notice at `latest`. `None` once stopped.
    pub fn wait(&self, options: &WatchOptions, earliest: Instant, latest: Option<Instant>) -> Option<Places> {
        let mut noted = self.noted.lock().expect("nothing panics while holding it");
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let now = Instant::now();
            let rested = noted.burst.map(|(first, last)| (last + options.quiet).min(first + options.max_delay));
            let these = rested.filter(|_| !noted.paths.is_empty());
            let all =
                [rested.filter(|_| noted.all).map(|rested| rested.max(earliest)), latest].into_iter().flatten().min();
            if all.is_some_and(|due| due <= now) {
                *noted = Noted::default();
                return Some(Places::All);
            }
            if these.is_some_and(|due| due <= now) {
                if !noted.all {
                    noted.burst = None;
                }
                return Some(Places::These(mem::take(&mut noted.paths)));
            }
            let poisoned = "nothing panics while holding it";
            noted = match [these, all].into_iter().flatten().min() {
                Some(due) => self.news.wait_timeout(noted, due - now).expect(poisoned).0,
                None => self.news.wait(noted).expect(poisoned),
            };
        }
    }

    fn note(&self, note: impl FnOnce(&mut Noted)) {
        let now = Instant::now();
        let mut noted = self.noted.lock().expect("nothing panics while holding it");
        note(&mut noted);
        let first = noted.burst.map_or(now, |(first, _)| first);
        noted.burst = Some((first, now));
        self.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn options(quiet: u64, max_delay: u64) -> WatchOptions {
        WatchOptions {
            quiet: Duration::from_millis(quiet),
            max_delay: Duration::from_millis(max_delay),
            ..WatchOptions::default()
        }
    }

    fn these(paths: &[&str]) -> Option<Places> {
        Some(Places::These(paths.iter().map(PathBuf::from).collect()))
    }

    #[test]
    fn notices_merge_until_they_rest() {
        let notices = Notices::default();
        for path in ["b", "a", "b"] {
            notices.look_at(path.into());
        }

        assert_eq!(notices.wait(&options(1, 1000), Instant::now(), None), these(&["a", "b"]));
    }

    #[test]
    fn a_burst_that_does_not_rest_is_taken_all_the_same() {
        let notices = Notices::default();
        let began = Instant::now();
        notices.look_at("a".into());

        assert_eq!(notices.wait(&options(60_000, 5), Instant::now(), None), these(&["a"]));
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn rules_of_a_folder_are_a_notice_of_that_folder_and_the_roots_of_everything() {
        let notices = Notices::default();
        notices.look_at("d/.gitignore".into());
        assert_eq!(notices.wait(&options(0, 0), Instant::now(), None), these(&["d"]));

        notices.look_at(".gitignore".into());
        assert_eq!(notices.wait(&options(0, 0), Instant::now(), None), Some(Places::All));
    }

    #[test]
    fn more_paths_than_are_remembered_become_everything() {
        let notices = Notices::default();
        for number in 0..=MAX_PATHS {
            notices.look_at(format!("{number}").into());
        }

        assert_eq!(notices.wait(&options(0, 0), Instant::now(), None), Some(Places::All));
    }

    #[test]
    fn paths_do_not_wait_for_the_whole_tree_to_be_due() {
        let notices = Notices::default();
        notices.look_at_all();
        notices.look_at("a".into());

        assert_eq!(notices.wait(&options(0, 0), Instant::now() + Duration::from_secs(3600), None), these(&["a"]));
        let later = Instant::now() + Duration::from_millis(30);
        assert_eq!(notices.wait(&options(0, 0), later, None), Some(Places::All));
        assert!(Instant::now() >= later);
    }

    #[test]
    fn the_whole_tree_is_due_without_any_notice_and_nothing_is_after_a_stop() {
        let notices = Notices::default();

        assert_eq!(notices.wait(&options(0, 0), Instant::now(), Some(Instant::now())), Some(Places::All));
        notices.stop();
        assert_eq!(notices.wait(&options(0, 0), Instant::now(), Some(Instant::now())), None);
    }
}

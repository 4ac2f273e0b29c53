//! The picture of a root: every served file, in the order of URIs, as it was last seen.
//!
//! A page is a search in a sorted map, whatever the number of files. Only the watcher writes, a few entries at a
//! time, so a reader never waits long. Bounded by `maxFiles`, which whoever looks at the disk keeps to.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound::{Excluded, Included, Unbounded},
    sync::RwLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::confine::Stat;

/// How long after its last change a file is still taken for unsettled. The clock of file times stands still for up
/// to 10 ms, so another change within it may show no difference.
const SETTLING: Duration = Duration::from_millis(20);

/// How many entries are written before readers are let in again.
const WRITTEN_AT_ONCE: usize = 1000;

/// Every served file.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    files: RwLock<BTreeMap<Box<str>, Seen>>,
    /// Every link by its key, also those that lead to nothing served now: nobody tells when their targets change.
    links: RwLock<BTreeSet<Box<str>>>,
}

/// A file as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// In bytes.
    pub size: u64,
    /// Seconds since 1970 and nanoseconds.
    pub modified: (i64, u32),
    inode: u64,
    /// Nothing can have changed since without leaving a mark in the fields above.
    settled: bool,
}

/// What is at and below a path now.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    /// In the order of keys.
    pub files: Vec<(Box<str>, Seen)>,
    pub links: BTreeSet<Box<str>>,
    /// The system refused to show what is at and below these keys, perhaps for a moment only.
    pub unseen: Vec<Box<str>>,
}

/// What differs between the picture and a sight.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    pub appeared: Vec<(Box<str>, Seen)>,
    pub changed: Vec<(Box<str>, Seen)>,
    pub gone: Vec<Box<str>>,
    /// Not all that appeared found a place.
    pub left_out: bool,
}

impl Seen {
    pub fn new(stat: &Stat) -> Self {
        let (seconds, nanos) = stat.modified;
        let modified = u64::try_from(seconds).ok().map(|seconds| UNIX_EPOCH + Duration::new(seconds, nanos));
        let age = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
        let settled = age.is_none_or(|age| age > SETTLING);
        Self { size: stat.size, modified: stat.modified, inode: stat.inode, settled }
    }

    /// Whether the content may differ from what it was at `before`.
    fn differs(&self, before: &Self) -> bool {
        !before.settled || (self.size, self.modified, self.inode) != (before.size, before.modified, before.inode)
    }
}

impl Picture {
    /// The number of files.
    pub fn len(&self) -> usize {
        self.files.read().expect("nothing panics while holding it").len()
    }

    /// At most `limit` files after `key`, and whether there are more.
    pub fn page(&self, key: &str, limit: usize) -> (Vec<(Box<str>, Seen)>, bool) {
        let files = self.files.read().expect("nothing panics while holding it");
        let mut rest = files.range::<str, _>((Excluded(key), Unbounded));
        let page = rest.by_ref().take(limit).map(|(key, seen)| (key.clone(), *seen)).collect();
        (page, rest.next().is_some())
    }

    /// Every link, also those that lead to nothing served now.
    pub fn links(&self) -> Vec<Box<str>> {
        self.links.read().expect("nothing panics while holding it").iter().cloned().collect()
    }

    /// Makes the picture at and below `key` what was seen there, as far as it then holds at most `max` files,
    /// and tells the differences.
    pub fn update(&self, key: &str, sight: Sight, max: usize) -> Differences {
        let mut differences = self.compare(key, sight.files);
        differences.gone.retain(|gone| !sight.unseen.iter().any(|unseen| is_at_or_below(unseen, gone)));
        let room = (max + differences.gone.len()).saturating_sub(self.len());
        differences.left_out = differences.appeared.len() > room;
        differences.appeared.truncate(room);
        self.replace_links(key, sight.links);
        self.write(&differences);
        differences
    }

    fn compare(&self, key: &str, now: Vec<(Box<str>, Seen)>) -> Differences {
        let files = self.files.read().expect("nothing panics while holding it");
        let mut differences = Differences::default();
        let mut before = at_and_below(key, &files).peekable();
        for (key, seen) in now {
            while let Some((gone, _)) = before.next_if(|(before, _)| **before < key) {
                differences.gone.push(gone.clone());
            }
            match before.next_if(|(before, _)| **before == key) {
                None => differences.appeared.push((key, seen)),
                Some((_, before)) if seen.differs(before) => differences.changed.push((key, seen)),
                Some(_) => (),
            }
        }
        differences.gone.extend(before.map(|(gone, _)| gone.clone()));
        differences
    }

    fn write(&self, differences: &Differences) {
        for gone in differences.gone.chunks(WRITTEN_AT_ONCE) {
            let mut files = self.files.write().expect("nothing panics while holding it");
            for key in gone {
                files.remove(key);
            }
        }
        for seen in [&differences.appeared, &differences.changed] {
            for seen in seen.chunks(WRITTEN_AT_ONCE) {
                let mut files = self.files.write().expect("nothing panics while holding it");
                files.extend(seen.iter().cloned());
            }
        }
    }

    fn replace_links(&self, key: &str, now: BTreeSet<Box<str>>) {
        let mut links = self.links.write().expect("nothing panics while holding it");
        if key.is_empty() {
            *links = now;
            return;
        }
        let below = format!("{key}/");
        let range = links.range::<str, _>((Included(below.as_str()), Unbounded));
        let before: Vec<_> = range.take_while(|link| link.starts_with(&below)).cloned().collect();
        links.remove(key);
        for link in &before {
            links.remove(link);
        }
        links.extend(now);
    }
}

fn is_at_or_below(above: &str, key: &str) -> bool {
    let rest = key.strip_prefix(above);
    rest.is_some_and(|rest| above.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

/// The file at `key` and those below it, in order.
fn at_and_below<'a>(
    key: &str,
    files: &'a BTreeMap<Box<str>, Seen>,
) -> impl Iterator<Item = (&'a Box<str>, &'a Seen)> + use<'a> {
    let below = if key.is_empty() { String::new() } else { format!("{key}/") };
    let at = files.get_key_value(key);
    let range = files.range::<str, _>((Included(below.as_str()), Unbounded));
    at.into_iter().chain(range.take_while(move |(key, _)| key.starts_with(&below)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::Kind;

    fn seen(size: u64) -> Seen {
        Seen::new(&Stat { kind: Kind::File, size, modified: (1, 0), inode: 7 })
    }

    fn sight(files: &[(&str, u64)]) -> Sight {
        let files = files.iter().map(|(key, size)| ((*key).into(), seen(*size))).collect();
        Sight { files, ..Sight::default() }
    }

    fn keys(entries: &[(Box<str>, Seen)]) -> Vec<&str> {
        entries.iter().map(|(key, _)| &**key).collect()
    }

    #[test]
    fn pages_follow_each_other_in_the_order_of_keys() {
        let picture = Picture::default();
        picture.update("", sight(&[("a!", 1), ("a/b", 1), ("a0", 1), ("b", 1)]), 9);

        let (first, more) = picture.page("", 3);
        assert_eq!((keys(&first), more), (vec!["a!", "a/b", "a0"], true));
        let (second, more) = picture.page("a0", 3);
        assert_eq!((keys(&second), more), (vec!["b"], false));
        assert_eq!(picture.page("b", 3).0, vec![]);
    }

    #[test]
    fn a_sight_of_a_folder_tells_differences_there_and_nowhere_else() {
        let picture = Picture::default();
        picture.update("", sight(&[("a", 1), ("d!", 1), ("d/gone", 1), ("d/kept", 1), ("d/new", 1), ("d0", 1)]), 9);

        let differences = picture.update("d", sight(&[("d/came", 1), ("d/kept", 1), ("d/new", 2)]), 9);

        assert_eq!(keys(&differences.appeared), ["d/came"]);
        assert_eq!(keys(&differences.changed), ["d/new"]);
        assert_eq!(differences.gone, vec!["d/gone".into()]);
        assert_eq!(picture.len(), 6);
    }

    #[test]
    fn a_file_that_became_a_folder_is_gone_and_what_is_in_it_appeared() {
        let picture = Picture::default();
        picture.update("", sight(&[("d", 1)]), 9);

        let differences = picture.update("d", sight(&[("d/x", 1)]), 9);

        assert_eq!((keys(&differences.appeared), &*differences.gone), (vec!["d/x"], &["d".into()][..]));
    }

    #[test]
    fn what_could_not_be_looked_at_stays_as_it_was() {
        let picture = Picture::default();
        picture.update("", sight(&[("a", 1), ("d!", 1), ("d/x", 1), ("d/y/z", 1)]), 9);

        let differences = picture.update("", Sight { unseen: vec!["d".into()], ..sight(&[("b", 1)]) }, 9);

        assert_eq!(differences.gone, vec!["a".into(), "d!".into()]);
        assert_eq!(keys(&picture.page("", 9).0), ["b", "d/x", "d/y/z"]);
    }

    #[test]
    fn a_full_picture_takes_no_more_files() {
        let picture = Picture::default();
        picture.update("", sight(&[("a", 1), ("b", 1)]), 3);

        let differences = picture.update("d", sight(&[("d/x", 1), ("d/y", 1)]), 3);

        assert_eq!((keys(&differences.appeared), differences.left_out), (vec!["d/x"], true));
        assert_eq!(picture.len(), 3);
    }

    #[test]
    fn a_file_seen_right_after_a_change_is_told_once_more_though_it_looks_the_same() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = (i64::try_from(now.as_secs()).unwrap_or_default(), now.subsec_nanos());
        let fresh = Seen::new(&Stat { kind: Kind::File, size: 1, modified, inode: 7 });
        let settled = Seen { settled: true, ..fresh };

        assert!(!fresh.settled);
        assert!(settled.differs(&fresh));
        assert!(!settled.differs(&settled));
    }
}

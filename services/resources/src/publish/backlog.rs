//! Changes that were seen here and not published from here.
//!
//! At most one for each resource: it only says "look again", so later ones merge with it. Bounded by the number of
//! resources.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
};

use switchyard_files::Changes;
use tokio::time::Instant;

/// Changes that are yet to be told, if not by us then by whoever has the lease.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    updated: BTreeMap<String, Noted>,
    listed: Option<Noted>,
    /// The last URI taken, so that every one has its turn.
    taken: String,
}

#[derive(Clone, Copy, Debug)]
struct Noted {
    /// When it was seen last.
    at: Instant,
    /// It fell to us to tell it, so it is not forgotten until it is told.
    owed: bool,
}

impl Backlog {
    /// Adds changes seen now; `owed` if it falls to us to tell them.
    pub fn add(&mut self, changes: Changes, owed: bool) {
        let at = Instant::now();
        let note = |before: Option<&Noted>| Noted { at, owed: owed || before.is_some_and(|before| before.owed) };
        for uri in changes.updated {
            let noted = note(self.updated.get(&uri));
            self.updated.insert(uri, noted);
        }
        if changes.listed {
            self.listed = Some(note(self.listed.as_ref()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.updated.is_empty() && self.listed.is_none()
    }

    /// All of it falls to us from now on.
    pub fn owe_all(&mut self) {
        self.updated.values_mut().chain(self.listed.as_mut()).for_each(|noted| noted.owed = true);
    }

    /// Forgets what was seen before `time`, but not what is owed.
    pub fn forget(&mut self, time: Instant) {
        let stays = |noted: &Noted| noted.owed || noted.at >= time;
        self.updated.retain(|_, noted| stays(noted));
        self.listed = self.listed.filter(stays);
    }

    /// Takes up to `limit` updates, and whether the list changed.
    pub fn take(&mut self, limit: usize) -> Changes {
        let range = self.updated.range::<str, _>((Excluded(self.taken.as_str()), Unbounded));
        let updated: Vec<String> =
            range.chain(self.updated.range::<str, _>(..)).take(limit).map(|(uri, _)| uri.clone()).collect();
        if let Some(last) = updated.last() {
            self.taken.clone_from(last);
        }
        let updated = updated.into_iter().filter(|uri| self.updated.remove(uri).is_some()).collect();
        Changes { updated, listed: self.listed.take().is_some() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn changes(uris: &[&str], listed: bool) -> Changes {
        Changes { updated: uris.iter().map(|uri| (*uri).to_owned()).collect(), listed }
    }

    fn taken(backlog: &mut Backlog, limit: usize) -> Vec<String> {
        backlog.take(limit).updated.into_iter().collect()
    }

    #[test]
    fn changes_of_one_resource_merge_and_are_taken_once() {
        let mut backlog = Backlog::default();
        backlog.add(changes(&["a", "b"], false), true);
        backlog.add(changes(&["a"], true), true);

        assert_eq!(backlog.take(9), changes(&["a", "b"], true));
        assert!(backlog.is_empty());
    }

    #[test]
    fn every_resource_has_its_turn_though_one_changes_all_the_time() {
        let mut backlog = Backlog::default();
        backlog.add(changes(&["a", "b", "c"], false), true);
        let mut all = Vec::new();
        for _ in 0..3 {
            all.extend(taken(&mut backlog, 1));
            backlog.add(changes(&["a"], false), true);
        }

        assert_eq!(all, ["a", "b", "c"]);
        assert_eq!(taken(&mut backlog, 9), ["a"]);
    }

    #[test]
    fn what_was_witnessed_is_forgotten_after_a_while_and_what_is_owed_is_not() {
        let mut backlog = Backlog::default();
        backlog.add(changes(&["witnessed"], true), false);
        backlog.add(changes(&["owed"], false), true);
        let later = Instant::now() + Duration::from_secs(1);

        backlog.forget(later);

        assert_eq!(backlog.take(9), changes(&["owed"], false));
    }

    #[test]
    fn whoever_takes_over_owes_what_it_witnessed() {
        let mut backlog = Backlog::default();
        backlog.add(changes(&["a"], true), false);

        backlog.owe_all();
        backlog.forget(Instant::now() + Duration::from_secs(1));

        assert_eq!(backlog.take(9), changes(&["a"], true));
    }
}

//! What is listed, out of what the live nodes offer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{Entry, EntryKind};

/// Names an entry.
pub type Key = (EntryKind, String);

/// What one node offers under each name: the digest, and the generation since which it does.
pub type Offers = BTreeMap<Key, (String, u64)>;

/// The digest that is listed under each name.
pub type Listed = BTreeMap<Key, String>;

/// What a node offers now, where `before` says since when it offers what did not change.
pub fn offers(entries: &[Entry], before: &Offers, generation: u64) -> Offers {
    let mut offers = Offers::new();
    for entry in entries {
        let key = (entry.kind, entry.name.clone());
        let since = match before.get(&key) {
            Some((digest, since)) if *digest == entry.digest => *since,
            _ => generation,
        };
        offers.insert(key, (entry.digest.clone(), since));
    }
    offers
}

/// The listed digests: under each name the one that most nodes have, on a tie the one announced last.
pub fn listed<'a>(nodes: impl Iterator<Item = &'a Offers>) -> Listed {
    let mut tallies: BTreeMap<&Key, HashMap<&str, (usize, u64)>> = BTreeMap::new();
    for (key, (digest, since)) in nodes.flatten() {
        let tally = tallies.entry(key).or_default().entry(digest).or_default();
        *tally = (tally.0 + 1, tally.1.max(*since));
    }
    let winner = |digests: HashMap<&str, (usize, u64)>| {
        let most = digests.into_iter().max_by_key(|(_, tally)| *tally);
        most.map(|(digest, _)| digest.to_owned())
    };
    tallies.into_iter().filter_map(|(key, digests)| Some((key.clone(), winner(digests)?))).collect()
}

/// The kinds of which one of the lists has an entry that the other has not.
pub fn differing(before: &Listed, after: &Listed) -> Vec<EntryKind> {
    let mut kinds = BTreeSet::new();
    for (one, other) in [(before, after), (after, before)] {
        let only_here = one.iter().filter(|(key, digest)| other.get(*key) != Some(*digest));
        kinds.extend(only_here.map(|((kind, _), _)| *kind));
    }
    kinds.into_iter().collect()
}

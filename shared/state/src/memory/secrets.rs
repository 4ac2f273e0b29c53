//! The secrets of one process, gone with it.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::expiry;
use crate::registry::{MAX_SECRETS, Secret};

/// The keys of every name, newest first. The names are the program's own, so there are few.
#[derive(Default)]
pub struct Secrets {
    names: HashMap<String, Vec<Key>>,
}

struct Key {
    secret: Secret,
    /// When it is no longer wanted, once another one has taken its place.
    until: Option<Instant>,
}

impl Secrets {
    /// The keys of that name; `new` is the first one, if there are none.
    pub fn get(&mut self, name: &str, new: Secret) -> Vec<Secret> {
        let keys = self.live(name);
        if keys.is_empty() {
            keys.push(Key { secret: new, until: None });
        }
        keys.iter().map(|key| key.secret).collect()
    }

    /// Puts `new` before the others, which are kept for `keep`.
    pub fn rotate(&mut self, name: &str, new: Secret, keep: Duration) {
        let keys = self.live(name);
        let until = expiry(keep);
        for key in keys.iter_mut() {
            key.until = Some(key.until.map_or(until, |before| before.min(until)));
        }
        keys.insert(0, Key { secret: new, until: None });
        keys.truncate(MAX_SECRETS);
    }

    fn live(&mut self, name: &str) -> &mut Vec<Key> {
        let now = Instant::now();
        let keys = self.names.entry(name.to_owned()).or_default();
        keys.retain(|key| key.until.is_none_or(|until| until > now));
        keys
    }
}

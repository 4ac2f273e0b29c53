//! Calls whose rest is too large for their lane, until it is fetched.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use rand::RngExt as _;

use crate::service::CallEvents;

/// How long a rest waits for whoever fetches it. Then the call is cancelled.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Default)]
pub(super) struct Parked(Arc<Mutex<HashMap<String, CallEvents>>>);

/// A rest's place; dropping it takes the rest away, and so cancels it.
pub(super) struct Place {
    parked: Parked,
    pub token: String,
}

impl Parked {
    pub fn park(&self, rest: CallEvents) -> Place {
        let token = format!("{:032x}", rand::rng().random::<u128>());
        self.0.lock().expect("nothing panics while holding it").insert(token.clone(), rest);
        Place { parked: self.clone(), token }
    }

    pub fn fetch(&self, token: &str) -> Option<CallEvents> {
        self.0.lock().expect("nothing panics while holding it").remove(token)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Dropped outside the lock, for it may do something.
        let rest = self.parked.fetch(&self.token);
        drop(rest);
    }
}

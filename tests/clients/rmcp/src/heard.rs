//! What the server told on its own account, by kind.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;

/// Everything told so far, which is little.
#[derive(Default)]
pub struct Heard {
    told: Mutex<Vec<(&'static str, Value)>>,
    news: Notify,
}

impl Heard {
    pub fn tell(&self, kind: &'static str, what: Value) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push((kind, what));
        self.news.notify_waiters();
    }

    pub fn of(&self, kind: &str) -> Vec<Value> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.iter().filter(|(its, _)| *its == kind).map(|(_, what)| what.clone()).collect()
    }

    /// Everything of this kind, once it is enough.
    pub async fn until(&self, kind: &str, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        loop {
            let news = self.news.notified();
            let told = self.of(kind);
            if enough(&told) {
                return told;
            }
            news.await;
        }
    }
}

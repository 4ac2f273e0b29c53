//! What is open at this gateway, for letters of other gateways to ask about: calls that run and streams that stand.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use crate::calls::CallTable;

/// The calls and streams of one gateway.
#[derive(Clone)]
pub struct Ledger {
    /// Calls that run.
    pub(crate) calls: Arc<CallTable>,
    streams: Arc<Mutex<HashSet<String>>>,
}

/// A stream's entry; dropping it strikes the stream out.
pub(crate) struct OpenStream {
    ledger: Ledger,
    stream: String,
}

impl Ledger {
    /// An empty one, for at most `max_calls` calls at a time.
    pub fn new(max_calls: usize) -> Self {
        Self { calls: CallTable::new(max_calls), streams: Arc::default() }
    }

    /// Enters a stream that is open from now on.
    pub(crate) fn open(&self, stream: &str) -> OpenStream {
        self.streams.lock().expect("nothing panics while holding it").insert(stream.to_owned());
        OpenStream { ledger: self.clone(), stream: stream.to_owned() }
    }

    /// Whether a stream is open here.
    pub(crate) fn is_open(&self, stream: &str) -> bool {
        self.streams.lock().expect("nothing panics while holding it").contains(stream)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.ledger.streams.lock().expect("nothing panics while holding it").remove(&self.stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_open_for_as_long_as_its_entry_lives() {
        let ledger = Ledger::new(1);
        let entry = ledger.open("a");

        assert!(ledger.is_open("a"));
        drop(entry);
        assert!(!ledger.is_open("a"));
    }
}

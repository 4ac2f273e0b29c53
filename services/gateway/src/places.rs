//! Places for what is open to clients, of which there is a bounded number.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use switchyard_telemetry::{
    Metrics,
    metrics::{Gauge, StreamLabels},
};

/// The places of one sort.
pub struct Places {
    taken: Arc<AtomicUsize>,
    limit: usize,
    metrics: Arc<Metrics>,
}

/// A place that is taken; dropping it frees it.
pub struct Place {
    taken: Arc<AtomicUsize>,
    shown: Gauge,
}

impl Places {
    /// At most `limit` of them.
    pub fn new(limit: usize, metrics: Arc<Metrics>) -> Self {
        Self { taken: Arc::default(), limit, metrics }
    }

    /// A place, shown to operators as this kind, or `None` when all are taken.
    pub fn take(&self, kind: &'static str) -> Option<Place> {
        if self.taken.fetch_add(1, Ordering::Relaxed) >= self.limit {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let shown = self.metrics.open_streams.get_or_create(&StreamLabels { kind }).clone();
        shown.inc();
        Some(Place { taken: self.taken.clone(), shown })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shown.dec();
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_place_is_taken_and_shown_for_as_long_as_it_lives() {
        let metrics = Metrics::new();
        let places = Places::new(1, metrics.clone());
        let shown = || metrics.encode().contains("switchyard_open_streams{kind=\"tcp\"} 1");

        let place = places.take("tcp").unwrap();
        assert!(places.take("tcp").is_none());
        assert!(shown());

        drop(place);
        assert!(!shown());
        assert!(places.take("tcp").is_some());
    }
}

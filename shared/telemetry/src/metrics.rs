//! What is counted, for Prometheus to read.
//!
//! One struct holds the families that several parts share; a part that counts something of its own registers it. Labels
//! come from fixed sets, never from what a client wrote, so the number of series is bounded.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text::encode},
    metrics::{MetricType, gauge::ConstGauge, histogram::Histogram},
    registry::{Metric, Registry},
};

pub use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};

/// The upper bounds of the buckets of durations, in seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0];

/// What a request is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// A method that is known, such as `tools/call`; `other` for the rest.
    pub method: &'static str,
    /// `modern` or `legacy`.
    pub era: &'static str,
    /// How it ended, such as `ok`, `error` or `cancelled`.
    pub outcome: &'static str,
}

/// What an open stream is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StreamLabels {
    /// What the stream is for, such as `standing`, `listen` or `call`.
    pub kind: &'static str,
}

/// What a fact is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct FactLabels {
    /// `delivered`; `merged` with one that was already waiting; or `dropped`, for nobody here asked for it.
    pub fate: &'static str,
}

/// What is counted on this node.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    /// Requests that ended.
    pub requests: Family<RequestLabels, Counter>,
    /// How long they took, in seconds.
    pub request_seconds: Family<RequestLabels, Histogram, fn() -> Histogram>,
    /// Streams to clients that are open now.
    pub open_streams: Family<StreamLabels, Gauge>,
    /// Legacy sessions opened here.
    pub sessions_opened: Counter,
    /// Facts of the event log that came to this gateway.
    pub facts: Family<FactLabels, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("switchyard")),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            open_streams: Family::default(),
            sessions_opened: Counter::default(),
            facts: Family::default(),
        };
        metrics.register("requests", "Requests that ended", metrics.requests.clone());
        metrics.register("request_seconds", "How long requests took", metrics.request_seconds.clone());
        metrics.register("open_streams", "Streams to clients that are open", metrics.open_streams.clone());
        metrics.register("sessions_opened", "Legacy sessions opened here", metrics.sessions_opened.clone());
        metrics.register("facts", "Facts of the event log that came here", metrics.facts.clone());
        metrics
    }
}

impl Metrics {
    /// Nothing counted yet.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Counts a request that ended.
    pub fn request(&self, labels: &RequestLabels, took: Duration) {
        self.requests.get_or_create(labels).inc();
        self.request_seconds.get_or_create(labels).observe(took.as_secs_f64());
    }

    /// Counts one more thing, as `switchyard_{name}`. `help` has no full stop.
    pub fn register(&self, name: &str, help: &str, metric: impl Metric) {
        self.registry.lock().expect("nothing panics while holding it").register(name, help, metric);
    }

    /// Shows what `read` says each time somebody looks: pairs of a value of `label` and a number.
    pub fn watch(
        &self,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        read: impl Fn() -> Vec<(String, i64)> + Send + Sync + 'static,
    ) {
        let watched = Watched { name, help, label, read: Box::new(read) };
        self.registry.lock().expect("nothing panics while holding it").register_collector(Box::new(watched));
    }

    /// Everything in the OpenMetrics text format; its media type is
    /// `application/openmetrics-text; version=1.0.0; charset=utf-8`.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().expect("nothing panics while holding it");
        encode(&mut text, &registry).expect("writing to a string does not fail");
        text
    }
}

/// A gauge that is read when somebody looks.
struct Watched {
    name: &'static str,
    help: &'static str,
    label: &'static str,
    read: Box<dyn Fn() -> Vec<(String, i64)> + Send + Sync>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watched").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Collector for Watched {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(self.name, self.help, None, MetricType::Gauge)?;
        for (value, count) in (self.read)() {
            ConstGauge::new(count).encode(family.encode_family(&[(self.label, value)])?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_and_timed_by_method_era_and_outcome() {
        let metrics = Metrics::new();
        let labels = RequestLabels { method: "tools/call", era: "modern", outcome: "ok" };

        metrics.request(&labels, Duration::from_millis(3));
        metrics.request(&labels, Duration::from_millis(4));

        let text = metrics.encode();
        assert!(
            text.contains(r#"switchyard_requests_total{method="tools/call",era="modern",outcome="ok"} 2"#),
            "{text}"
        );
        assert!(
            text.contains(
                r#"switchyard_request_seconds_bucket{le="0.005",method="tools/call",era="modern",outcome="ok"} 2"#
            ),
            "{text}"
        );
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn a_watched_gauge_is_read_when_somebody_looks() {
        let metrics = Metrics::new();

        metrics.watch("bus_calls_in_flight", "Calls in flight", "node", || vec![("a".into(), 2), ("b".into(), 0)]);

        let text = metrics.encode();
        assert!(text.contains(r#"switchyard_bus_calls_in_flight{node="a"} 2"#), "{text}");
        assert!(text.contains(r#"switchyard_bus_calls_in_flight{node="b"} 0"#), "{text}");
    }

    #[test]
    fn a_part_counts_something_of_its_own() {
        let metrics = Metrics::new();
        let skipped: Counter = Counter::default();

        metrics.register("log_entries_skipped", "Log entries that could not be read", skipped.clone());
        skipped.inc();

        assert!(metrics.encode().contains("switchyard_log_entries_skipped_total 1"), "{}", metrics.encode());
    }
}

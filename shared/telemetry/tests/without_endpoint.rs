//! Without a collector, spans meant for traces are disabled where they are written.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use switchyard_telemetry::{
    TelemetryError, TelemetryOptions,
    trace::{SpanKind, TARGET, TraceContext, span},
};

#[test]
fn spans_cost_nothing_and_a_wrong_filter_is_named() {
    let wrong = TelemetryOptions { log: Some("switchyard=loud".into()), ..TelemetryOptions::default() };
    let error = switchyard_telemetry::init(&wrong, &[]).unwrap_err();
    let options = TelemetryOptions { log: Some("trace".into()), ..TelemetryOptions::default() };
    let guard = switchyard_telemetry::init(&options, &[]).unwrap();

    let made = span("request", SpanKind::Server, &TraceContext::default(), &[]);

    assert!(made.is_disabled());
    assert!(!tracing::enabled!(target: TARGET, tracing::Level::INFO));
    assert!(tracing::enabled!(tracing::Level::TRACE));
    assert_eq!(error.to_string(), "the log filter `switchyard=loud` cannot be read");
    assert!(matches!(switchyard_telemetry::init(&options, &[]), Err(TelemetryError::Again(_))));
    guard.shutdown(Duration::from_secs(1));
}

//! Logs, traces and metrics.
//!
//! Logs are events on stderr. Traces are spans whose target is [`trace::TARGET`]; they leave over OTLP/gRPC when an
//! endpoint is known, and are disabled where they are written when none is. Neither shows up in the other. [`Metrics`]
//! are counted here and read by whoever serves `/metrics`.

mod exporter;
mod json;
mod logs;
pub mod metrics;
mod options;
pub mod trace;

use std::time::Duration;

use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};

pub use metrics::Metrics;
pub use options::{LogFormat, TelemetryOptions};

use exporter::Exporter;

/// Why logs or traces could not begin.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The log's filter cannot be read.
    #[error("the log filter `{filter}` cannot be read")]
    Filter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },

    /// Only OTLP over gRPC is spoken.
    #[error("traces leave as `grpc`, not as `{protocol}`")]
    Protocol {
        /// What was asked for.
        protocol: String,
    },

    /// The exporter cannot be made, for example because its endpoint is no URL.
    #[error("the trace exporter cannot be made")]
    Exporter(#[source] Box<dyn std::error::Error + Send + Sync>),

    /// Logs or traces began before.
    #[error("logs and traces were set up before")]
    Again(#[source] tracing_subscriber::util::TryInitError),
}

/// Keeps traces going; hold it as long as the process runs.
#[must_use = "traces end when it is dropped"]
#[derive(Debug)]
pub struct Guard {
    exporter: Option<Exporter>,
}

impl Guard {
    /// Sends the spans that are still waiting. Blocks the calling thread for at most `deadline`.
    pub fn shutdown(self, deadline: Duration) {
        if let Some(exporter) = self.exporter {
            exporter.shutdown(deadline);
        }
    }
}

/// Begins logs and traces for the whole process, once.
///
/// `attributes` describe the node in its traces, such as `service.instance.id`; what `OTEL_SERVICE_NAME` and
/// `OTEL_RESOURCE_ATTRIBUTES` say comes on top.
pub fn init(options: &TelemetryOptions, attributes: &[(&'static str, String)]) -> Result<Guard, TelemetryError> {
    let exporter = Exporter::from_options(options, attributes)?;
    // A list, because a layer that is `None` keeps every span enabled.
    let mut layers = vec![logs::layer(options)?];
    layers.extend(exporter.as_ref().map(Exporter::layer));
    tracing_subscriber::registry().with(layers).try_init().map_err(TelemetryError::Again)?;
    Ok(Guard { exporter })
}

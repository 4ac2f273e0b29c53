//! The options of logs and traces.

use schemars::JsonSchema;
use serde::Deserialize;

/// Options of logs and traces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TelemetryOptions {
    /// What is logged: a level, or levels by module such as `warn,switchyard_gateway=debug`. Without it the
    /// environment variable `SWITCHYARD_LOG` says so, and without that it is `info`.
    pub log: Option<String>,

    /// How log lines look.
    pub log_format: LogFormat,

    /// Where traces go by OTLP over gRPC, such as `http://collector:4317`. Without it the environment variables
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` and `OTEL_EXPORTER_OTLP_ENDPOINT` say so, and without those there are none.
    pub otlp_endpoint: Option<String>,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LogFormat {
    /// One line an event, for people.
    #[default]
    Compact,
    /// Several lines an event, for people with time.
    Pretty,
    /// One JSON object a line, for machines.
    Json,
}

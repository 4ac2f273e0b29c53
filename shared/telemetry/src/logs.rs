//! The log: events on stderr, in one of three looks. Spans meant for traces never show up in it.

use std::{
    env,
    io::{self, IsTerminal},
};

use tracing::Subscriber;
use tracing_subscriber::{EnvFilter, Layer, filter, filter::FilterExt, fmt, registry::LookupSpan};

use crate::{
    TelemetryError,
    json::Json,
    options::{LogFormat, TelemetryOptions},
    trace::TARGET,
};

/// Says what is logged when the options do not.
const VARIABLE: &str = "SWITCHYARD_LOG";

/// What is logged when nobody says.
const DEFAULT: &str = "info";

pub(crate) fn layer<S>(options: &TelemetryOptions) -> Result<Box<dyn Layer<S> + Send + Sync>, TelemetryError>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let filter = filter_of(options)?.and(filter::filter_fn(|metadata| metadata.target() != TARGET));
    let colours = io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(colours);
    Ok(match options.log_format {
        LogFormat::Compact => lines.compact().with_filter(filter).boxed(),
        LogFormat::Pretty => lines.pretty().with_filter(filter).boxed(),
        LogFormat::Json => lines.event_format(Json).with_filter(filter).boxed(),
    })
}

fn filter_of(options: &TelemetryOptions) -> Result<EnvFilter, TelemetryError> {
    let filter = options
        .log
        .clone()
        .or_else(|| env::var(VARIABLE).ok().filter(|filter| !filter.is_empty()))
        .unwrap_or_else(|| DEFAULT.to_owned());
    EnvFilter::try_new(&filter).map_err(|source| TelemetryError::Filter { filter, source })
}

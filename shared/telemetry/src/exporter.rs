//! Traces on their way out: sampled, gathered in batches, and sent by OTLP over gRPC from a thread of their own.
//!
//! A collector that is away costs spans and nothing else: the queue is bounded, what does not fit is dropped, and the
//! log tells once. The standard `OTEL_*` variables set the sampler, the batches and the queue.

use std::{
    env,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use opentelemetry::{KeyValue, trace::TracerProvider};
use opentelemetry_otlp::{SpanExporter as OtlpExporter, WithExportConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use tokio::runtime::{Builder, Runtime};
use tracing::Subscriber;
use tracing_subscriber::{Layer, filter, registry::LookupSpan};

use crate::{TelemetryError, options::TelemetryOptions, trace::TARGET};

/// The name of the service in traces, unless the environment gives another.
const SERVICE: &str = "switchyard";

#[derive(Debug)]
pub(crate) struct Exporter {
    provider: SdkTracerProvider,
    /// Runs the exporter's connection, whatever becomes of the other runtimes. Gone once it was shut down.
    runtime: Option<Runtime>,
}

impl Exporter {
    /// The exporter, or `None` when no endpoint is known or the environment turns traces off.
    pub fn from_options(
        options: &TelemetryOptions,
        attributes: &[(&'static str, String)],
    ) -> Result<Option<Self>, TelemetryError> {
        let off = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        let endpoint = options
            .otlp_endpoint
            .clone()
            .or_else(|| variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
            .or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let Some(endpoint) = endpoint.filter(|_| !off) else { return Ok(None) };
        let protocol = variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
            .or_else(|| variable("OTEL_EXPORTER_OTLP_PROTOCOL"))
            .filter(|protocol| protocol != "grpc");
        if let Some(protocol) = protocol {
            return Err(TelemetryError::Protocol { protocol });
        }

        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("traces")
            .enable_all()
            .build()
            .map_err(|error| TelemetryError::Exporter(error.into()))?;
        let entered = runtime.enter();
        let otlp = OtlpExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .build()
            .map_err(|error| TelemetryError::Exporter(error.into()))?;
        drop(entered);
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(Reported { exporter: otlp, failing: AtomicBool::new(false) })
            .with_resource(resource(attributes))
            .build();
        Ok(Some(Self { provider, runtime: Some(runtime) }))
    }

    /// What turns spans meant for traces, and nothing else, into traces.
    pub fn layer<S>(&self) -> Box<dyn Layer<S> + Send + Sync>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(filter::filter_fn(|metadata| metadata.is_span() && metadata.target() == TARGET))
            .boxed()
    }

    pub fn shutdown(&self, deadline: Duration) {
        if let Err(error) = self.provider.shutdown_with_timeout(deadline) {
            tracing::warn!(error = &error as &dyn std::error::Error, "the last traces were not sent");
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A plain drop would wait, which panics on an asynchronous thread.
            runtime.shutdown_background();
        }
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// What the environment says of the process wins over what the node says, and that over the default.
fn resource(attributes: &[(&'static str, String)]) -> Resource {
    let told = Resource::builder_empty()
        .with_detector(Box::new(opentelemetry_sdk::resource::EnvResourceDetector::new()))
        .build();
    let name = variable("OTEL_SERVICE_NAME")
        .or_else(|| told.get(&"service.name".into()).map(|name| name.to_string()))
        .unwrap_or_else(|| SERVICE.to_owned());
    Resource::builder()
        .with_attributes(attributes.iter().map(|(key, value)| KeyValue::new(*key, value.clone())))
        .with_attributes(told.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())))
        .with_service_name(name)
        .build()
}

/// Tells the log when the collector goes away and when it is back.
#[derive(Debug)]
struct Reported<E> {
    exporter: E,
    failing: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for Reported<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let lost = batch.len();
        let result = self.exporter.export(batch).await;
        let failing = result.is_err();
        if failing != self.failing.swap(failing, Ordering::Relaxed) {
            match &result {
                Ok(()) => tracing::info!("traces are sent again"),
                Err(error) => {
                    tracing::warn!(error = error as &dyn std::error::Error, lost, "traces cannot be sent");
                }
            }
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

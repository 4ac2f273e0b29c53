//! Where operators look: `/healthz`, `/readyz`, `/metrics` and `grpc.health.v1`, on a listener that clients do not see.

use std::{
    future::Future,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use serde_json::json;
use switchyard_bus::Health;
use switchyard_state::NodeId;
use switchyard_telemetry::Metrics;
use tokio::sync::watch;

/// What is told of the node.
#[derive(Clone)]
pub struct Told {
    /// The node.
    pub node: NodeId,
    /// Its roles.
    pub roles: Vec<&'static str>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Whether the node serves, or is about to stop.
    pub serving: Arc<AtomicBool>,
    /// Whether the state store answered when it was last asked.
    pub store: watch::Receiver<bool>,
}

/// Serves until `shutdown`.
pub async fn serve(
    listener: TcpListener,
    told: Told,
    health: Health,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route_service("/grpc.health.v1.Health/{*method}", health.service())
        .with_state(told);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}

/// Ready means that this node takes requests. A store that is away is told of, but changes nothing: what needs no
/// store is served on, and no balancer shall empty the whole cluster because of it.
async fn readyz(State(told): State<Told>) -> impl IntoResponse {
    let serving = told.serving.load(Ordering::Relaxed);
    let status = if serving { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let store = if *told.store.borrow() { "here" } else { "away" };
    let state = if serving { "ready" } else { "stopping" };
    (status, Json(json!({ "state": state, "store": store, "node": told.node.0, "roles": told.roles })))
}

async fn metrics(State(told): State<Told>) -> impl IntoResponse {
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, media_type)], told.metrics.encode())
}

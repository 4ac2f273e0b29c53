//! The bus listener of a node: its services and `grpc.health.v1`, until it is told to stop.
//!
//! When it stops, running calls finish, and subscriptions to facts end at once so that their readers go elsewhere.

use std::time::Duration;

use futures_util::FutureExt;
use switchyard_proto::v1::{
    events_server::EventsServer, gateway_server::GatewayServer, lane_server::LaneServer, prompts_server::PromptsServer,
    resources_server::ResourcesServer, tasks_server::TasksServer, tools_server::ToolsServer,
};
use tokio::{net::TcpListener, sync::oneshot};
use tonic::transport::{Server, server::TcpIncoming};
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};

use crate::{
    lane::LaneService,
    local::Local,
    options::BusOptions,
    shared::{SharedEvents, SharedGateway, SharedPrompts, SharedResources, SharedTasks, SharedTools},
};

/// How often a caller's connection is tested, and how long the answer may take.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// What one request may have unread, in bytes.
const STREAM_WINDOW: u32 = 1024 * 1024;

/// The most that HTTP/2 allows, so that one unread request stalls no other.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How many calls one connection carries at a time; callers bound their calls themselves.
const CALLS_PER_CONNECTION: u32 = 65_536;

/// How many calls may be cancelled before the services saw them. Callers are our own nodes, not strangers.
const CANCELLED_EARLY: usize = 65_536;

/// Why the listener ended.
#[derive(Debug, thiserror::Error)]
#[error("the bus listener failed")]
pub struct ServeError(#[from] tonic::transport::Error);

/// What `grpc.health.v1` says of this node; it begins as serving.
#[derive(Clone, Debug, Default)]
pub struct Health(HealthReporter);

impl Health {
    /// The service that tells, for a listener of its own.
    pub fn service(&self) -> HealthServer<HealthService> {
        HealthServer::new(HealthService::from_health_reporter(self.0.clone()))
    }

    /// Says whether new calls are welcome.
    pub async fn set_serving(&self, serving: bool) {
        let status = if serving { ServingStatus::Serving } else { ServingStatus::NotServing };
        self.0.set_service_status("", status).await;
    }
}

/// Serves `local` on `listener` until `shutdown`, and then until the calls that run are done. Dropping it also stops
/// the listener, and leaves the calls that run to themselves.
pub async fn serve(
    listener: TcpListener,
    local: Local,
    health: Health,
    options: &BusOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let limit = options.max_message_bytes;
    let (stop, stopping) = oneshot::channel::<()>();
    let stopping = stopping.map(|_| ()).boxed().shared();

    let leads_somewhere = local.tools.is_some() || local.resources.is_some() || local.prompts.is_some();
    let lane = leads_somewhere.then(|| LaneServer::new(LaneService::new(&local, limit, stopping.clone())));

    Server::builder()
        .http2_keepalive_interval(Some(PING_INTERVAL))
        .http2_keepalive_timeout(Some(PING_TIMEOUT))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(CALLS_PER_CONNECTION)
        .http2_max_pending_accept_reset_streams(Some(CANCELLED_EARLY))
        .add_service(health.service())
        .add_optional_service(lane)
        .add_optional_service(
            local
                .tools
                .map(|service| ToolsServer::new(SharedTools { service, limit }).max_decoding_message_size(limit)),
        )
        .add_optional_service(
            local.tasks.map(|service| TasksServer::new(SharedTasks(service)).max_decoding_message_size(limit)),
        )
        .add_optional_service(
            local.resources.map(|service| {
                ResourcesServer::new(SharedResources { service, limit }).max_decoding_message_size(limit)
            }),
        )
        .add_optional_service(
            local
                .prompts
                .map(|service| PromptsServer::new(SharedPrompts { service, limit }).max_decoding_message_size(limit)),
        )
        .add_optional_service(
            local
                .events
                .map(|service| EventsServer::new(SharedEvents { service, stopping }).max_decoding_message_size(limit)),
        )
        .add_optional_service(
            local.gateway.map(|service| GatewayServer::new(SharedGateway(service)).max_decoding_message_size(limit)),
        )
        .serve_with_incoming_shutdown(TcpIncoming::from(listener).with_nodelay(Some(true)), async move {
            shutdown.await;
            drop(stop);
        })
        .await?;
    Ok(())
}

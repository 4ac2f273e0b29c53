//! A node's place in the cluster: announced, connected to the others, and following what they do.

use std::sync::Arc;

use switchyard_access::Access;
use switchyard_bus::{Bus, Discovery};
use switchyard_files::Watching;
use switchyard_gateway::{Gateway, Parts};
use switchyard_state::{NodeId, NodeRecord, Stores};
use switchyard_telemetry::Metrics;
use tokio::runtime::Handle;

use crate::{
    NodeError,
    options::{Options, Role},
    services::Services,
};

/// A node that takes part in the cluster, or is all of it.
pub struct Node {
    /// Its name.
    pub id: NodeId,
    /// Its way to every service.
    pub bus: Bus,
    /// The nodes there are.
    pub discovery: Discovery,
    /// Its gateway, if it has that role.
    pub gateway: Option<Arc<Gateway>>,
    /// Kept for as long as the node is.
    _pictures: Vec<Watching>,
}

/// Announces the node and starts its gateway, if it has that role. Called within the actix system.
///
/// # Errors
/// What the registry holds cannot be read.
#[allow(clippy::too_many_arguments)] // each is made once, and here they meet
pub async fn join(
    options: &Options,
    access: Access,
    id: NodeId,
    stores: &Stores,
    metrics: &Arc<Metrics>,
    made: Services,
    address: String,
    services: &Handle,
) -> Result<Node, NodeError> {
    let record = NodeRecord {
        id: id.clone(),
        address,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        roles: options.cluster.roles.iter().map(|role| role.name().to_owned()).collect(),
        entries: Vec::new(),
    };
    let starting = Discovery::start(stores.registry.clone(), stores.log.clone(), record, made.entries);
    let discovery = services.spawn(starting).await.expect("starting does not panic")?;
    let bus = Bus::new(id.clone(), made.local, &discovery, options.bus.clone(), services.clone());
    made.bus.send_replace(Some(bus.clone()));
    let calls = bus.clone();
    metrics.watch("bus_calls_in_flight", "Calls in flight at each node", "node", move || {
        let count = |(node, calls): (NodeId, usize)| (node.0, i64::try_from(calls).unwrap_or(i64::MAX));
        calls.in_flight().into_iter().map(count).collect()
    });

    let gateway = options.has(Role::Gateway).then(|| {
        Gateway::start(Parts {
            options: options.server.clone(),
            access,
            node: id.clone(),
            ledger: made.ledger,
            bus: &bus,
            discovery: discovery.clone(),
            stores,
            metrics: metrics.clone(),
        })
    });
    discovery.settled().await;
    if let Some(gateway) = &gateway {
        gateway.caught_up().await;
    }
    Ok(Node { id, bus, discovery, gateway, _pictures: made.pictures })
}

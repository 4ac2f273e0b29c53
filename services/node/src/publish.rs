//! How the resources service tells of changes: by the bus, like everybody else.

use async_trait::async_trait;
use switchyard_bus::Bus;
use switchyard_proto::v1::Fact;
use switchyard_resources::Publish;
use tokio::sync::watch;
use tonic::Status;

/// Publishes by the bus, once there is one: the services are made before it.
pub struct ByBus(pub watch::Receiver<Option<Bus>>);

#[async_trait]
impl Publish for ByBus {
    async fn publish(&self, facts: Vec<Fact>) -> Result<(), Status> {
        let mut bus = self.0.clone();
        let ready = bus.wait_for(Option::is_some).await;
        let events = ready.ok().and_then(|bus| bus.as_ref().map(|bus| bus.events.clone()));
        let events = events.ok_or_else(|| Status::unavailable("this node is stopping"))?;
        events.publish(facts).await.map(drop)
    }
}

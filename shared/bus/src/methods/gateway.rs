//! Handing letters to other gateways.

use switchyard_proto::v1::{DeliverReply, Letter, gateway_client::GatewayClient};
use tonic::{Request, Response, Status};

use super::{Method, Names, absent};
use crate::{
    link::Link,
    local::{self, Local, Place},
};

impl Method for Letter {
    const NAMES: Names = Names {
        span: "bus gateway/deliver",
        service: "switchyard.v1.Gateway",
        method: "Deliver",
        offer: "the gateway",
    };

    type Answer = DeliverReply;

    fn served(local: &Local) -> bool {
        local.gateway.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<DeliverReply, Status> {
        let gateway = local.gateway.clone().ok_or_else(absent)?;
        local::unary(place, async move { gateway.deliver(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<DeliverReply, Status> {
        let mut client = GatewayClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        client.deliver(self).await.map(Response::into_inner)
    }
}

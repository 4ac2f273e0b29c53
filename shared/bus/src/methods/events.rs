//! Publishing and following facts.

use switchyard_proto::v1::{PublishReply, PublishRequest, SubscribeRequest, events_client::EventsClient};
use tonic::{Request, Response, Status};

use super::{Method, Names, absent};
use crate::{
    link::Link,
    local::{self, Local, Place},
    service::Facts,
};

impl Method for PublishRequest {
    const NAMES: Names = Names {
        span: "bus events/publish",
        service: "switchyard.v1.Events",
        method: "Publish",
        offer: "the event log",
    };

    type Answer = PublishReply;

    fn served(local: &Local) -> bool {
        local.events.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<PublishReply, Status> {
        let events = local.events.clone().ok_or_else(absent)?;
        local::unary(place, async move { events.publish(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<PublishReply, Status> {
        let mut client = EventsClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        client.publish(self).await.map(Response::into_inner)
    }
}

impl Method for SubscribeRequest {
    const NAMES: Names = Names {
        span: "bus events/subscribe",
        service: "switchyard.v1.Events",
        method: "Subscribe",
        offer: "the event log",
    };

    type Answer = Facts;

    fn served(local: &Local) -> bool {
        local.events.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<Facts, Status> {
        let events = local.events.clone().ok_or_else(absent)?;
        local::stream(place, async move { events.subscribe(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<Facts, Status> {
        let mut client = EventsClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        Ok(Box::pin(client.subscribe(self).await?.into_inner()))
    }
}

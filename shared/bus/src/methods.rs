//! The methods of the contract, one per request type: how each is called in process and over the wire.

use std::future::Future;

use prost::Message;
use switchyard_proto::v1::{
    CallToolRequest, Context, DeliverReply, DescribeResourceRequest, GetPromptRequest, Letter, ListResourcesReply,
    ListResourcesRequest, PublishReply, PublishRequest, ReadResourceRequest, Resource, SubscribeRequest,
    events_client::EventsClient, gateway_client::GatewayClient, prompts_client::PromptsClient,
    resources_client::ResourcesClient, tools_client::ToolsClient,
};
use tonic::{Request, Response, Status};

use crate::{
    link::Link,
    local::{self, Local, Place},
    service::{CallEvents, Facts},
};

/// A method's names on the wire and in traces.
pub(crate) struct Names {
    pub span: &'static str,
    pub service: &'static str,
    pub method: &'static str,
    /// What a node that can serve it offers, for people.
    pub offer: &'static str,
}

/// One method of the contract, told by its request.
pub(crate) trait Method: Message + Clone + Default + 'static {
    const NAMES: Names;

    type Answer: Send;

    /// The request's context, for methods that have one.
    fn context(&mut self) -> Option<&mut Context> {
        None
    }

    /// Whether this process has the service.
    fn served(local: &Local) -> bool;

    fn here(self, local: &Local, place: &Place) -> impl Future<Output = Result<Self::Answer, Status>> + Send;

    fn there(self, link: Link, limit: usize) -> impl Future<Output = Result<Self::Answer, Status>> + Send;
}

/// The process was asked for a service that it does not have.
fn absent() -> Status {
    Status::unimplemented("this process does not have the service")
}

impl Method for CallToolRequest {
    const NAMES: Names =
        Names { span: "bus tools/call", service: "switchyard.v1.Tools", method: "Call", offer: "the tool" };

    type Answer = CallEvents;

    fn context(&mut self) -> Option<&mut Context> {
        Some(self.context.get_or_insert_default())
    }

    fn served(local: &Local) -> bool {
        local.tools.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<CallEvents, Status> {
        let tools = local.tools.clone().ok_or_else(absent)?;
        local::stream(place, async move { tools.call(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<CallEvents, Status> {
        let mut client = ToolsClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        Ok(Box::pin(client.call(self).await?.into_inner()))
    }
}

impl Method for GetPromptRequest {
    const NAMES: Names =
        Names { span: "bus prompts/get", service: "switchyard.v1.Prompts", method: "Get", offer: "the prompt" };

    type Answer = CallEvents;

    fn context(&mut self) -> Option<&mut Context> {
        Some(self.context.get_or_insert_default())
    }

    fn served(local: &Local) -> bool {
        local.prompts.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<CallEvents, Status> {
        let prompts = local.prompts.clone().ok_or_else(absent)?;
        local::stream(place, async move { prompts.get(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<CallEvents, Status> {
        let mut client = PromptsClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        Ok(Box::pin(client.get(self).await?.into_inner()))
    }
}

impl Method for ReadResourceRequest {
    const NAMES: Names =
        Names { span: "bus resources/read", service: "switchyard.v1.Resources", method: "Read", offer: "the resource" };

    type Answer = CallEvents;

    fn context(&mut self) -> Option<&mut Context> {
        Some(self.context.get_or_insert_default())
    }

    fn served(local: &Local) -> bool {
        local.resources.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<CallEvents, Status> {
        let resources = local.resources.clone().ok_or_else(absent)?;
        local::stream(place, async move { resources.read(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<CallEvents, Status> {
        let mut client = ResourcesClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        Ok(Box::pin(client.read(self).await?.into_inner()))
    }
}

impl Method for ListResourcesRequest {
    const NAMES: Names = Names {
        span: "bus resources/list",
        service: "switchyard.v1.Resources",
        method: "List",
        offer: "these resources",
    };

    type Answer = ListResourcesReply;

    fn context(&mut self) -> Option<&mut Context> {
        Some(self.context.get_or_insert_default())
    }

    fn served(local: &Local) -> bool {
        local.resources.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<ListResourcesReply, Status> {
        let resources = local.resources.clone().ok_or_else(absent)?;
        local::unary(place, async move { resources.list(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<ListResourcesReply, Status> {
        let mut client = ResourcesClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        client.list(self).await.map(Response::into_inner)
    }
}

impl Method for DescribeResourceRequest {
    const NAMES: Names = Names {
        span: "bus resources/describe",
        service: "switchyard.v1.Resources",
        method: "Describe",
        offer: "the resource",
    };

    type Answer = Resource;

    fn context(&mut self) -> Option<&mut Context> {
        Some(self.context.get_or_insert_default())
    }

    fn served(local: &Local) -> bool {
        local.resources.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<Resource, Status> {
        let resources = local.resources.clone().ok_or_else(absent)?;
        local::unary(place, async move { resources.describe(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<Resource, Status> {
        let mut client = ResourcesClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        client.describe(self).await.map(Response::into_inner)
    }
}

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

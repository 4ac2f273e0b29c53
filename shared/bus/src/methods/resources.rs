//! Listing, describing and reading resources.

use switchyard_proto::v1::{
    CompleteReply, CompleteTemplateRequest, Context, DescribeResourceRequest, ListResourcesReply, ListResourcesRequest,
    ReadResourceRequest, Resource, lane_request::Frame, resources_client::ResourcesClient,
};
use tonic::{Request, Response, Status};

use super::{Method, Names, absent};
use crate::{
    link::Link,
    local::{self, Local, Place},
    service::CallEvents,
};

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
        if let Some(lane) = link.lane(&self) {
            return lane.call(link, Frame::Resource(self), limit).await;
        }
        let mut client = ResourcesClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        Ok(Box::pin(client.read(self).await?.into_inner()))
    }
}

impl Method for CompleteTemplateRequest {
    const NAMES: Names = Names {
        span: "bus resources/complete",
        service: "switchyard.v1.Resources",
        method: "Complete",
        offer: "the template",
    };

    type Answer = CompleteReply;

    fn context(&mut self) -> Option<&mut Context> {
        Some(self.context.get_or_insert_default())
    }

    fn served(local: &Local) -> bool {
        local.resources.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<CompleteReply, Status> {
        let resources = local.resources.clone().ok_or_else(absent)?;
        local::unary(place, async move { resources.complete(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<CompleteReply, Status> {
        if let Some(lane) = link.lane(&self) {
            return lane.complete(Frame::CompleteTemplate(self)).await;
        }
        let mut client = ResourcesClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        client.complete(self).await.map(Response::into_inner)
    }
}

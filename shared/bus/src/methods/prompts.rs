//! Rendering a prompt, and proposing its arguments.

use switchyard_proto::v1::{
    CompletePromptRequest, CompleteReply, Context, GetPromptRequest, lane_request::Frame, prompts_client::PromptsClient,
};
use tonic::{Request, Response, Status};

use super::{Method, Names, absent};
use crate::{
    link::Link,
    local::{self, Local, Place},
    service::CallEvents,
};

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
        if let Some(lane) = link.lane(&self) {
            return lane.call(link, Frame::Prompt(self), limit).await;
        }
        let mut client = PromptsClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        Ok(Box::pin(client.get(self).await?.into_inner()))
    }
}

impl Method for CompletePromptRequest {
    const NAMES: Names = Names {
        span: "bus prompts/complete",
        service: "switchyard.v1.Prompts",
        method: "Complete",
        offer: "the prompt",
    };

    type Answer = CompleteReply;

    fn context(&mut self) -> Option<&mut Context> {
        Some(self.context.get_or_insert_default())
    }

    fn served(local: &Local) -> bool {
        local.prompts.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<CompleteReply, Status> {
        let prompts = local.prompts.clone().ok_or_else(absent)?;
        local::unary(place, async move { prompts.complete(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<CompleteReply, Status> {
        if let Some(lane) = link.lane(&self) {
            return lane.complete(Frame::CompletePrompt(self)).await;
        }
        let mut client = PromptsClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        client.complete(self).await.map(Response::into_inner)
    }
}

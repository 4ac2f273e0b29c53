//! Calling a tool.

use switchyard_proto::v1::{CallToolRequest, Context, lane_request::Frame, tools_client::ToolsClient};
use tonic::{Request, Status};

use super::{Method, Names, absent};
use crate::{
    link::Link,
    local::{self, Local, Place},
    service::CallEvents,
};

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
        if let Some(lane) = link.lane(&self) {
            return lane.call(link, Frame::Tool(self), limit).await;
        }
        let mut client = ToolsClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        Ok(Box::pin(client.call(self).await?.into_inner()))
    }
}

//! Running tasks on, and ending their runs.

use switchyard_proto::v1::{RunOnReply, RunOnRequest, StopReply, StopRequest, tasks_client::TasksClient};
use tonic::{Request, Response, Status};

use super::{Method, Names, absent};
use crate::{
    link::Link,
    local::{self, Local, Place},
};

impl Method for RunOnRequest {
    const NAMES: Names =
        Names { span: "bus tasks/run_on", service: "switchyard.v1.Tasks", method: "RunOn", offer: "the task's tool" };

    type Answer = RunOnReply;

    fn served(local: &Local) -> bool {
        local.tasks.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<RunOnReply, Status> {
        let tasks = local.tasks.clone().ok_or_else(absent)?;
        local::unary(place, async move { tasks.run_on(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<RunOnReply, Status> {
        let mut client = TasksClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        client.run_on(self).await.map(Response::into_inner)
    }
}

impl Method for StopRequest {
    const NAMES: Names =
        Names { span: "bus tasks/stop", service: "switchyard.v1.Tasks", method: "Stop", offer: "the task" };

    type Answer = StopReply;

    fn served(local: &Local) -> bool {
        local.tasks.is_some()
    }

    async fn here(self, local: &Local, place: &Place) -> Result<StopReply, Status> {
        let tasks = local.tasks.clone().ok_or_else(absent)?;
        local::unary(place, async move { tasks.stop(Request::new(self)).await }).await
    }

    async fn there(self, link: Link, limit: usize) -> Result<StopReply, Status> {
        let mut client = TasksClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        client.stop(self).await.map(Response::into_inner)
    }
}

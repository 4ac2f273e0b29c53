//! Services of this process as the listener serves them: whoever implements them, their answers within the limit, and
//! subscriptions ended when the listener stops.

use std::sync::Arc;

use futures_util::{
    StreamExt,
    future::{BoxFuture, Shared},
};
use switchyard_proto::v1::{
    CallToolRequest, CompletePromptRequest, CompleteReply, CompleteTemplateRequest, DeliverReply,
    DescribeResourceRequest, GetPromptRequest, Letter, ListResourcesReply, ListResourcesRequest, PublishReply,
    PublishRequest, ReadResourceRequest, Resource, RunOnReply, RunOnRequest, StopReply, StopRequest, SubscribeRequest,
    events_server::Events, gateway_server::Gateway, prompts_server::Prompts, resources_server::Resources,
    tasks_server::Tasks, tools_server::Tools,
};
use tonic::{Request, Response, Status};

use crate::{
    limits,
    service::{CallEvents, DynEvents, DynGateway, DynPrompts, DynResources, DynTasks, DynTools, Facts},
};

/// Answers with the same events as long as they are not too large.
fn limited(answer: Response<CallEvents>, limit: usize) -> Response<CallEvents> {
    answer.map(|events| events.map(move |event| limits::answer(event, limit)).boxed())
}

pub(crate) struct SharedTools {
    pub service: Arc<DynTools>,
    pub limit: usize,
}

#[tonic::async_trait]
impl Tools for SharedTools {
    type CallStream = CallEvents;

    async fn call(&self, request: Request<CallToolRequest>) -> Result<Response<CallEvents>, Status> {
        Ok(limited(self.service.call(request).await?, self.limit))
    }
}

pub(crate) struct SharedTasks(pub Arc<DynTasks>);

#[tonic::async_trait]
impl Tasks for SharedTasks {
    async fn run_on(&self, request: Request<RunOnRequest>) -> Result<Response<RunOnReply>, Status> {
        self.0.run_on(request).await
    }

    async fn stop(&self, request: Request<StopRequest>) -> Result<Response<StopReply>, Status> {
        self.0.stop(request).await
    }
}

pub(crate) struct SharedResources {
    pub service: Arc<DynResources>,
    pub limit: usize,
}

#[tonic::async_trait]
impl Resources for SharedResources {
    async fn list(&self, request: Request<ListResourcesRequest>) -> Result<Response<ListResourcesReply>, Status> {
        let page = self.service.list(request).await?.into_inner();
        limits::answer(Ok(page), self.limit).map(Response::new)
    }

    async fn describe(&self, request: Request<DescribeResourceRequest>) -> Result<Response<Resource>, Status> {
        self.service.describe(request).await
    }

    type ReadStream = CallEvents;

    async fn read(&self, request: Request<ReadResourceRequest>) -> Result<Response<CallEvents>, Status> {
        Ok(limited(self.service.read(request).await?, self.limit))
    }

    async fn complete(&self, request: Request<CompleteTemplateRequest>) -> Result<Response<CompleteReply>, Status> {
        self.service.complete(request).await
    }
}

pub(crate) struct SharedPrompts {
    pub service: Arc<DynPrompts>,
    pub limit: usize,
}

#[tonic::async_trait]
impl Prompts for SharedPrompts {
    type GetStream = CallEvents;

    async fn get(&self, request: Request<GetPromptRequest>) -> Result<Response<CallEvents>, Status> {
        Ok(limited(self.service.get(request).await?, self.limit))
    }

    async fn complete(&self, request: Request<CompletePromptRequest>) -> Result<Response<CompleteReply>, Status> {
        self.service.complete(request).await
    }
}

pub(crate) struct SharedEvents {
    pub service: Arc<DynEvents>,
    /// Comes when the listener stops.
    pub stopping: Shared<BoxFuture<'static, ()>>,
}

#[tonic::async_trait]
impl Events for SharedEvents {
    async fn publish(&self, request: Request<PublishRequest>) -> Result<Response<PublishReply>, Status> {
        self.service.publish(request).await
    }

    type SubscribeStream = Facts;

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Result<Response<Facts>, Status> {
        let facts = self.service.subscribe(request).await?.into_inner();
        Ok(Response::new(facts.take_until(self.stopping.clone()).boxed()))
    }
}

pub(crate) struct SharedGateway(pub Arc<DynGateway>);

#[tonic::async_trait]
impl Gateway for SharedGateway {
    async fn deliver(&self, request: Request<Letter>) -> Result<Response<DeliverReply>, Status> {
        self.0.deliver(request).await
    }
}

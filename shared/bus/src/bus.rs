//! What callers hold: one field a service, and no sign of where the service is.

use std::sync::Arc;

use futures_util::StreamExt;
use switchyard_proto::v1::{
    CallToolRequest, CompletePromptRequest, CompleteReply, CompleteTemplateRequest, DeliverReply,
    DescribeResourceRequest, Fact, GetPromptRequest, Letter, ListResourcesReply, ListResourcesRequest, PublishRequest,
    ReadResourceRequest, Resource, RunOnRequest, StopRequest, SubscribeRequest,
};
use switchyard_state::NodeId;
use tokio::runtime::Handle;
use tonic::Status;

use crate::{
    answer::Answer,
    caller::{Caller, Process},
    discovery::Discovery,
    local::{Local, Place},
    methods::Method,
    nodes::Nodes,
    options::BusOptions,
    service::{CallEvents, Facts},
};

/// Reaches every service of the cluster. A clone shares its connections.
#[derive(Clone)]
pub struct Bus {
    /// Runs tools.
    pub tools: ToolsBus,
    /// Runs calls of tools that go on after their reply.
    pub tasks: TasksBus,
    /// Lists and reads resources.
    pub resources: ResourcesBus,
    /// Renders prompts.
    pub prompts: PromptsBus,
    /// The log of facts.
    pub events: EventsBus,
    /// Other gateways.
    pub gateways: GatewaysBus,
}

impl Bus {
    /// The bus of node `node`, whose own services are `local` and run on `runtime`.
    pub fn new(node: NodeId, local: Local, discovery: &Discovery, options: BusOptions, runtime: Handle) -> Self {
        let nodes = Nodes::new(node, discovery.snapshot(), runtime.clone());
        let place = Place { runtime, limit: options.max_message_bytes };
        Self::of(Caller::new(Arc::new(Process { nodes, local, place })))
    }

    /// The same bus with connections of its own, made when they are first needed, on the runtime of the thread that
    /// needs them: one for each thread that calls much, so that its calls do not cross threads.
    pub fn for_thread(&self) -> Self {
        Self::of(Caller::new(self.tools.0.process.clone()))
    }

    /// Our own calls in flight at each node.
    pub fn in_flight(&self) -> Vec<(NodeId, usize)> {
        let table = self.tools.0.process.nodes.table();
        table.nodes().map(|node| (node.id.clone(), node.in_flight())).collect()
    }

    fn of(caller: Arc<Caller>) -> Self {
        Self {
            tools: ToolsBus(caller.clone()),
            tasks: TasksBus(caller.clone()),
            resources: ResourcesBus(caller.clone()),
            prompts: PromptsBus(caller.clone()),
            events: EventsBus(caller.clone()),
            gateways: GatewaysBus(caller),
        }
    }
}

/// The tools services.
#[derive(Clone)]
pub struct ToolsBus(Arc<Caller>);

impl ToolsBus {
    /// Runs a tool at one of `nodes`, those that offer it. Dropping the future or the stream cancels the run.
    ///
    /// # Errors
    /// What the service says; `RESOURCE_EXHAUSTED` for a request above `maxMessageBytes`; `UNAVAILABLE` with
    /// [`Failure::not_started`](switchyard_proto::v1::Failure::not_started) when no node took the call, and without it
    /// when nobody knows whether it ran.
    pub async fn call(&self, nodes: &[NodeId], request: CallToolRequest) -> Result<CallEvents, Status> {
        call(&self.0, nodes, request).await
    }
}

/// The nodes that run tasks.
#[derive(Clone)]
pub struct TasksBus(Arc<Caller>);

impl TasksBus {
    /// Has one of `nodes`, those that offer its tool, run on a task that has all of its answers. `false` when it does
    /// not wait for a node.
    pub async fn run_on(&self, nodes: &[NodeId], task: &str) -> Result<bool, Status> {
        Ok(self.0.unary(nodes, RunOnRequest { task: task.to_owned() }).await?.claimed)
    }

    /// Ends the run of a task at the node that has it.
    pub async fn stop(&self, node: &NodeId, task: &str) -> Result<(), Status> {
        self.0.unary(std::slice::from_ref(node), StopRequest { task: task.to_owned() }).await.map(drop)
    }
}

/// The prompts services.
#[derive(Clone)]
pub struct PromptsBus(Arc<Caller>);

impl PromptsBus {
    /// Renders a prompt at one of `nodes`, those that offer it. Cancelled and failing like [`ToolsBus::call`].
    pub async fn get(&self, nodes: &[NodeId], request: GetPromptRequest) -> Result<CallEvents, Status> {
        call(&self.0, nodes, request).await
    }

    /// Proposals for an argument of a prompt.
    pub async fn complete(&self, nodes: &[NodeId], request: CompletePromptRequest) -> Result<CompleteReply, Status> {
        self.0.unary(nodes, request).await
    }
}

/// The resources services.
#[derive(Clone)]
pub struct ResourcesBus(Arc<Caller>);

impl ResourcesBus {
    /// One page of a provider's resources, from one of `nodes`, those that offer it.
    pub async fn list(&self, nodes: &[NodeId], request: ListResourcesRequest) -> Result<ListResourcesReply, Status> {
        self.0.unary(nodes, request).await
    }

    /// What a listing would say of one URI.
    pub async fn describe(&self, nodes: &[NodeId], request: DescribeResourceRequest) -> Result<Resource, Status> {
        self.0.unary(nodes, request).await
    }

    /// Reads a resource at one of `nodes`. Cancelled and failing like [`ToolsBus::call`].
    pub async fn read(&self, nodes: &[NodeId], request: ReadResourceRequest) -> Result<CallEvents, Status> {
        call(&self.0, nodes, request).await
    }

    /// Proposals for a variable of a template.
    pub async fn complete(&self, nodes: &[NodeId], request: CompleteTemplateRequest) -> Result<CompleteReply, Status> {
        self.0.unary(nodes, request).await
    }
}

/// The events services: all the same, so the own one is asked first.
#[derive(Clone)]
pub struct EventsBus(Arc<Caller>);

impl EventsBus {
    /// Appends facts to the log and returns the offset of the last one.
    pub async fn publish(&self, facts: Vec<Fact>) -> Result<u64, Status> {
        let nodes = self.nodes();
        Ok(self.0.unary(&nodes, PublishRequest { facts }).await?.offset)
    }

    /// Facts from the offset asked for on. The stream ends or fails when its node goes; subscribe again then.
    pub async fn subscribe(&self, request: SubscribeRequest) -> Result<Facts, Status> {
        let nodes = self.nodes();
        let (facts, ticket) = self.0.call(&nodes, request).await?;
        Ok(Answer::new(facts, ticket).boxed())
    }

    fn nodes(&self) -> Vec<NodeId> {
        if PublishRequest::served(&self.0.process.local) {
            return vec![self.0.process.nodes.own.clone()];
        }
        with_role(&self.0, "events")
    }
}

/// The gateways.
#[derive(Clone)]
pub struct GatewaysBus(Arc<Caller>);

impl GatewaysBus {
    /// Hands a letter to one gateway.
    pub async fn deliver(&self, node: &NodeId, letter: Letter) -> Result<DeliverReply, Status> {
        self.0.unary(std::slice::from_ref(node), letter).await
    }

    /// Every live gateway but this node.
    pub fn others(&self) -> Vec<NodeId> {
        let mut others = with_role(&self.0, "gateway");
        others.retain(|id| *id != self.0.process.nodes.own);
        others
    }
}

async fn call<M: Method<Answer = CallEvents>>(
    caller: &Caller,
    nodes: &[NodeId],
    request: M,
) -> Result<CallEvents, Status> {
    let (events, ticket) = caller.call(nodes, request).await?;
    Ok(Answer::new(events, ticket).boxed())
}

fn with_role(caller: &Caller, role: &str) -> Vec<NodeId> {
    let table = caller.process.nodes.table();
    let has_role = |node: &&switchyard_state::NodeRecord| node.roles.iter().any(|offered| offered == role);
    table.snapshot.nodes.iter().filter(has_role).map(|node| node.id.clone()).collect()
}

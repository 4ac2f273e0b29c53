//! A service node of a cluster, as anybody's would be, whose every answer the test gives by hand.
//!
//! It speaks the bus contract and is announced in the cluster's Redis; that is all that it shares with the server. Each
//! call that reaches it waits as a [`HeldRun`], so a test decides what happens while a call runs, and sees when it is
//! given up.

use std::sync::Arc;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};
use switchyard_bus::{BusOptions, Discovery, Health, Local};
use switchyard_proto::v1::{
    Accepted, CallEvent, CallToolRequest, CompletePromptRequest, CompleteReply, CompleteTemplateRequest,
    DescribeResourceRequest, Failure, GetPromptRequest, ListResourcesReply, ListResourcesRequest, ReadResourceRequest,
    Resource, call_event::Event, prompts_server::Prompts, resources_server::Resources, tools_server::Tools,
};
use switchyard_state::{Entry, EntryKind, NodeId, NodeRecord, redis, testing::RedisServer};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc, watch},
    task::JoinHandle,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::{HeldRun, ModernClient, Offered, PATIENCE, eventually, within};

/// How many calls wait for the test, and how many events of one for whoever called.
const QUEUE: usize = 64;

type Answer = BoxStream<'static, Result<CallEvent, Status>>;

/// A service node. Dropping it is its death: it leaves no word.
pub struct ServiceNode {
    discovery: Discovery,
    offered: watch::Sender<Vec<Entry>>,
    resources: watch::Sender<Vec<Resource>>,
    runs: Mutex<mpsc::Receiver<HeldRun>>,
    serving: JoinHandle<()>,
}

impl ServiceNode {
    /// Starts one in the cluster around this Redis.
    ///
    /// # Panics
    /// When it cannot join.
    pub async fn start(redis: &RedisServer, offered: &[Offered]) -> Self {
        let stores = redis::connect(&redis.options("switchyard")).expect("the options are right");
        let (runs, held) = mpsc::channel(QUEUE);
        let (offers, entries) = watch::channel(entries(offered));
        let (resources, listed) = watch::channel(Vec::new());
        let service = Arc::new(Service { runs, listed });
        let local = Local {
            tools: Some(service.clone()),
            resources: Some(service.clone()),
            prompts: Some(service),
            ..Local::default()
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address").to_string();
        // Ends with the node: it is aborted on drop.
        let serving = tokio::spawn(async move {
            let options = BusOptions::default();
            let served = switchyard_bus::serve(listener, local, Health::default(), &options, std::future::pending());
            served.await.expect("a listener can be served");
        });
        let id = NodeId(format!("held-{}", address.rsplit(':').next().expect("an address has a port")));
        let roles = ["tools", "resources", "prompts"].map(str::to_owned).into();
        let record = NodeRecord { id, address, version: "1".into(), roles, entries: Vec::new() };
        let discovery = Discovery::start(stores.registry, stores.log, record, vec![entries]).await;
        let discovery = discovery.expect("the registry is there");
        discovery.settled().await;
        Self { discovery, offered: offers, resources, runs: Mutex::new(held), serving }
    }

    /// Offers this in place of what it offered before.
    pub fn offer(&self, offered: &[Offered]) {
        self.offered.send_replace(entries(offered));
    }

    /// Lists these resources from now on; each is of the provider whose prefix it has.
    pub fn list(&self, resources: Vec<Resource>) {
        self.resources.send_replace(resources);
    }

    /// Waits until a gateway knows of everything on offer.
    pub async fn known_to(&self, client: &ModernClient) {
        for (kind, method, list, name) in [
            (EntryKind::Tool, "tools/list", "tools", "name"),
            (EntryKind::Prompt, "prompts/list", "prompts", "name"),
            (EntryKind::Template, "resources/templates/list", "resourceTemplates", "uriTemplate"),
        ] {
            let wanted: Vec<String> = self
                .offered
                .borrow()
                .iter()
                .filter(|entry| entry.kind == kind)
                .map(|entry| entry.name.clone())
                .collect();
            eventually("a gateway to know what a service offers", async || {
                let reply = client.request(method, json!({})).await;
                let listed = reply.message["result"][list].as_array()?;
                wanted.iter().all(|wanted| listed.iter().any(|listed| listed[name] == **wanted)).then_some(())
            })
            .await;
        }
    }

    /// The next call.
    ///
    /// # Panics
    /// When none comes.
    pub async fn next_run(&self) -> HeldRun {
        let mut runs = self.runs.lock().await;
        within(PATIENCE, "a call at the service", runs.recv()).await.expect("the service lives")
    }

    /// Whether no call waits that the test has not taken.
    pub async fn is_idle(&self) -> bool {
        self.runs.lock().await.is_empty()
    }

    /// Leaves the cluster in an orderly way.
    pub async fn leave(self) {
        self.discovery.leave().await;
    }
}

impl Drop for ServiceNode {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn entries(offered: &[Offered]) -> Vec<Entry> {
    offered.iter().map(|offered| offered.0.clone()).collect()
}

/// The contract: one struct that is three services.
struct Service {
    runs: mpsc::Sender<HeldRun>,
    listed: watch::Receiver<Vec<Resource>>,
}

impl Service {
    /// Takes a call on, and leaves it to the test.
    async fn hold(&self, run: impl FnOnce(mpsc::Sender<Result<CallEvent, Status>>) -> HeldRun) -> Response<Answer> {
        let (events, rest) = mpsc::channel(QUEUE);
        self.runs.send(run(events)).await.expect("the node outlives its calls");
        let accepted = CallEvent { event: Some(Event::Accepted(Accepted {})) };
        Response::new(stream::iter([Ok(accepted)]).chain(ReceiverStream::new(rest)).boxed())
    }
}

fn json_of(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_default()
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tonic::async_trait]
impl Tools for Service {
    type CallStream = Answer;

    async fn call(&self, request: Request<CallToolRequest>) -> Result<Response<Answer>, Status> {
        let CallToolRequest { context, name, arguments_json, input_responses_json, state, .. } = request.into_inner();
        let (arguments, answers) = (json_of(&arguments_json), json_of(&input_responses_json));
        let (state, context) = (text_of(&state), context.unwrap_or_default());
        Ok(self.hold(|events| HeldRun { name, arguments, answers, state, context, events }).await)
    }
}

#[tonic::async_trait]
impl Prompts for Service {
    type GetStream = Answer;

    async fn get(&self, request: Request<GetPromptRequest>) -> Result<Response<Answer>, Status> {
        let GetPromptRequest { context, name, arguments, input_responses_json, state, .. } = request.into_inner();
        let (arguments, answers) = (json!(arguments), json_of(&input_responses_json));
        let (state, context) = (text_of(&state), context.unwrap_or_default());
        Ok(self.hold(|events| HeldRun { name, arguments, answers, state, context, events }).await)
    }

    async fn complete(&self, _: Request<CompletePromptRequest>) -> Result<Response<CompleteReply>, Status> {
        Ok(Response::new(CompleteReply::default()))
    }
}

#[tonic::async_trait]
impl Resources for Service {
    type ReadStream = Answer;

    async fn list(&self, request: Request<ListResourcesRequest>) -> Result<Response<ListResourcesReply>, Status> {
        let ListResourcesRequest { after, limit, .. } = request.into_inner();
        let mut resources = self.listed.borrow().clone();
        resources.retain(|resource| resource.uri > after);
        resources.sort_by(|one, other| one.uri.cmp(&other.uri));
        let more = resources.len() > limit as usize;
        resources.truncate(limit as usize);
        Ok(Response::new(ListResourcesReply { resources, more }))
    }

    async fn describe(&self, request: Request<DescribeResourceRequest>) -> Result<Response<Resource>, Status> {
        let uri = request.into_inner().uri;
        let found = self.listed.borrow().iter().find(|resource| resource.uri == uri).cloned();
        found.map(Response::new).ok_or_else(|| Failure::unknown(&uri, "there is no such resource"))
    }

    async fn read(&self, request: Request<ReadResourceRequest>) -> Result<Response<Answer>, Status> {
        let ReadResourceRequest { context, uri, input_responses_json, state, .. } = request.into_inner();
        let (arguments, answers) = (Value::Null, json_of(&input_responses_json));
        let (state, context) = (text_of(&state), context.unwrap_or_default());
        Ok(self.hold(|events| HeldRun { name: uri, arguments, answers, state, context, events }).await)
    }

    async fn complete(&self, _: Request<CompleteTemplateRequest>) -> Result<Response<CompleteReply>, Status> {
        Ok(Response::new(CompleteReply::default()))
    }
}

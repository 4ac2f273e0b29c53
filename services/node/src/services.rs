//! The services of this process: made from options before anything is announced.

use std::sync::Arc;

use switchyard_bus::{Bus, Local};
use switchyard_events::EventService;
use switchyard_files::Watching;
use switchyard_gateway::{Ledger, Letterbox};
use switchyard_prompts::PromptService;
use switchyard_resources::{ResourceOptions, ResourceService};
use switchyard_state::{Entry, NodeId, Stores};
use switchyard_tasks::TaskRunner;
use switchyard_telemetry::Metrics;
use switchyard_tools::{Backends, ToolService};
use tokio::sync::watch;

use crate::{
    NodeError,
    options::{Options, Role},
    publish::ByBus,
};

/// The services of this node, and what they offer.
pub struct Services {
    /// For the bus.
    pub local: Local,
    /// For the announcement, whenever they change.
    pub entries: Vec<watch::Receiver<Vec<Entry>>>,
    /// What is open at this node's gateway.
    pub ledger: Ledger,
    /// What runs calls that went on after their reply, to be waited for when the node stops.
    pub tasks: Option<TaskRunner>,
    /// What watches files, to be told when the node stops.
    pub watching: Option<Arc<ResourceService>>,
    /// Keep the pictures of directories current that are searched here and served elsewhere.
    pub pictures: Vec<Watching>,
    /// Gives the services the bus once there is one.
    pub bus: watch::Sender<Option<Bus>>,
}

impl Services {
    /// Makes the services of this node's roles, on the runtime that this is polled on.
    ///
    /// # Errors
    /// Which service cannot start, and why.
    pub async fn make(
        options: &Options,
        stores: &Stores,
        id: &NodeId,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, NodeError> {
        let (bus, bus_later) = watch::channel(None);
        let ledger = Ledger::new(id.clone(), options.server.max_calls);
        let mut local = Local::default();
        let mut entries = Vec::new();
        let (mut watching, mut tasks) = (None, None);
        let mut pictures = Vec::new();

        if options.has(Role::Resources) {
            let (registry, publish) = (stores.registry.clone(), Arc::new(ByBus(bus_later)));
            let started =
                ResourceService::start(&options.resources, &options.resource_limits, registry, id.clone(), publish);
            let resources = Arc::new(started.map_err(|error| failed("resources", error))?);
            entries.push(resources.entries());
            local.resources = Some(resources.clone());
            watching = Some(resources);
        }
        if options.has(Role::Tools) {
            let files = match &watching {
                Some(resources) => resources.files().to_vec(),
                None => {
                    let files =
                        ResourceOptions::open_files(&options.resources).map_err(|error| failed("tools", error))?;
                    for root in &files {
                        pictures.push(root.watch().map_err(|error| failed("tools", error))?);
                    }
                    files
                }
            };
            let tools = ToolService::new(&options.tools, &options.tool_limits, &Backends { files })
                .map_err(|error| failed("tools", error))?;
            tools.register(metrics);
            entries.push(tools.entries());
            let runner = TaskRunner::start(Arc::new(tools), stores, id.clone(), options.tasks.clone());
            runner.register(metrics);
            local.tools = Some(Arc::new(runner.clone()));
            local.tasks = Some(Arc::new(runner.clone()));
            tasks = Some(runner);
        }
        if options.has(Role::Prompts) {
            let prompts = PromptService::start(&options.prompts).await.map_err(|error| failed("prompts", error))?;
            entries.push(prompts.entries());
            local.prompts = Some(Arc::new(prompts));
        }
        if options.has(Role::Events) {
            let events = EventService::with_options(stores.log.clone(), options.events.clone());
            events.register(metrics);
            local.events = Some(Arc::new(events));
        }
        if options.has(Role::Gateway) {
            local.gateway = Some(Arc::new(Letterbox::new(ledger.clone())));
        }
        Ok(Self { local, entries, ledger, tasks, watching, pictures, bus })
    }
}

fn failed(role: &'static str, source: impl std::error::Error + Send + Sync + 'static) -> NodeError {
    NodeError::Service { role, source: source.into() }
}

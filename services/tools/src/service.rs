//! The contract's `Tools`.

use std::{collections::HashMap, sync::Arc};

use futures_util::stream::BoxStream;
use switchyard_proto::v1::{CallEvent, CallToolRequest, Failure, tools_server::Tools};
use switchyard_state::Entry;
use switchyard_telemetry::{Metrics, metrics::Counter};
use tokio::sync::{Semaphore, watch};
use tonic::{Request, Response, Status};
use tracing::Span;

use crate::{Backends, Offered, Reporter, Run, ToolLimits, ToolOptions, ToolsError, call::RunningCall, span};

/// How much of an unknown tool's name is repeated, in characters.
const MAX_NAME: usize = 80;

/// Runs the tools of one node.
pub struct ToolService {
    tools: HashMap<&'static str, Arc<Offered>>,
    places: Arc<Semaphore>,
    /// The most calls that run at a time.
    limit: usize,
    /// Calls taken on.
    started: Counter,
    /// Calls refused because too many ran.
    refused: Counter,
    entries: watch::Sender<Vec<Entry>>,
}

impl ToolService {
    /// The built-in tools, as `options` want them.
    ///
    /// # Errors
    /// When an option names no tool, or asks for what cannot be.
    pub fn new(options: &[ToolOptions], limits: &ToolLimits, backends: &Backends) -> Result<Self, ToolsError> {
        Self::of(Offered::built_in(options, backends)?, limits)
    }

    /// These tools and no others.
    ///
    /// # Errors
    /// When the limits let nothing run.
    pub fn of(offered: Vec<Offered>, limits: &ToolLimits) -> Result<Self, ToolsError> {
        if limits.max_concurrent_calls == 0 {
            return Err(ToolsError::NoCalls);
        }
        let limit = limits.max_concurrent_calls.min(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(limit));
        let entries = watch::Sender::new(offered.iter().map(|offered| offered.entry().clone()).collect());
        let tools = offered.into_iter().map(|offered| (offered.name(), Arc::new(offered))).collect();
        Ok(Self { tools, places, limit, started: Counter::default(), refused: Counter::default(), entries })
    }

    /// What this node offers, for its announcement.
    pub fn entries(&self) -> watch::Receiver<Vec<Entry>> {
        self.entries.subscribe()
    }

    /// Has `metrics` show how many calls run, and how many were taken on and refused.
    pub fn register(&self, metrics: &Metrics) {
        let (places, limit) = (Arc::clone(&self.places), self.limit);
        let calls = move || {
            let numbers = [("running", limit - places.available_permits()), ("limit", limit)];
            numbers.map(|(what, calls)| (what.to_owned(), i64::try_from(calls).unwrap_or(i64::MAX))).into()
        };
        metrics.watch("tool_calls", "Tool calls that run, and the most that may", "what", calls);
        metrics.register("tool_calls_started", "Tool calls taken on", self.started.clone());
        metrics.register("tool_calls_refused", "Tool calls refused because too many ran", self.refused.clone());
    }

    fn start(&self, request: CallToolRequest, span: Span) -> Result<RunningCall, Status> {
        let offered = self.tools.get(request.name.as_str()).ok_or_else(|| unknown(&request.name))?;
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| self.busy())?;
        let arguments = offered.arguments().parse(&request.arguments_json)?;
        let context = request.context.unwrap_or_default();
        let reporter = Reporter::new(&context);
        let run = Run { arguments, principal: context.principal, reporter: reporter.clone() };
        let running = offered.tool().run(run);
        self.started.inc();
        Ok(RunningCall::new(Arc::clone(offered), running, reporter, span, place))
    }

    fn busy(&self) -> Status {
        self.refused.inc();
        Status::resource_exhausted("this node runs as many tool calls as it may, so try again later")
    }
}

#[tonic::async_trait]
impl Tools for ToolService {
    type CallStream = BoxStream<'static, Result<CallEvent, Status>>;

    async fn call(&self, request: Request<CallToolRequest>) -> Result<Response<Self::CallStream>, Status> {
        let request = request.into_inner();
        let known = self.tools.get_key_value(request.name.as_str()).map_or("", |(name, _)| name);
        let span = span::of_call(known, request.context.as_ref());
        match self.start(request, span.clone()) {
            Ok(call) => Ok(Response::new(Box::pin(call))),
            Err(status) => {
                span::refused(&span, &status);
                Err(status)
            }
        }
    }
}

fn unknown(name: &str) -> Status {
    let name: String = name.chars().filter(|one| !one.is_control()).take(MAX_NAME).collect();
    Failure::unknown(&name, format!("no tool is named `{name}`"))
}

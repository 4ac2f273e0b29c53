//! The contract's `Tools` and `Tasks` of one node, around the service that runs its tools.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, future::join_all, stream};
use prost::Message;
use switchyard_proto::v1::{
    CallToolRequest, Fact, Failure, RunOnReply, RunOnRequest, StopReply, StopRequest, TaskChanged, fact::Kind,
    tasks_server::Tasks, tools_server::Tools,
};
use switchyard_state::{EventLog, HEARTBEAT, NodeId, StoreError, Stores, Task, TaskId, TaskStatus, TaskStore};
use switchyard_telemetry::{Metrics, metrics::Counter};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, MissedTickBehavior, interval},
};
use tonic::{Request, Response, Status};
use tracing::{debug, warn};

use crate::{
    CallEvents, DynTools, GoOn, TaskOptions,
    begun::{Begun, Happened, Stage},
    job::{Job, failure},
    rounds,
    table::Table,
};

/// Runs the tools of one node, and their tasks. Clones share the tasks.
#[derive(Clone)]
pub struct TaskRunner(Arc<Inner>);

/// What all tasks of a node share.
pub(crate) struct Inner {
    pub tools: Arc<DynTools>,
    pub store: Arc<dyn TaskStore>,
    log: Arc<dyn EventLog>,
    pub node: NodeId,
    pub options: TaskOptions,
    pub table: Arc<Table>,
    places: Arc<Semaphore>,
    pub counts: Counts,
}

/// What became of tasks.
#[derive(Default)]
pub(crate) struct Counts {
    created: Counter,
    completed: Counter,
    failed: Counter,
}

impl Counts {
    pub fn ended(&self, status: TaskStatus) {
        if status == TaskStatus::Completed {
            self.completed.inc()
        } else {
            self.failed.inc()
        };
    }
}

impl TaskRunner {
    /// Runs `tools` at `node`. Signs of life are given on the current runtime for as long as the runner lives.
    ///
    /// # Panics
    /// When called outside a tokio runtime.
    pub fn start(tools: Arc<DynTools>, stores: &Stores, node: NodeId, options: TaskOptions) -> Self {
        let limit = options.max_running.get().min(Semaphore::MAX_PERMITS);
        let inner = Arc::new(Inner {
            tools,
            store: stores.tasks.clone(),
            log: stores.log.clone(),
            node,
            options,
            table: Arc::default(),
            places: Arc::new(Semaphore::new(limit)),
            counts: Counts::default(),
        });
        let runner = Arc::downgrade(&inner);
        // Ends with the runner.
        tokio::spawn(async move {
            let mut beats = interval(HEARTBEAT);
            beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                beats.tick().await;
                let Some(runner) = runner.upgrade() else { return };
                runner.beat().await;
            }
        });
        Self(inner)
    }

    /// Has `metrics` show how many tasks run, and what became of the others.
    pub fn register(&self, metrics: &Metrics) {
        let (inner, counts) = (self.0.clone(), &self.0.counts);
        let limit = inner.options.max_running.get();
        let running = move || {
            let numbers = [("running", limit.saturating_sub(inner.places.available_permits())), ("limit", limit)];
            numbers.map(|(what, tasks)| (what.to_owned(), i64::try_from(tasks).unwrap_or(i64::MAX))).into()
        };
        metrics.watch("tasks", "Tasks that run at this node, and the most that may", "what", running);
        metrics.register("tasks_created", "Calls that became tasks", counts.created.clone());
        metrics.register("tasks_completed", "Tasks that ended with a result", counts.completed.clone());
        metrics.register("tasks_failed", "Tasks that ended with an error", counts.failed.clone());
    }

    /// Resolves when no task runs here.
    pub async fn emptied(&self) {
        self.0.table.emptied().await;
    }

    /// Fails whatever still runs here, because the node stops.
    pub async fn give_up(&self) {
        let stopped = failure(&Status::unavailable("the node that ran it has stopped"));
        let inner = &self.0;
        let giving_up = inner.table.running().into_iter().map(|(id, _)| {
            inner.table.stop(&id);
            let stopped = &stopped;
            async move {
                warn!(task = %id, "a task is given up, for its node stops");
                if let Ok(Some(task)) = inner.store.finish(&id, &inner.node, stopped).await {
                    inner.announce(&id, "").await;
                    inner.counts.ended(task.status);
                }
            }
        });
        join_all(giving_up).await;
    }
}

#[tonic::async_trait]
impl Tools for TaskRunner {
    type CallStream = CallEvents;

    async fn call(&self, mut request: Request<CallToolRequest>) -> Result<Response<CallEvents>, Status> {
        let Some(terms) = request.get_ref().task else { return self.0.tools.call(request).await };
        let (call, go_on) = (request.get_ref().clone(), GoOn::default());
        request.extensions_mut().insert(go_on.clone());
        let events = self.0.tools.call(request).await?.into_inner();
        let inner = self.0.clone();
        let begun = Begun { inner, call, terms, go_on, events, stage: Stage::Offered, ready: VecDeque::new() };
        let events = stream::unfold(begun, |mut begun| async move {
            let happened = begun.next().await?;
            Some((happened, begun))
        });
        Ok(Response::new(events.boxed()))
    }
}

#[tonic::async_trait]
impl Tasks for TaskRunner {
    async fn run_on(&self, request: Request<RunOnRequest>) -> Result<Response<RunOnReply>, Status> {
        let id = TaskId(request.into_inner().task);
        let permit = self.0.permit().ok_or_else(busy)?;
        let inner = self.0.clone();
        // Ends with the store's answer. A caller that gives up leaves no claimed task without its job, which tells the
        // store whatever becomes of it.
        let claiming = tokio::spawn(async move {
            let claimed = inner.store.claim(&id, &inner.node).await.map_err(|error| away(&error))?;
            Ok::<_, Status>(claimed.map(|task| inner.run_on(task, permit)).is_some())
        });
        let claimed = claiming.await.map_err(|_| Status::internal("the claim was given up"))??;
        Ok(Response::new(RunOnReply { claimed }))
    }

    async fn stop(&self, request: Request<StopRequest>) -> Result<Response<StopReply>, Status> {
        let found = self.0.table.stop(&TaskId(request.into_inner().task));
        Ok(Response::new(StopReply { found }))
    }
}

impl Inner {
    fn permit(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// Makes a call a task of this node, and returns once that is durable. Whoever gives up waiting leaves none behind.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` where there may be no more, `UNAVAILABLE` while the store is away.
    pub async fn create(self: &Arc<Self>, call: &CallToolRequest) -> Result<(Task, OwnedSemaphorePermit), Status> {
        let permit = self.permit().ok_or_else(busy)?;
        let poll_interval_ms = u64::try_from(self.options.poll_interval.as_millis()).unwrap_or(u64::MAX);
        let (inner, kept) = (self.clone(), rounds::kept(call, poll_interval_ms));
        let (tell, created) = oneshot::channel();
        // Ends with the store's answer.
        tokio::spawn(async move {
            let id = TaskId(uuid::Uuid::new_v4().simple().to_string());
            let created = inner.store.create(&id, &kept, &inner.node, inner.options.ttl).await;
            if let Err(Ok(Some(_))) = tell.send(created) {
                // While the store is away it becomes an orphan that nobody knows of, and expires.
                _ = inner.store.cancel(&id).await;
            }
        });
        let created = created.await.map_err(|_| Status::internal("the task store gave up"))?;
        let task = created.map_err(|error| away(&error))?.ok_or_else(|| {
            Status::resource_exhausted("as many tasks as one client may have are kept already; try again later")
        })?;
        self.counts.created.inc();
        Ok((task, permit))
    }

    /// Runs a call on as a task. `first` has happened to it already.
    pub fn go_on(
        self: &Arc<Self>,
        task: Task,
        call: &CallToolRequest,
        permit: OwnedSemaphorePermit,
        events: CallEvents,
        first: Option<Happened>,
    ) {
        debug!(task = %task.id, tool = %call.name, "a call goes on as a task");
        let (inner, terms, trace) = (self.clone(), call.task.unwrap_or_default(), trace_of(call));
        self.table.spawn(&task.id.clone(), |place| {
            let until = Instant::now() + inner.options.ttl;
            let idle = (terms.idle_ms > 0).then(|| Duration::from_millis(terms.idle_ms));
            let job = Job { inner, id: task.id, round: task.round, idle, trace, place, until, _permit: permit };
            job.run(events, first)
        });
    }

    /// Calls a claimed task's tool again.
    fn run_on(self: &Arc<Self>, task: Task, permit: OwnedSemaphorePermit) {
        debug!(task = %task.id, tool = %task.call.tool, round = task.round, "a task runs on");
        let call = rounds::next(&task);
        let terms = call.as_ref().ok().and_then(|call| call.task).unwrap_or_default();
        let trace = call.as_ref().map(trace_of).unwrap_or_default();
        let inner = self.clone();
        self.table.spawn(&task.id.clone(), |place| {
            let until = Instant::now() + inner.options.ttl;
            let idle = (terms.idle_ms > 0).then(|| Duration::from_millis(terms.idle_ms));
            let job = Job {
                inner: inner.clone(),
                id: task.id.clone(),
                round: task.round,
                idle,
                trace,
                place,
                until,
                _permit: permit,
            };
            async move {
                let (events, first) = match inner.call(&task).await {
                    Ok(events) => (events, None),
                    Err(status) => (stream::empty().boxed(), Some(Err(status))),
                };
                job.run(events, first).await;
            }
        });
    }

    /// The stream of a task's next round.
    pub async fn call(&self, task: &Task) -> Result<CallEvents, Status> {
        let mut request = Request::new(rounds::next(task)?);
        // It is a task already, and may say so again.
        request.extensions_mut().insert(GoOn::default());
        Ok(self.tools.call(request).await?.into_inner())
    }

    /// Tells whoever listens that a task is not what it was. One that cannot be told now looks again by itself.
    pub async fn announce(&self, id: &TaskId, trace: &str) {
        let changed = Kind::TaskChanged(TaskChanged { task: id.0.clone() });
        let fact = Fact { producer_id: String::new(), traceparent: trace.to_owned(), kind: Some(changed) };
        if let Err(error) = self.log.append(&fact.encode_to_vec(), "").await {
            debug!(task = %id, error = &error as &dyn std::error::Error, "a task's change could not be told");
        }
    }

    /// Gives a sign of life for what runs here, and ends what should not.
    async fn beat(&self) {
        let running: HashMap<TaskId, u64> = self.table.running().into_iter().collect();
        if running.is_empty() {
            return;
        }
        let ids: Vec<TaskId> = running.keys().cloned().collect();
        match self.store.heartbeat(&self.node, &ids).await {
            Ok(still) => {
                let mut disowned = running;
                still.iter().for_each(|id| _ = disowned.remove(id));
                disowned.iter().for_each(|(id, number)| self.table.disown(id, *number));
            }
            // Nobody knows what should end, so all of it goes on.
            Err(error) => debug!(error = &error as &dyn std::error::Error, "no sign of life could be given"),
        }
    }
}

fn trace_of(call: &CallToolRequest) -> String {
    call.context.as_ref().map(|context| context.traceparent.clone()).unwrap_or_default()
}

fn busy() -> Status {
    Status::resource_exhausted("this node runs as many tasks as it may; try again shortly")
}

/// No effect was had yet, since a call that runs only does so while somebody polls it.
fn away(error: &StoreError) -> Status {
    warn!(error = error as &dyn std::error::Error, "the task store cannot be used");
    Failure::not_started("the task store is away")
}

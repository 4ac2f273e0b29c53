//! A service node of a cluster that runs tasks, and whose tools do what the test says.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};
use switchyard_bus::{BusOptions, Discovery, Health, Local};
use switchyard_proto::v1::{
    Accepted, CallEvent, CallToolRequest, NeedInput, Progress, ToolResult, call_event::Event, tools_server::Tools,
};
use switchyard_state::{Entry, EntryKind, NodeId, NodeRecord, TaskSupport, redis, testing::RedisServer};
use switchyard_tasks::{GoOn, TaskOptions, TaskRunner};
use switchyard_tests::{ModernClient, PATIENCE, eventually, within};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::{Mutex, mpsc, watch},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

/// How many calls wait for the test, and how many events of one for whoever called.
const QUEUE: usize = 256;

type Answer = BoxStream<'static, Result<CallEvent, Status>>;

/// The node. It has threads of its own, and dropping it is its death: it leaves no word.
pub struct Worker {
    runtime: Option<Runtime>,
    runs: Mutex<mpsc::Receiver<Run>>,
    taken: AtomicBool,
}

/// A call that has been taken on, held until the test says what comes of it.
pub struct Run {
    /// The client's answers: null in the first round.
    pub answers: Value,
    /// What the round before kept.
    pub state: String,
    go_on: Option<GoOn>,
    events: mpsc::Sender<Result<CallEvent, Status>>,
}

impl Worker {
    /// Starts one in the cluster around this Redis, with three tools: `slow` may run as a task, `job` always does, and
    /// `plain` never does.
    pub async fn start(redis: &RedisServer, id: &str) -> Self {
        Self::start_with(redis, id, TaskOptions::default()).await
    }

    pub async fn start_with(redis: &RedisServer, id: &str, options: TaskOptions) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (runs, held) = mpsc::channel(QUEUE);
        let (redis, id) = (redis.options("switchyard"), NodeId(id.to_owned()));
        runtime.spawn(serve(redis, id, options, runs)).await.unwrap();
        Self { runtime: Some(runtime), runs: Mutex::new(held), taken: AtomicBool::new(false) }
    }

    /// Waits until a gateway knows its tools.
    pub async fn known_to(&self, client: &ModernClient) {
        eventually("a gateway to know the worker", async || {
            let reply = client.request("tools/list", json!({})).await;
            let tools = reply.message["result"]["tools"].as_array()?;
            tools.iter().any(|tool| tool["name"] == "job").then_some(())
        })
        .await;
    }

    /// Whether the test took a call since this was asked last.
    pub fn took_another(&self) -> bool {
        self.taken.swap(false, Ordering::SeqCst)
    }

    /// The next call.
    pub async fn next_run(&self) -> Run {
        let mut runs = self.runs.lock().await;
        let run = within(PATIENCE, "a call at the worker", runs.recv()).await.expect("the worker lives");
        self.taken.store(true, Ordering::SeqCst);
        run
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.runtime.take().expect("it is dropped once").shutdown_background();
    }
}

async fn serve(redis: redis::RedisOptions, id: NodeId, options: TaskOptions, runs: mpsc::Sender<Run>) {
    let stores = redis::connect(&redis).unwrap();
    let tasks = TaskRunner::start(Arc::new(Service(runs)), &stores, id.clone(), options);
    let local = Local { tools: Some(Arc::new(tasks.clone())), tasks: Some(Arc::new(tasks)), ..Local::default() };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Both end with the runtime.
    tokio::spawn(async move {
        let options = BusOptions::default();
        switchyard_bus::serve(listener, local, Health::default(), &options, std::future::pending()).await.unwrap();
    });
    let record = NodeRecord { id, address, version: "1".into(), roles: vec!["tools".into()], entries: Vec::new() };
    let tools = [("slow", TaskSupport::Optional), ("job", TaskSupport::Required), ("plain", TaskSupport::Never)];
    let (offers, entries) = watch::channel(tools.map(|(name, tasks)| entry(name, tasks)).to_vec());
    let discovery = Discovery::start(stores.registry, stores.log, record, vec![entries]).await.unwrap();
    discovery.settled().await;
    tokio::spawn(async move {
        let _kept = (discovery, offers);
        std::future::pending::<()>().await;
    });
}

fn entry(name: &str, tasks: TaskSupport) -> Entry {
    let definition = json!({"name": name, "inputSchema": {"type": "object"}}).to_string();
    Entry {
        kind: EntryKind::Tool,
        name: name.to_owned(),
        // Equal definitions are equal offers, and that is all that a digest is for.
        digest: definition.clone(),
        definition,
        needs: String::new(),
        prefix: String::new(),
        repeatable: false,
        timeout_ms: 0,
        tasks,
    }
}

struct Service(mpsc::Sender<Run>);

#[tonic::async_trait]
impl Tools for Service {
    type CallStream = Answer;

    async fn call(&self, request: Request<CallToolRequest>) -> Result<Response<Answer>, Status> {
        let go_on = request.extensions().get().cloned();
        let call = request.into_inner();
        let (events, rest) = mpsc::channel(QUEUE);
        let answers = serde_json::from_slice(&call.input_responses_json).unwrap_or_default();
        let state = String::from_utf8(call.state.to_vec()).unwrap();
        self.0.send(Run { answers, state, go_on, events }).await.expect("the worker outlives its calls");
        let accepted = CallEvent { event: Some(Event::Accepted(Accepted {})) };
        Ok(Response::new(stream::iter([Ok(accepted)]).chain(ReceiverStream::new(rest)).boxed()))
    }
}

impl Run {
    /// Says that it is a task from here on.
    pub fn into_task(self) -> Self {
        self.go_on.as_ref().expect("it may be a task").as_task();
        self
    }

    /// Whether it might be a task at all.
    pub fn may_be_task(&self) -> bool {
        self.go_on.is_some()
    }

    /// Says how far it has come.
    pub async fn progress(&self, message: &str) {
        let progress = Progress { progress: 1.0, message: message.into(), ..Progress::default() };
        self.report(Ok(Event::Progress(progress))).await;
    }

    /// Asks the client, by key, and keeps `state` until the answers come, in a run of their own.
    pub async fn ask(self, questions: &Value, state: &str) {
        let requests_json = questions.to_string().into();
        self.report(Ok(Event::NeedInput(NeedInput { requests_json, state: state.to_owned().into() }))).await;
    }

    /// Ends with one text.
    pub async fn say(self, text: &str) {
        self.end(text, false).await;
    }

    /// Ends with one text that says why it could not be done.
    pub async fn complain(self, text: &str) {
        self.end(text, true).await;
    }

    async fn end(self, text: &str, is_error: bool) {
        let content_json = json!([{"type": "text", "text": text}]).to_string().into();
        self.report(Ok(Event::Tool(ToolResult { content_json, is_error, ..ToolResult::default() }))).await;
    }

    /// Fails in a way that is none of the tool's own.
    pub async fn break_off(self, status: Status) {
        self.report(Err(status)).await;
    }

    /// Waits until whoever called has given it up.
    pub async fn given_up(self) {
        within(PATIENCE, "a call to be given up", self.events.closed()).await;
    }

    async fn report(&self, event: Result<Event, Status>) {
        let event = event.map(|event| CallEvent { event: Some(event) });
        within(PATIENCE, "an event to be taken", self.events.send(event)).await.expect("somebody waits for the call");
    }
}

/// A question that any client with forms can answer.
pub fn form(message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

/// The answer to a [`form`].
pub fn filled_in(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

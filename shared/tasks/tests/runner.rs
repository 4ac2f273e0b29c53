//! A node's tasks, with a service whose tools do what their names say and a store in memory.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream, stream::BoxStream};
use prost::Message;
use switchyard_proto::v1::{
    Accepted, CallEvent, CallToolRequest, Context, Fact, NeedInput, Principal, Progress, RunOnRequest, StopRequest,
    TaskFailure, TaskTerms, ToolResult, call_event::Event, fact::Kind, tasks_server::Tasks, tools_server::Tools,
};
use switchyard_state::{
    NodeId, Offset, Outcome, Stores, Task, TaskId, TaskStatus, memory,
    testing::{eventually, in_time},
};
use switchyard_tasks::{GoOn, TaskOptions, TaskRunner};
use tokio::sync::Notify;
use tonic::{Code, Request, Response, Status};

type Events = BoxStream<'static, Result<CallEvent, Status>>;

/// Tools that do what their names say.
#[derive(Default)]
struct Stub {
    /// Runs that have not ended.
    running: Arc<AtomicUsize>,
    /// Lets `wait` go on.
    go: Arc<Notify>,
}

/// One run, counted until it is dropped.
struct Run(Arc<AtomicUsize>);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Stub {
    fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }
}

#[tonic::async_trait]
impl Tools for Stub {
    type CallStream = Events;

    async fn call(&self, request: Request<CallToolRequest>) -> Result<Response<Events>, Status> {
        let go_on = request.extensions().get::<GoOn>().cloned();
        let call = request.into_inner();
        if call.name == "refuse" {
            return Err(Status::invalid_argument("these arguments do not fit"));
        }
        self.running.fetch_add(1, Ordering::SeqCst);
        let (run, go) = (Run(self.running.clone()), self.go.clone());
        let answers = String::from_utf8(call.input_responses_json.to_vec()).unwrap();
        let last: BoxFuture<'static, Result<Event, Status>> = async move {
            let _run = run;
            match call.name.as_str() {
                "wait" => go.notified().await,
                "hang" => std::future::pending().await,
                "fail" => {
                    go.notified().await;
                    return Err(Status::internal("it broke"));
                }
                "ask" if answers.is_empty() => return Ok(question("name")),
                "say and ask" => {
                    go_on.unwrap().as_task();
                    if answers.is_empty() {
                        return Ok(question("name"));
                    }
                }
                "come again" if call.state.is_empty() => {
                    go_on.unwrap().as_task();
                    return Ok(Event::NeedInput(NeedInput { state: "again".into(), ..NeedInput::default() }));
                }
                _ => {}
            }
            Ok(said(&format!("{} {answers}", call.name)))
        }
        .boxed();
        let report = Progress { progress: 1.0, message: "on its way".into(), ..Progress::default() };
        let before = stream::iter([Ok(Event::Accepted(Accepted {})), Ok(Event::Progress(report))]);
        let events = before.chain(stream::once(last));
        Ok(Response::new(events.map(|event| event.map(|event| CallEvent { event: Some(event) })).boxed()))
    }
}

fn said(text: &str) -> Event {
    Event::Tool(ToolResult { content_json: text.to_owned().into(), ..ToolResult::default() })
}

fn question(key: &str) -> Event {
    let requests = format!(r#"{{"{key}":{{"method":"roots/list"}}}}"#);
    Event::NeedInput(NeedInput { requests_json: requests.into(), state: "state".into() })
}

/// A node, and what it shares with others.
struct Node {
    stub: Arc<Stub>,
    runner: TaskRunner,
    stores: Stores,
    id: NodeId,
}

impl Node {
    fn new(options: TaskOptions) -> Self {
        let limits = switchyard_state::Limits { tasks: options.limits(), ..Default::default() };
        Self::beside(&memory::stores_within(&limits), "one", options)
    }

    fn beside(stores: &Stores, id: &str, options: TaskOptions) -> Self {
        let (stub, id) = (Arc::new(Stub::default()), NodeId(id.into()));
        let runner = TaskRunner::start(stub.clone(), stores, id.clone(), options);
        Self { stub, runner, stores: stores.clone(), id }
    }

    async fn call(&self, name: &str, terms: Option<TaskTerms>) -> Events {
        in_time(self.runner.call(Request::new(call(name, terms)))).await.unwrap().into_inner()
    }

    /// The task that a call becomes.
    async fn task(&self, name: &str, terms: TaskTerms) -> TaskId {
        let mut events = self.call(name, Some(terms)).await;
        loop {
            match in_time(events.next()).await.unwrap().unwrap().event {
                Some(Event::Task(created)) => return TaskId(created.task),
                Some(Event::Accepted(_) | Event::Progress(_)) => {}
                other => panic!("{other:?} is no task"),
            }
        }
    }

    async fn load(&self, id: &TaskId) -> Task {
        self.stores.tasks.load(id).await.unwrap().unwrap()
    }

    async fn until(&self, id: &TaskId, status: TaskStatus) -> Task {
        eventually(async || Some(self.load(id).await).filter(|task| task.status == status)).await
    }

    async fn run_on(&self, id: &TaskId) -> bool {
        let request = Request::new(RunOnRequest { task: id.0.clone() });
        in_time(self.runner.run_on(request)).await.unwrap().into_inner().claimed
    }

    /// How often the log tells of a task.
    async fn told(&self, id: &TaskId) -> usize {
        let epoch = self.stores.log.position().await.unwrap().epoch;
        let batch = self.stores.log.read(&epoch, Offset(0), 100, Duration::ZERO).await.unwrap();
        let facts = batch.entries.iter().map(|entry| Fact::decode(&entry.bytes[..]).unwrap().kind.unwrap());
        facts.filter(|kind| matches!(kind, Kind::TaskChanged(changed) if changed.task == id.0)).count()
    }
}

fn call(name: &str, terms: Option<TaskTerms>) -> CallToolRequest {
    let principal = Some(Principal { id: "ann".into(), ..Principal::default() });
    let context = Some(Context { principal, ..Context::default() });
    CallToolRequest { context, name: name.into(), task: terms, ..CallToolRequest::default() }
}

/// It may become a task.
const MAY: TaskTerms = TaskTerms { at_once: false, idle_ms: 0 };

/// It is one from the beginning.
const MUST: TaskTerms = TaskTerms { at_once: true, idle_ms: 0 };

/// Calls become tasks at once.
fn eager() -> TaskOptions {
    TaskOptions { after: Duration::ZERO, ..TaskOptions::default() }
}

/// Calls never become tasks by themselves.
fn patient() -> TaskOptions {
    TaskOptions { after: Duration::from_secs(600), ..TaskOptions::default() }
}

async fn all(events: Events) -> Vec<Event> {
    in_time(events.map(|event| event.unwrap().event.unwrap()).collect()).await
}

fn result(task: &Task) -> String {
    let Some(Outcome::Result(result)) = &task.outcome else { panic!("{task:?} has no result") };
    String::from_utf8(ToolResult::decode(&result[..]).unwrap().content_json.to_vec()).unwrap()
}

fn failed(task: &Task) -> Status {
    let Some(Outcome::Error(failure)) = &task.outcome else { panic!("{task:?} has no error") };
    TaskFailure::decode(&failure[..]).unwrap().into()
}

fn answers(answers: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    answers.iter().map(|(key, json)| ((*key).to_owned(), json.as_bytes().to_vec())).collect()
}

#[tokio::test]
async fn a_call_that_may_not_become_a_task_does_not() {
    let node = Node::new(eager());
    let events = node.call("wait", None).await;

    node.stub.go.notify_one();

    assert!(matches!(&all(events).await[..], [Event::Accepted(_), Event::Progress(_), Event::Tool(_)]));
}

#[tokio::test]
async fn a_quick_call_answers_in_its_own_reply() {
    let node = Node::new(patient());

    let events = all(node.call("quick", Some(MAY)).await).await;

    assert!(matches!(&events[..], [Event::Accepted(_), Event::Progress(_), Event::Tool(_)]), "{events:?}");
}

#[tokio::test]
async fn a_slow_call_goes_on_as_a_task_that_is_there_before_anybody_is_told() {
    let node = Node::new(eager());

    let id = node.task("wait", MAY).await;

    let task = node.load(&id).await;
    assert_eq!(
        (task.status, &task.node, task.call.principal.as_str()),
        (TaskStatus::Working, &Some(node.id.clone()), "ann")
    );
    node.stub.go.notify_one();
    let ended = node.until(&id, TaskStatus::Completed).await;
    assert_eq!(result(&ended), "wait ");
    eventually(async || (node.told(&id).await > 0).then_some(())).await;
}

#[tokio::test]
async fn a_call_of_a_tool_that_is_never_anything_else_is_a_task_however_quick() {
    let node = Node::new(patient());

    let events = all(node.call("quick", Some(MUST)).await).await;

    let [Event::Accepted(_), Event::Task(created)] = &events[..] else { panic!("{events:?}") };
    node.until(&TaskId(created.task.clone()), TaskStatus::Completed).await;
}

#[tokio::test]
async fn arguments_that_do_not_fit_make_no_task() {
    let node = Node::new(eager());

    let refused = node.runner.call(Request::new(call("refuse", Some(MUST)))).await;

    assert_eq!(refused.err().unwrap().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_question_before_the_task_is_the_calls_own() {
    let node = Node::new(patient());

    let events = all(node.call("ask", Some(MAY)).await).await;

    assert!(matches!(events.last(), Some(Event::NeedInput(_))), "{events:?}");
}

#[tokio::test]
async fn a_question_in_a_task_waits_in_the_store_and_its_answer_is_taken_on_at_any_node() {
    let one = Node::new(patient());
    let two = Node::beside(&one.stores, "two", patient());
    let id = one.task("say and ask", MAY).await;
    let asking = one.until(&id, TaskStatus::InputRequired).await;
    assert_eq!((asking.requests.keys().map(String::as_str).collect::<Vec<_>>(), &asking.node), (vec!["1.name"], &None));
    assert!(!two.run_on(&id).await, "it waits for its client, and for no node");

    one.stores.tasks.answer(&id, &answers(&[("1.name", r#"{"x":1}"#)])).await.unwrap().unwrap();

    assert!(two.run_on(&id).await);
    let ended = two.until(&id, TaskStatus::Completed).await;
    assert_eq!((result(&ended).as_str(), &ended.node), (r#"say and ask {"name":{"x":1}}"#, &Some(two.id.clone())));
    assert!(!one.run_on(&id).await);
}

#[tokio::test]
async fn a_tool_that_only_wants_to_be_called_again_is() {
    let node = Node::new(patient());

    let id = node.task("come again", MAY).await;

    assert_eq!(node.until(&id, TaskStatus::Completed).await.round, 1);
}

#[tokio::test]
async fn whoever_hangs_up_before_there_is_a_task_cancels_and_afterwards_does_not() {
    let node = Node::new(patient());
    let mut events = node.call("hang", Some(MAY)).await;
    in_time(events.next()).await.unwrap().unwrap();

    drop(events);

    assert_eq!(node.stub.running(), 0);
    let id = node.task("hang", MUST).await;
    assert_eq!((node.stub.running(), node.load(&id).await.status), (1, TaskStatus::Working));
}

#[tokio::test]
async fn a_stopped_task_cancels_its_tool() {
    let node = Node::new(patient());
    let id = node.task("hang", MUST).await;
    node.stores.tasks.cancel(&id).await.unwrap().unwrap();

    let request = Request::new(StopRequest { task: id.0.clone() });
    assert!(node.runner.stop(request).await.unwrap().into_inner().found);

    in_time(node.runner.emptied()).await;
    assert_eq!(node.stub.running(), 0);
}

#[tokio::test]
async fn a_task_that_was_cancelled_while_nobody_could_tell_its_node_ends_by_itself() {
    let node = Node::new(patient());
    let id = node.task("hang", MUST).await;

    node.stores.tasks.cancel(&id).await.unwrap().unwrap();

    in_time(node.runner.emptied()).await;
    assert_eq!(node.stub.running(), 0);
}

#[tokio::test]
async fn a_task_whose_time_is_over_ends() {
    let node = Node::new(TaskOptions { ttl: Duration::from_millis(50), ..patient() });

    node.task("hang", MUST).await;

    in_time(node.runner.emptied()).await;
    assert_eq!(node.stub.running(), 0);
}

#[tokio::test]
async fn a_call_that_fails_fails_its_task() {
    let node = Node::new(eager());
    let id = node.task("fail", MAY).await;

    node.stub.go.notify_one();

    let status = failed(&node.until(&id, TaskStatus::Failed).await);
    assert_eq!((status.code(), status.message()), (Code::Internal, "it broke"));
}

#[tokio::test]
async fn a_tool_without_a_sign_of_life_fails_its_task() {
    let node = Node::new(patient());

    let id = node.task("hang", TaskTerms { idle_ms: 50, ..MUST }).await;

    let ended = node.until(&id, TaskStatus::Failed).await;
    assert_eq!(failed(&ended).code(), Code::DeadlineExceeded);
    assert_eq!(ended.message, "on its way");
    in_time(node.runner.emptied()).await;
    assert_eq!(node.stub.running(), 0);
}

#[tokio::test]
async fn a_result_that_is_too_large_to_be_kept_fails_its_task() {
    let node = Node::new(TaskOptions { max_result_bytes: NonZeroUsize::MIN, ..patient() });

    for tool in ["quick", "say and ask"] {
        let id = node.task(tool, MUST).await;
        let status = failed(&node.until(&id, TaskStatus::Failed).await);
        assert_eq!(status.code(), Code::ResourceExhausted, "{tool}");
    }
}

#[tokio::test]
async fn beyond_what_a_node_may_run_a_call_stays_as_it_is_or_is_refused() {
    let node = Node::new(TaskOptions { max_running: NonZeroUsize::MIN, ..eager() });
    node.task("hang", MUST).await;

    let may = node.call("wait", Some(MAY)).await;
    node.stub.go.notify_one();
    let must = in_time(node.call("quick", Some(MUST)).await.next()).await.unwrap();

    assert!(matches!(all(may).await.last(), Some(Event::Tool(_))));
    assert_eq!(must.unwrap_err().code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn beyond_what_one_principal_may_have_a_call_stays_as_it_is_or_is_refused() {
    let node = Node::new(TaskOptions { max_per_principal: NonZeroUsize::MIN, ..eager() });
    let id = node.task("quick", MUST).await;
    node.until(&id, TaskStatus::Completed).await;

    let may = node.call("wait", Some(MAY)).await;
    node.stub.go.notify_one();
    let must = in_time(node.call("quick", Some(MUST)).await.next()).await.unwrap();

    assert!(matches!(all(may).await.last(), Some(Event::Tool(_))));
    assert_eq!(must.unwrap_err().code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn a_node_that_stops_fails_what_it_still_runs() {
    let node = Node::new(patient());
    let id = node.task("hang", MUST).await;

    in_time(node.runner.give_up()).await;

    let ended = node.load(&id).await;
    assert_eq!((ended.status, failed(&ended).code()), (TaskStatus::Failed, Code::Unavailable));
    in_time(node.runner.emptied()).await;
    assert_eq!(node.stub.running(), 0);
}

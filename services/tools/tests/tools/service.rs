//! What the service does for any tool.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::StreamExt;
use serde_json::{Value, json};
use switchyard_proto::v1::{
    CallToolRequest, Context, Failure, Principal,
    call_event::Event,
    failure::Reason,
    tools_client::ToolsClient,
    tools_server::{Tools, ToolsServer},
};
use switchyard_telemetry::Metrics;
use switchyard_tools::{
    Annotations, Definition, LogLevel, Offered, Run, Tool, ToolError, ToolLimits, ToolOptions, ToolOutput, ToolService,
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Request, transport::Server};

use crate::caller::{LONG, call, next, offering, read, request};

/// Does what its argument `act` says.
#[derive(Default)]
struct Actor {
    /// How many runs have not been dropped.
    running: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Actor {
    fn definition(&self) -> Definition {
        Definition {
            name: "actor",
            title: "Actor",
            description: "Does as it is told.",
            input_schema: json!({"type": "object", "properties": {"act": {"type": "string"}}}),
            output_schema: json!({"type": "object", "required": ["who"]}),
            annotations: Annotations { read_only_hint: false, idempotent_hint: false, ..Annotations::read_only() },
        }
    }

    async fn run(self: Arc<Self>, mut run: Run) -> Result<ToolOutput, ToolError> {
        struct Running(Arc<AtomicUsize>);
        impl Drop for Running {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(Arc::clone(&self.running));
        match run.text("act").as_str() {
            "wait" => std::future::pending().await,
            "panic" => panic!("on purpose"),
            "fail" => Err(ToolError::Failed("there is no more paper".to_owned())),
            "break" => Err(ToolError::internal("the password is 1234")),
            "lie" => ToolOutput::structured(&json!({"not": "promised"})),
            "report" => {
                for step in 1..=3 {
                    run.reporter.progress(f64::from(step), Some(3.0), format!("step {step}"));
                }
                run.reporter.log(LogLevel::Info, "actor", &json!({"steps": 3}));
                ToolOutput::structured(&json!({"who": "reporter"}))
            }
            _ => ToolOutput::structured(&json!({"who": run.principal.map(|principal| principal.id)})),
        }
    }
}

fn actor(limits: &ToolLimits) -> (Arc<ToolService>, Arc<AtomicUsize>) {
    let actor = Actor::default();
    let running = Arc::clone(&actor.running);
    let offered = Offered::new(Arc::new(actor), Duration::from_secs(60)).unwrap();
    (Arc::new(ToolService::of(vec![offered], limits).unwrap()), running)
}

async fn act(act: &str) -> crate::caller::Call {
    call(&actor(&ToolLimits::default()).0, "actor", json!({"act": act})).await.unwrap()
}

#[tokio::test]
async fn echo_returns_what_it_was_given() {
    let service = offering(ToolOptions::named("echo"));

    for message in ["", "hello", "\"quotes\" and \\ and \u{1F600} and \u{7}\n"] {
        let echoed = call(&service, "echo", json!({"message": message})).await.unwrap();

        assert_eq!(echoed.text(), message);
        assert_eq!(echoed.structured(), json!({"message": message}));
        assert!(!echoed.result.is_error);
    }
}

#[tokio::test]
async fn a_tool_that_is_unknown_or_not_enabled_is_not_found() {
    let service = offering(ToolOptions::named("echo"));

    for name in ["listProcesses", "nope", "", "Echo"] {
        let missing = call(&service, name, json!({})).await.unwrap_err();

        assert_eq!(missing.code(), Code::NotFound);
        assert_eq!(Failure::of(&missing), Some(Reason::Unknown(name.to_owned())));
        assert_eq!(missing.message(), format!("no tool is named `{name}`"));
    }
    let long = call(&service, &"x\n".repeat(100_000), json!({})).await.unwrap_err();
    assert!(long.message().len() < 200 && !long.message().contains('\n'), "{long}");
}

#[tokio::test]
async fn arguments_are_checked_before_the_call_is_accepted() {
    let service = offering(ToolOptions::named("echo"));
    let mut wanted = request("echo", json!({"message": 7}));

    let refused = service.call(Request::new(wanted.clone())).await.err().unwrap();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let Some(Reason::Violations(violations)) = Failure::of(&refused) else { panic!("{refused:?}") };
    assert_eq!(violations.violations[0].pointer, "/message");
    assert_eq!(refused.message(), "argument `message` must be a string");

    wanted.arguments_json = "".into();
    let missing = service.call(Request::new(wanted)).await.err().unwrap();
    assert_eq!(missing.message(), "argument `message` is required");
}

#[tokio::test]
async fn reports_come_before_the_result_in_their_order() {
    let (service, _) = actor(&ToolLimits::default());
    let wanted = request("actor", json!({"act": "report"}));

    let events = service.call(Request::new(wanted)).await.unwrap().into_inner();
    let events: Vec<_> = events.map(|event| event.unwrap().event.unwrap()).collect().await;

    let names = events.iter().map(|event| match event {
        Event::Accepted(_) => "accepted".to_owned(),
        Event::Progress(report) => format!("{} of {} {}", report.progress, report.total.unwrap(), report.message),
        Event::Log(log) => format!("{} {} {}", log.level, log.logger, String::from_utf8_lossy(&log.data_json)),
        Event::Tool(_) => "result".to_owned(),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["accepted", "1 of 3 step 1", "2 of 3 step 2", "3 of 3 step 3", "info actor {\"steps\":3}", "result"]
    );
}

#[tokio::test]
async fn a_client_that_wants_to_hear_nothing_hears_nothing() {
    let (service, _) = actor(&ToolLimits::default());
    let wanted = CallToolRequest { context: None, ..request("actor", json!({"act": "report"})) };

    let events = service.call(Request::new(wanted)).await.unwrap().into_inner();

    assert_eq!(events.count().await, 2, "`accepted` and the result");
}

#[tokio::test]
async fn a_tool_learns_who_asks() {
    let (service, _) = actor(&ToolLimits::default());
    let principal = Some(Principal { id: "alice".to_owned(), roles: Vec::new() });
    let wanted = CallToolRequest {
        context: Some(Context { principal, ..Default::default() }),
        arguments_json: Default::default(),
        ..request("actor", json!({}))
    };

    let called = read(service.call(Request::new(wanted)).await.unwrap().into_inner()).await;

    assert_eq!(called.success(), json!({"who": "alice"}));
}

#[tokio::test]
async fn a_tool_that_fails_tells_why_and_one_that_breaks_does_not() {
    assert_eq!(act("fail").await.failure(), "there is no more paper");
    assert_eq!(act("break").await.failure(), "the tool could not finish its work");
    assert_eq!(act("panic").await.failure(), "the tool could not finish its work");
}

#[tokio::test]
async fn output_that_was_not_promised_is_a_failure() {
    assert_eq!(act("lie").await.failure(), "the tool's output does not fit its output schema");
}

#[tokio::test]
async fn dropping_the_stream_cancels_the_run_and_frees_its_place() {
    let (service, running) = actor(&ToolLimits { max_concurrent_calls: 1 });
    let mut events = service.call(Request::new(request("actor", json!({"act": "wait"})))).await.unwrap().into_inner();
    assert!(matches!(next(&mut events).await, Some(Event::Accepted(_))));
    assert!(futures_util::poll!(events.next()).is_pending());
    assert_eq!(running.load(Ordering::SeqCst), 1);

    let busy = call(&service, "actor", json!({})).await.unwrap_err();
    assert_eq!(busy.code(), Code::ResourceExhausted);

    drop(events);
    assert_eq!(running.load(Ordering::SeqCst), 0);
    assert!(call(&service, "actor", json!({})).await.is_ok());
}

#[tokio::test]
async fn metrics_show_how_many_calls_run_and_were_refused() {
    let (service, _) = actor(&ToolLimits { max_concurrent_calls: 1 });
    let metrics = Metrics::new();
    service.register(&metrics);
    let _events = service.call(Request::new(request("actor", json!({"act": "wait"})))).await.unwrap();
    call(&service, "actor", json!({})).await.unwrap_err();

    let text = metrics.encode();

    for line in [
        "switchyard_tool_calls{what=\"running\"} 1",
        "switchyard_tool_calls{what=\"limit\"} 1",
        "switchyard_tool_calls_started_total 1",
        "switchyard_tool_calls_refused_total 1",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[tokio::test]
async fn a_hundred_calls_at_once_are_all_answered() {
    let service = Arc::new(offering(ToolOptions::named("echo")));

    let calls = (0..100).map(|number| {
        let service = Arc::clone(&service);
        tokio::spawn(async move { call(&service, "echo", json!({"message": number.to_string()})).await })
    });

    for (number, called) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(called.unwrap().unwrap().text(), number.to_string());
    }
}

#[tokio::test]
async fn a_call_over_the_wire_goes_like_one_in_process_and_its_end_cancels_it() {
    let (service, running) = actor(&ToolLimits::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let server = Server::builder().add_service(ToolsServer::from_arc(service));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let mut client = ToolsClient::connect(format!("http://{at}")).await.unwrap();

    let called = client.call(request("actor", json!({"act": "report"}))).await.unwrap().into_inner();
    let called = read(called).await;
    assert_eq!(called.success(), json!({"who": "reporter"}));
    assert_eq!(called.progress.len(), 3);

    let refused = client.call(request("actor", json!({"act": 1}))).await.unwrap_err();
    assert!(matches!(Failure::of(&refused), Some(Reason::Violations(_))), "{refused:?}");
    let unknown = client.call(request("nope", Value::Null)).await.unwrap_err();
    assert_eq!(Failure::of(&unknown), Some(Reason::Unknown("nope".to_owned())));

    let mut waiting = client.call(request("actor", json!({"act": "wait"}))).await.unwrap().into_inner();
    assert!(matches!(next(&mut waiting).await, Some(Event::Accepted(_))));
    until(|| running.load(Ordering::SeqCst) == 1).await;
    drop(waiting);
    until(|| running.load(Ordering::SeqCst) == 0).await;
}

async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LONG, wait).await.expect("it comes to be so");
}

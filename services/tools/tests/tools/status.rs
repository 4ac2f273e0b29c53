//! `checkServiceStatus`, against real servers on this machine.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    http::{StatusCode, header::LOCATION},
    response::IntoResponse,
    routing::get,
};
use serde_json::{Value, json};
use switchyard_proto::v1::{call_event::Event, tools_server::Tools};
use switchyard_tools::{ToolOptions, ToolService};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
};
use tonic::{Code, Request};

use crate::caller::{Call, LONG, call, next, offering, read, request};

async fn serve(routes: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

fn allowing(host: impl ToString) -> ToolService {
    let allow_hosts = vec![host.to_string().parse().unwrap()];
    offering(ToolOptions { allow_hosts, ..ToolOptions::named("checkServiceStatus") })
}

async fn check(service: &ToolService, url: &str) -> Call {
    call(service, "checkServiceStatus", json!({"serviceUrl": url})).await.unwrap()
}

fn moved(to: String) -> impl IntoResponse {
    (StatusCode::FOUND, [(LOCATION, to)])
}

#[tokio::test]
async fn status_and_latency_are_told_whatever_the_status_is() {
    let routes = Router::new()
        .route("/fine", get(|| async { "fine" }))
        .route("/broken", get(|| async { StatusCode::INTERNAL_SERVER_ERROR }));
    let at = serve(routes).await;

    for (path, status) in [("fine", 200), ("broken", 500), ("missing", 404)] {
        let checked = check(&allowing(at), &format!("http://{at}/{path}")).await.success();

        assert_eq!(checked["reachable"], true);
        assert_eq!(checked["statusCode"], status);
        assert_eq!(checked["finalUrl"], format!("http://{at}/{path}"));
        assert!(checked["latencyMs"].as_f64().unwrap() > 0.0, "{checked}");
    }
}

#[tokio::test]
async fn redirects_are_followed_to_where_they_may_lead() {
    let secret = serve(Router::new().route("/", get(|| async { "secret" }))).await;
    let loopback = format!("http://{secret}/");
    let routes = Router::new()
        .route("/", get(|| async { "here" }))
        .route("/home", get(|| async { moved("/".to_owned()) }))
        .route("/metadata", get(|| async { moved("http://169.254.169.254/latest/".to_owned()) }))
        .route("/loopback", get(move || async move { moved(loopback.clone()) }));
    let at = serve(routes).await;
    let service = allowing(at);

    let home = check(&service, &format!("http://{at}/home")).await.success();
    assert_eq!((&home["statusCode"], &home["finalUrl"]), (&json!(200), &json!(format!("http://{at}/"))));

    let metadata = check(&service, &format!("http://{at}/metadata")).await.failure();
    assert!(metadata.contains("169.254.169.254") && metadata.contains("allowHosts"), "{metadata}");

    let loopback = check(&service, &format!("http://{at}/loopback")).await.failure();
    assert!(loopback.contains("loopback address"), "{loopback}");
}

#[tokio::test]
async fn private_addresses_are_refused_unless_they_are_allowed_by_name() {
    let at = serve(Router::new()).await;
    let service = offering(ToolOptions::named("checkServiceStatus"));

    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "169.254.169.254", "10.0.0.1"] {
        let refused = check(&service, &format!("http://{host}:{}/", at.port())).await.failure();

        assert!(refused.contains("is refused unless the option `allowHosts` names it"), "{refused}");
    }
    check(&allowing("localhost"), &format!("http://localhost:{}/", at.port())).await.success();
}

#[tokio::test]
async fn a_closed_port_is_an_answer_too() {
    // Held by somebody who does not listen, so that nobody else does.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let at = socket.local_addr().unwrap();

    let checked = check(&allowing(at), &format!("http://{at}/")).await.success();

    assert_eq!(checked["reachable"], false);
    assert!(checked["reason"].as_str().unwrap().contains("refused"), "{checked}");
    assert!(checked.get("statusCode").is_none());
}

#[tokio::test]
async fn a_waiting_client_hears_that_it_still_waits() {
    // Answers when it is told to, once.
    let (answer, may_answer) = oneshot::channel::<()>();
    let may_answer = Arc::new(Mutex::new(Some(may_answer)));
    let slow = move || async move {
        let may_answer = may_answer.lock().unwrap().take().unwrap();
        may_answer.await.unwrap();
        "at last"
    };
    let at = serve(Router::new().route("/", get(slow))).await;
    let wanted = request("checkServiceStatus", json!({"serviceUrl": format!("http://{at}/"), "timeout": 60}));
    let mut events = allowing(at).call(Request::new(wanted)).await.unwrap().into_inner();
    assert!(matches!(next(&mut events).await, Some(Event::Accepted(_))));

    let mut last = 0.0;
    for _ in 0..2 {
        let Some(Event::Progress(report)) = next(&mut events).await else { panic!("the server has not answered") };
        assert!(report.progress > last && report.total == Some(60.0), "{report:?}");
        assert!(report.message.contains("waiting"), "{report:?}");
        last = report.progress;
    }
    answer.send(()).unwrap();

    let rest = futures_util::StreamExt::chain(accepted(), events);
    assert_eq!(read(rest).await.success()["statusCode"], 200);
}

/// A first word, in place of the one that was read already.
fn accepted() -> impl futures_util::Stream<Item = Result<switchyard_proto::v1::CallEvent, tonic::Status>> {
    let event = Some(Event::Accepted(switchyard_proto::v1::Accepted {}));
    futures_util::stream::iter([Ok(switchyard_proto::v1::CallEvent { event })])
}

#[tokio::test]
async fn the_timeout_is_an_answer_too() {
    let at = serve(Router::new().route("/", get(std::future::pending::<()>))).await;
    let arguments = json!({"serviceUrl": format!("http://{at}/"), "timeout": 1});

    let checked = call(&allowing(at), "checkServiceStatus", arguments).await.unwrap().success();

    assert_eq!(checked["reachable"], false);
    assert!(checked["latencyMs"].as_f64().unwrap() >= 1000.0, "{checked}");
    assert!(checked["reason"].as_str().unwrap().contains("did not answer in time"), "{checked}");
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection() {
    struct OnDrop(Option<oneshot::Sender<()>>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }
    let (gone, is_gone) = oneshot::channel();
    let (arrived, has_arrived) = oneshot::channel();
    let ends = Arc::new(Mutex::new(Some((arrived, OnDrop(Some(gone))))));
    let wait = move || async move {
        let (arrived, _gone) = ends.lock().unwrap().take().unwrap();
        arrived.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let at = serve(Router::new().route("/", get(wait))).await;
    let wanted = request("checkServiceStatus", json!({"serviceUrl": format!("http://{at}/"), "timeout": 60}));
    let mut events = allowing(at).call(Request::new(wanted)).await.unwrap().into_inner();
    assert!(matches!(next(&mut events).await, Some(Event::Accepted(_))));
    tokio::select! {
        event = next(&mut events) => assert!(matches!(event, Some(Event::Progress(_))), "{event:?}"),
        arrived = has_arrived => arrived.unwrap(),
    }

    drop(events);

    tokio::time::timeout(LONG, is_gone).await.expect("the server notices").unwrap();
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    let service = offering(ToolOptions::named("checkServiceStatus"));
    let url = "https://a.example/";
    let table: [(Value, &str); 10] = [
        (json!({}), "serviceUrl"),
        (json!({"serviceUrl": 7}), "serviceUrl"),
        (json!({"serviceUrl": ""}), "serviceUrl"),
        (json!({"serviceUrl": "a.example"}), "serviceUrl"),
        (json!({"serviceUrl": "ftp://a.example/"}), "serviceUrl"),
        (json!({"serviceUrl": "file:///etc/passwd"}), "serviceUrl"),
        (json!({"serviceUrl": url, "timeout": 0}), "timeout"),
        (json!({"serviceUrl": url, "timeout": 301}), "timeout"),
        (json!({"serviceUrl": url, "timeout": "10"}), "timeout"),
        (json!({"serviceUrl": url, "method": "POST"}), "method"),
    ];

    for (arguments, argument) in table {
        let refused = call(&service, "checkServiceStatus", arguments.clone()).await.unwrap_err();

        assert_eq!(refused.code(), Code::InvalidArgument, "{arguments}");
        assert!(refused.message().contains(&format!("`{argument}`")), "{arguments}: {refused}");
    }
}

#[tokio::test]
async fn what_looks_like_a_url_and_is_none_is_a_result_that_says_so() {
    let service = offering(ToolOptions::named("checkServiceStatus"));

    let credentials = check(&service, "http://user:password@a.example/").await.failure();
    assert!(credentials.contains("must not contain a user name or password"), "{credentials}");

    let no_port = check(&service, "http://a.example:99999/").await.failure();
    assert!(no_port.contains("`serviceUrl`"), "{no_port}");
}

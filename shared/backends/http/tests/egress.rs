//! Requests to real servers on this machine, which are private addresses and so need to be allowed.
#![allow(clippy::unwrap_used)]

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::Path,
    http::{StatusCode, header::LOCATION},
    response::IntoResponse,
    routing::get,
};
use switchyard_http::{AddressKind, Egress, EgressError, EgressOptions, Lookup};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
};
use url::Url;

const LONG: Duration = Duration::from_secs(30);

async fn serve(routes: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

fn options(allow: &[String]) -> EgressOptions {
    EgressOptions { allow_hosts: allow.iter().map(|host| host.parse().unwrap()).collect(), ..Default::default() }
}

fn url(text: &str) -> Url {
    text.parse().unwrap()
}

fn moved(to: String) -> impl IntoResponse {
    (StatusCode::FOUND, [(LOCATION, to)])
}

/// Every name has the next of these addresses each time it is asked for, and at last the last one.
struct Answers(Vec<&'static str>, AtomicUsize);

impl Answers {
    fn new(answers: impl Into<Vec<&'static str>>) -> Arc<Self> {
        Arc::new(Self(answers.into(), AtomicUsize::new(0)))
    }
}

impl Lookup for Answers {
    fn addresses(&self, _: &str) -> switchyard_http::Addresses {
        let turn = self.1.fetch_add(1, Ordering::SeqCst).min(self.0.len() - 1);
        let answer: io::Result<Vec<IpAddr>> = Ok(self.0[turn].split(' ').map(|ip| ip.parse().unwrap()).collect());
        Box::pin(async { answer })
    }
}

#[tokio::test]
async fn a_host_that_is_allowed_by_name_is_asked() {
    let at = serve(Router::new().route("/", get(|| async { "hello" }))).await;
    let egress = Egress::new(&options(&[at.to_string()])).unwrap();

    let answer = egress.get(&url(&format!("http://{at}/")), LONG).await.unwrap();

    assert_eq!(answer.status(), 200);
    assert_eq!(answer.body().await.unwrap(), b"hello");
}

#[tokio::test]
async fn a_private_address_is_refused_however_it_is_written() {
    let at = serve(Router::new()).await;
    let egress = Egress::new(&options(&[])).unwrap();
    let port = at.port();

    for host in ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "[::ffff:127.0.0.1]", "localhost"] {
        let refused = egress.get(&url(&format!("http://{host}:{port}/")), LONG).await.unwrap_err();

        assert!(matches!(refused, EgressError::Refused { kind: AddressKind::Loopback, .. }), "{host}: {refused}");
        assert!(refused.to_string().contains("allowHosts"), "{refused}");
    }
    for (host, kind) in [
        ("169.254.169.254", AddressKind::Metadata),
        ("[fd00:ec2::254]", AddressKind::Metadata),
        ("10.0.0.1", AddressKind::Private),
        ("[fe80::1]", AddressKind::LinkLocal),
        ("0.0.0.0", AddressKind::Unspecified),
    ] {
        let refused = egress.get(&url(&format!("http://{host}/")), LONG).await.unwrap_err();

        assert!(matches!(refused, EgressError::Refused { kind: found, .. } if found == kind), "{host}: {refused}");
    }
}

#[tokio::test]
async fn one_allowed_port_does_not_open_the_others() {
    let allowed = serve(Router::new().route("/", get(|| async { "hello" }))).await;
    let other = serve(Router::new().route("/", get(|| async { "secret" }))).await;
    let egress = Egress::new(&options(&[format!("localhost:{}", allowed.port())])).unwrap();

    assert!(egress.get(&url(&format!("http://localhost:{}/", allowed.port())), LONG).await.is_ok());

    let refused = egress.get(&url(&format!("http://localhost:{}/", other.port())), LONG).await.unwrap_err();
    assert!(matches!(refused, EgressError::Refused { .. }), "{refused}");
}

#[tokio::test]
async fn a_redirect_into_a_private_network_is_refused() {
    let secret = serve(Router::new().route("/", get(|| async { "secret" }))).await;
    let to_loopback = format!("http://{secret}/");
    let routes = Router::new()
        .route("/metadata", get(|| async { moved("http://169.254.169.254/latest/meta-data/".to_owned()) }))
        .route("/loopback", get(move || async move { moved(to_loopback.clone()) }))
        .route("/file", get(|| async { moved("file:///etc/passwd".to_owned()) }))
        .route("/login", get(|| async { moved("http://user:secret@example.com/".to_owned()) }));
    let at = serve(routes).await;
    let egress = Egress::new(&options(&[at.to_string()])).unwrap();
    let get = async |path: &str| egress.get(&url(&format!("http://{at}{path}")), LONG).await.unwrap_err();

    assert!(matches!(get("/metadata").await, EgressError::Refused { kind: AddressKind::Metadata, .. }));
    assert!(matches!(get("/loopback").await, EgressError::Refused { kind: AddressKind::Loopback, .. }));
    assert!(matches!(get("/file").await, EgressError::Scheme { scheme } if scheme == "file"));
    assert!(matches!(get("/login").await, EgressError::Credentials { .. }));
}

#[tokio::test]
async fn redirects_are_followed_a_few_times() {
    async fn hop(Path(left): Path<usize>) -> impl IntoResponse {
        match left {
            0 => "arrived".into_response(),
            _ => moved(format!("/hop/{}", left - 1)).into_response(),
        }
    }
    let at = serve(Router::new().route("/hop/{left}", get(hop))).await;
    let egress = Egress::new(&options(&[at.to_string()])).unwrap();

    let answer = egress.get(&url(&format!("http://{at}/hop/5")), LONG).await.unwrap();
    assert_eq!(answer.url().path(), "/hop/0");
    assert_eq!(answer.body().await.unwrap(), b"arrived");

    let refused = egress.get(&url(&format!("http://{at}/hop/6")), LONG).await.unwrap_err();
    assert!(matches!(refused, EgressError::TooManyRedirects { limit: 5, .. }), "{refused}");
}

#[tokio::test]
async fn a_redirect_to_nowhere_is_an_answer() {
    let at = serve(Router::new().route("/", get(|| async { StatusCode::FOUND }))).await;
    let egress = Egress::new(&options(&[at.to_string()])).unwrap();

    let answer = egress.get(&url(&format!("http://{at}/")), LONG).await.unwrap();

    assert_eq!(answer.status(), 302);
}

#[tokio::test]
async fn a_name_that_points_into_a_private_network_is_refused_each_time() {
    let at = serve(Router::new().route("/", get(|| async { "secret" }))).await;
    let lookup = Answers::new(["10.0.0.1 127.0.0.1", "127.0.0.1"]);
    let egress = Egress::with_lookup(&options(&[]), Arc::clone(&lookup) as _).unwrap();
    let rebinding = url(&format!("http://rebinding.example:{}/", at.port()));

    for kind in [AddressKind::Private, AddressKind::Loopback] {
        let refused = egress.get(&rebinding, LONG).await.unwrap_err();

        assert!(matches!(refused, EgressError::Refused { kind: found, .. } if found == kind), "{refused}");
    }
    assert_eq!(lookup.1.load(Ordering::SeqCst), 2, "every request resolves its name again");
}

#[tokio::test]
async fn a_redirect_to_a_name_that_points_into_a_private_network_is_refused() {
    let at = serve(Router::new().route("/", get(|| async { moved("http://rebinding.example/".to_owned()) }))).await;
    let egress = Egress::with_lookup(&options(&[at.to_string()]), Answers::new(["127.0.0.1"])).unwrap();

    let refused = egress.get(&url(&format!("http://{at}/")), LONG).await.unwrap_err();

    assert!(matches!(refused, EgressError::Refused { ref host, .. } if host == "rebinding.example"), "{refused}");
}

#[tokio::test]
async fn a_name_may_point_anywhere_when_it_is_allowed() {
    let at = serve(Router::new().route("/", get(|| async { "hello" }))).await;
    let allowed = options(&["*.internal.example".to_owned()]);
    let egress = Egress::with_lookup(&allowed, Answers::new(["127.0.0.1"])).unwrap();

    assert!(egress.get(&url(&format!("http://db.internal.example:{}/", at.port())), LONG).await.is_ok());

    let refused = egress.get(&url(&format!("http://db.other.example:{}/", at.port())), LONG).await.unwrap_err();
    assert!(matches!(refused, EgressError::Refused { .. }), "{refused}");
}

#[tokio::test]
async fn a_name_without_an_address_is_told_from_a_refused_one() {
    struct Nothing;
    impl Lookup for Nothing {
        fn addresses(&self, _: &str) -> switchyard_http::Addresses {
            Box::pin(async { Err(io::Error::other("no such name")) })
        }
    }
    let egress = Egress::with_lookup(&options(&[]), Arc::new(Nothing)).unwrap();

    let error = egress.get(&url("http://nowhere.example/"), LONG).await.unwrap_err();

    assert!(matches!(error, EgressError::Unresolved { .. }), "{error}");
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    // Held by somebody who does not listen, so that nobody else does.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let at = socket.local_addr().unwrap();
    let egress = Egress::new(&options(&[at.to_string()])).unwrap();

    let error = egress.get(&url(&format!("http://{at}/?key=secret")), LONG).await.unwrap_err();

    assert!(matches!(error, EgressError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("refused") && !format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn what_is_no_http_is_broken() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::io::AsyncWriteExt::write_all(&mut stream, b"SSH-2.0-OpenSSH_9.9\r\n").await.unwrap();
        }
    });
    let egress = Egress::new(&options(&[at.to_string()])).unwrap();

    let error = egress.get(&url(&format!("http://{at}/")), LONG).await.unwrap_err();
    assert!(matches!(error, EgressError::Broken { .. }), "{error}");

    let error = egress.get(&url(&format!("https://{at}/")), LONG).await.unwrap_err();
    assert!(matches!(error, EgressError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn the_deadline_ends_a_silent_request() {
    let at = serve(Router::new().route("/", get(std::future::pending::<()>))).await;
    let egress = Egress::new(&options(&[at.to_string()])).unwrap();

    let error = egress.get(&url(&format!("http://{at}/")), Duration::from_millis(50)).await.unwrap_err();

    assert!(matches!(error, EgressError::Late { .. }), "{error}");
}

#[tokio::test]
async fn a_large_body_is_not_read_to_its_end() {
    let at = serve(Router::new().route("/", get(|| async { "x".repeat(1000) }))).await;
    let egress = Egress::new(&EgressOptions { max_body_bytes: 999, ..options(&[at.to_string()]) }).unwrap();

    let answer = egress.get(&url(&format!("http://{at}/")), LONG).await.unwrap();

    assert!(matches!(answer.body().await, Err(EgressError::TooLarge { limit: 999, .. })));
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    struct OnDrop(Option<oneshot::Sender<()>>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }
    let (gone, is_gone) = oneshot::channel();
    let (arrived, has_arrived) = oneshot::channel();
    let ends = Arc::new(std::sync::Mutex::new(Some((arrived, OnDrop(Some(gone))))));
    let wait = move || async move {
        let (arrived, _gone) = ends.lock().unwrap().take().unwrap();
        arrived.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let at = serve(Router::new().route("/", get(wait))).await;
    let egress = Egress::new(&options(&[at.to_string()])).unwrap();
    let url = url(&format!("http://{at}/"));

    tokio::select! {
        _ = egress.get(&url, LONG) => panic!("the server does not answer"),
        arrived = has_arrived => arrived.unwrap(),
    }

    tokio::time::timeout(LONG, is_gone).await.expect("the server notices").unwrap();
}

#[tokio::test]
async fn a_proxy_named_in_the_environment_is_not_used() {
    // Only ever set to where nobody listens, so no other test of this process can be led astray by it.
    let at = serve(Router::new().route("/", get(|| async { "direct" }))).await;
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_host_that_is_allowed_by_name_is_asked"])
        .envs(["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"].map(|name| (name, format!("http://{at}"))))
        .output()
        .unwrap();

    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

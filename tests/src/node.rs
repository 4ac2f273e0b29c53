//! One `switchyard` process.
//!
//! It is ready to serve when [`NodeOptions::start`](crate::NodeOptions::start) returns, and is killed when its [`Node`]
//! goes; when that happens in a failing test, what it wrote to standard error is shown.

use std::net::SocketAddr;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;
use tonic::transport::Channel;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use crate::{Endpoint, Folder, NodeOptions, PATIENCE, Request, Response, output::Output, within};

/// The most of a node's log that a failing test shows, in bytes.
const TAIL: usize = 8 * 1024;

/// How a process ended.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// A running process.
#[derive(Debug)]
pub struct Node {
    child: Child,
    stdout: Output,
    stderr: Output,
    mcp: Option<Endpoint>,
    admin: Option<SocketAddr>,
    bus: Option<SocketAddr>,
    tcp: Option<SocketAddr>,
    _config: Option<Folder>,
}

impl Node {
    /// The main job: all roles in one process, serving `folder`.
    pub async fn serve(folder: &Folder) -> Self {
        NodeOptions::serve(folder).start().await
    }

    pub(crate) async fn new(mut child: Child, config: Option<Folder>) -> Self {
        let stdout = Output::read(child.stdout.take().expect("it is piped"));
        let stderr = Output::read(child.stderr.take().expect("it is piped"));
        let mut node = Self { child, stdout, stderr, mcp: None, admin: None, bus: None, tcp: None, _config: config };
        node.wait_until_ready().await;
        node
    }

    async fn wait_until_ready(&mut self) {
        let ready = async {
            loop {
                let has_ended = self.child.try_wait().expect("a child can be asked").is_some();
                let log = self.stderr.text();
                if log.lines().any(|line| line.trim_end().ends_with("ready")) {
                    return log;
                }
                assert!(!has_ended, "the node ended before it was ready:\n{log}\n{}", self.stdout.text());
                self.stderr.more().await;
            }
        };
        let log = within(PATIENCE, "a node to become ready", ready).await;
        let listener = |name: &str| {
            let start = log.find(&format!("listening {name}="))? + "listening =".len() + name.len();
            log[start..].split_whitespace().next().map(str::to_owned)
        };
        self.mcp = listener("clients").map(|url| Endpoint::parse(&url));
        self.admin = listener("admin").map(|url| Endpoint::parse(&url).address);
        self.tcp = listener("tcp").map(|address| address.parse().expect("the socket has an address"));
        self.bus = listener("bus").map(|address| address.parse().expect("the bus has an address"));
    }

    /// Where clients connect.
    ///
    /// # Panics
    /// When this node is no gateway.
    pub fn mcp(&self) -> Endpoint {
        self.mcp.clone().expect("the node is a gateway")
    }

    /// Where the cluster connects, for a member of one.
    pub fn bus(&self) -> Option<SocketAddr> {
        self.bus
    }

    /// Where clients of plain TCP connect.
    ///
    /// # Panics
    /// When there is no such place.
    pub fn tcp(&self) -> SocketAddr {
        self.tcp.expect("the node was started with `--listen-tcp`")
    }

    /// What the admin listener answers at `path`.
    pub async fn admin(&self, path: &str) -> Response {
        Request::new(self.admin.expect("every node has one"), "GET", path).send().await
    }

    /// Whether `grpc.health.v1` says that it serves.
    ///
    /// # Panics
    /// When it does not answer.
    pub async fn is_serving(&self) -> bool {
        let url = format!("http://{}", self.admin.expect("every node has one"));
        let ask = async {
            let channel = Channel::from_shared(url).expect("it is a URL").connect().await.expect("it can be reached");
            let mut health = HealthClient::new(channel);
            health.check(HealthCheckRequest::default()).await.expect("it knows of its health").into_inner()
        };
        within(PATIENCE, "the health of a node", ask).await.status() == ServingStatus::Serving
    }

    /// Its name in the cluster.
    ///
    /// # Panics
    /// When it does not tell.
    pub async fn id(&self) -> String {
        let state = self.admin("/readyz").await.json().await;
        state["node"].as_str().expect("a node has a name").to_owned()
    }

    /// What it has written to standard output.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it has written to standard error.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// The memory that it occupies now, in bytes.
    ///
    /// # Panics
    /// When the system does not tell.
    pub fn memory(&self) -> usize {
        let id = self.child.id().expect("it has not been waited for");
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the system tells");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it occupies memory");
        let kibibytes: usize = line.trim().trim_end_matches(" kB").parse().expect("a number of kibibytes");
        kibibytes * 1024
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked").is_none()
    }

    /// Sends a signal, such as the one of Ctrl-C.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn signal(&self, signal: Signal) {
        let pid = self.child.id().expect("it has not been waited for");
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id is a positive number");
        kill_process(pid, signal).expect("it still runs");
    }

    /// Ends it as `kill -9` does.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it still runs");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it goes on.
    pub async fn finished(mut self) -> Finished {
        let status = within(PATIENCE * 2, "the end of a node", self.child.wait()).await.expect("it can be waited for");
        self.stdout.all().await;
        self.stderr.all().await;
        Finished { code: status.code(), stdout: self.stdout.text(), stderr: self.stderr.text() }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.stderr.text();
            let start = log.len().saturating_sub(TAIL);
            let start = (start..=log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or_default();
            eprintln!("--- a node that served {:?} wrote:\n{}", self.mcp, &log[start..]);
        }
    }
}

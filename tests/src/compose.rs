//! The composition in `docker-compose.yml`, started for real.
//!
//! Whatever a test started is taken down when its handle goes. Ports are the engine's choice and on loopback.

use std::{
    path::PathBuf,
    process::{Command as Blocking, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tokio::process::Command;

use crate::{Endpoint, Folder, ModernClient, within};

/// How long a command of the engine may take.
const COMMAND: Duration = Duration::from_secs(180);

/// How long the program in a container may take to end, in seconds: its drain and some.
const GRACE: &str = "40";

/// Asks a node for its metrics from inside its container.
const METRICS: &str =
    "exec 3<>/dev/tcp/127.0.0.1/9090; printf 'GET /metrics HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3; cat <&3";

/// A running composition.
pub struct Compose {
    /// What it serves.
    pub folder: Folder,
    project: String,
    endpoint: Endpoint,
}

impl Compose {
    /// Starts everything, and returns once a client is served through the balancer.
    ///
    /// # Panics
    /// When anything does not start.
    pub async fn up() -> Self {
        let folder = Folder::sample();
        readable_by_all(&folder);
        let mut compose = Self { folder, project: name(), endpoint: nowhere() };
        compose.run(&["up", "-d", "--no-build"]).await;
        compose.endpoint = published(&compose.run(&["port", "balancer", "3000"]).await);
        is_served(&compose.endpoint).await;
        compose
    }

    /// Where clients connect.
    pub fn mcp(&self) -> Endpoint {
        self.endpoint.clone()
    }

    /// Sets how many containers of a service there are.
    pub async fn scale(&self, services: &[(&str, usize)]) {
        let mut arguments = ["up", "-d", "--no-build", "--no-recreate"].map(str::to_owned).to_vec();
        for (service, count) in services {
            arguments.extend(["--scale".to_owned(), format!("{service}={count}")]);
        }
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        self.run(&arguments).await;
    }

    /// How many calls each tools node has served, by its own metrics.
    pub async fn tool_calls(&self) -> Vec<f64> {
        let mut counts = Vec::new();
        for container in self.run(&["ps", "-q", "tools"]).await.lines() {
            let metrics = docker(&["exec", container, "bash", "-c", METRICS]).await;
            let lines = metrics.lines().filter(|line| line.starts_with("switchyard_tool_calls_started_total"));
            counts.push(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum());
        }
        counts
    }

    /// Stops everything, and returns the exit code of each container that runs our program.
    pub async fn stop(&self) -> Vec<(String, i32)> {
        let containers = self.run(&["ps", "-q", "gateway", "tools", "resources", "prompts", "events"]).await;
        self.run(&["stop", "-t", GRACE]).await;
        let mut codes = Vec::new();
        for container in containers.lines() {
            let answer = docker(&["inspect", "-f", "{{.Name}} {{.State.ExitCode}}", container]).await;
            let (name, code) = answer.trim().rsplit_once(' ').expect("a name and a code");
            codes.push((name.to_owned(), code.parse().expect("a code is a number")));
        }
        codes
    }

    /// The services of the composition, with these options.
    pub async fn services(options: &[&str]) -> Vec<String> {
        let folder = Folder::empty();
        let mut command = compose(&name(), &folder);
        command.args(options).args(["config", "--services"]);
        output(command).await.lines().map(str::to_owned).collect()
    }

    /// One container of the image as it is, its port published.
    ///
    /// # Panics
    /// When it does not serve.
    pub async fn image_alone() -> Container {
        let id = docker(&["run", "-d", "-p", "127.0.0.1:0:3000", &image()]).await.trim().to_owned();
        let mut container = Container { id, endpoint: nowhere() };
        container.endpoint = published(&docker(&["port", &container.id, "3000"]).await);
        is_served(&container.endpoint).await;
        container
    }

    async fn run(&self, arguments: &[&str]) -> String {
        let mut command = compose(&self.project, &self.folder);
        command.args(arguments);
        output(command).await
    }
}

impl Drop for Compose {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut logs = compose(&self.project, &self.folder).into_std();
            // Shown with the failure; there is nobody else to tell when that fails too.
            let _ = logs.args(["logs", "--tail", "60"]).status();
        }
        let mut down = compose(&self.project, &self.folder).into_std();
        let _ = down.args(["down", "-v", "-t", "5"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// One container.
pub struct Container {
    id: String,
    endpoint: Endpoint,
}

impl Container {
    /// Where clients connect.
    pub fn mcp(&self) -> Endpoint {
        self.endpoint.clone()
    }

    /// The user its program runs as, as a number.
    pub async fn user(&self) -> String {
        docker(&["exec", &self.id, "id", "-u"]).await.trim().to_owned()
    }

    /// Stops it, and returns its exit code.
    ///
    /// # Panics
    /// When the engine does not tell.
    pub async fn stop(&self) -> i32 {
        docker(&["stop", "-t", GRACE, &self.id]).await;
        let code = docker(&["inspect", "-f", "{{.State.ExitCode}}", &self.id]).await;
        code.trim().parse().expect("a code is a number")
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let mut remove = Blocking::new("docker");
        // A leftover is all that a failure could leave.
        let _ = remove.args(["rm", "-f", &self.id]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Before the engine has chosen a port.
fn nowhere() -> Endpoint {
    Endpoint::parse("http://127.0.0.1:1/mcp")
}

/// The endpoint at the port of an answer such as `127.0.0.1:49153`.
fn published(answer: &str) -> Endpoint {
    let port = answer.trim().rsplit(':').next().expect("the engine names a port");
    Endpoint::parse(&format!("http://127.0.0.1:{port}/mcp"))
}

/// A project name of its own for each composition.
fn name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("switchyard-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The image under test.
fn image() -> String {
    std::env::var("SWITCHYARD_IMAGE").expect("`SWITCHYARD_IMAGE` names the image: run `tests/run compose`")
}

/// The compose program: the engine's plugin, else the program of its own.
fn compose(project: &str, folder: &Folder) -> Command {
    let plugin =
        Blocking::new("docker").args(["compose", "version"]).output().is_ok_and(|output| output.status.success());
    let mut command = Command::new(if plugin { "docker" } else { "docker-compose" });
    command.args(plugin.then_some("compose"));
    command.args(["-p", project, "-f"]).arg(root().join("docker-compose.yml"));
    command
        .env("SWITCHYARD_IMAGE", image())
        .env("SWITCHYARD_DATA", folder.path())
        .env("SWITCHYARD_PORT", "127.0.0.1:0");
    command
}

async fn docker(arguments: &[&str]) -> String {
    let mut command = Command::new("docker");
    command.args(arguments);
    output(command).await
}

/// Runs a command to its end and returns what it wrote.
///
/// # Panics
/// When it fails.
async fn output(mut command: Command) -> String {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let what = format!("{:?}", command.as_std());
    let output = within(COMMAND, &what, command.output()).await;
    let output = output.unwrap_or_else(|error| panic!("{what}: {error}: install Docker with docker-compose"));
    assert!(output.status.success(), "{what}:\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until everything is offered there.
async fn is_served(endpoint: &Endpoint) {
    within(Duration::from_secs(120), "the nodes to find each other", async {
        let client = ModernClient::new(endpoint);
        for (method, list) in [("tools/list", "tools"), ("prompts/list", "prompts"), ("resources/list", "resources")] {
            loop {
                let request = client.post(&serde_json::json!(1), method, serde_json::json!({}));
                let response = request.try_send().await;
                if let Some(response) = response.filter(|response| response.status == 200) {
                    let entries = &response.json().await["result"][list];
                    if entries.as_array().is_some_and(|entries| !entries.is_empty()) {
                        break;
                    }
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    })
    .await;
}

/// The program in a container is another user, who must be able to read the folder.
fn readable_by_all(folder: &Folder) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("the folder is ours");
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("tests are in the workspace").to_owned()
}

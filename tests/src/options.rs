//! How a `switchyard` process is started: as a person would, with ports that the system chooses.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tokio::process::Command;

use crate::{Finished, Folder, Node, PATIENCE, within};

/// The program under test: `SWITCHYARD_BIN`, else the one that cargo built beside this test.
///
/// # Panics
/// When it has not been built.
pub fn switchyard() -> PathBuf {
    let named = std::env::var_os("SWITCHYARD_BIN").map(PathBuf::from);
    let program = named.unwrap_or_else(|| {
        let test = std::env::current_exe().expect("a process has a program");
        let folder = test.ancestors().nth(2).expect("cargo puts tests into target/PROFILE/deps");
        folder.join("switchyard")
    });
    assert!(program.is_file(), "{} does not exist: run `cargo build -p switchyard` first", program.display());
    program
}

/// A command of `switchyard` that has yet to be run. Nothing of this process's configuration reaches it.
#[derive(Debug)]
pub struct NodeOptions {
    command: Command,
    config: Option<Folder>,
}

impl NodeOptions {
    /// `switchyard ARGUMENTS`, in `folder`.
    pub fn new(folder: impl AsRef<Path>, arguments: &[&str]) -> Self {
        let mut command = Command::new(switchyard());
        for (name, _) in std::env::vars() {
            if name.starts_with("SWITCHYARD_") || name.starts_with("OTEL_") || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, config: None }
    }

    /// `switchyard serve` with ports that the system chooses.
    pub fn serve(folder: impl AsRef<Path>) -> Self {
        Self::new(folder, &["serve", "--port", "0", "--admin-listen", "127.0.0.1:0"])
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Serves with this configuration file.
    #[must_use]
    pub fn config(mut self, config: &Value) -> Self {
        let folder = Folder::empty();
        folder.write("config.json", config.to_string());
        self.command.arg("--config").arg(folder.path().join("config.json"));
        self.config = Some(folder);
        self
    }

    /// Makes it a member of the cluster around this Redis, with one role.
    #[must_use]
    pub fn member(self, redis: &str, role: &str) -> Self {
        self.arguments(&["--redis", redis, "--bus-listen", "127.0.0.1:0", "--role", role])
    }

    /// Starts it, and returns once it is ready to serve.
    ///
    /// # Panics
    /// When it ends before that, or takes too long.
    pub async fn start(mut self) -> Node {
        let child = self.command.spawn().expect("the program can be started");
        Node::new(child, self.config).await
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn run(mut self) -> Finished {
        let ended = within(PATIENCE, "the end of a command", self.command.output()).await;
        let output = ended.expect("the program can be started");
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The command itself, for those who talk to its standard input.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }
}

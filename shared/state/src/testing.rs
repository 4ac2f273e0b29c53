//! What tests need: a real Redis, and a way to wait for things.

use std::{
    io,
    num::NonZeroU64,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use redis::{Client, RedisResult, Value};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use crate::redis::RedisOptions;

/// Longer than anything takes, on a machine that is busy with other things too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running `redis-server` with a directory, a Unix socket and data of its own, killed when dropped. It saves
/// nothing, so what it held is lost when it stops.
pub struct RedisServer {
    directory: TempDir,
    process: Option<Child>,
}

impl RedisServer {
    /// Starts a server and waits until it answers.
    ///
    /// # Panics
    /// When `redis-server` is not installed, or does not start.
    pub async fn start() -> Self {
        let directory = TempDir::with_prefix("redis-").expect("a temporary directory can be made");
        let mut server = Self { directory, process: None };
        server.restart().await;
        server
    }

    /// What a client connects to.
    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Options for the cluster `name` on this server, which does not count as away because the machine is busy.
    pub fn options(&self, name: &str) -> RedisOptions {
        let timeout_ms = NonZeroU64::new(30_000).expect("not zero");
        RedisOptions { url: self.url(), cluster: name.into(), timeout_ms, ..RedisOptions::default() }
    }

    /// Sends one command, such as `["FLUSHALL"]`, on a connection of its own.
    ///
    /// # Panics
    /// When the server does not answer it within a minute, or refuses it.
    pub async fn command(&self, words: &[&str]) -> Value {
        let answer = timeout(PATIENCE, self.ask(words)).await;
        answer.expect("the server answers").expect("the server takes the command")
    }

    /// Freezes the server: it accepts connections, for the system does that, and answers nothing.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills the server. Connections end, and new ones are refused.
    pub fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // Either fails only when it has ended by itself.
        let _ = process.kill();
        let _ = process.wait();
    }

    /// Starts the server again, empty, at the same place.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub async fn restart(&mut self) {
        self.stop();
        self.process = Some(self.spawn());
        let deadline = Instant::now() + PATIENCE;
        while !matches!(timeout(PATIENCE, self.ask(&["PING"])).await, Ok(Ok(_))) {
            let ended = self.process.as_mut().and_then(|process| process.try_wait().ok()).flatten();
            assert!(ended.is_none() && Instant::now() < deadline, "redis-server did not start:\n{}", self.output());
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn spawn(&self) -> Child {
        let mut command = Command::new("redis-server");
        // No port, nothing saved.
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no"]);
        command.arg("--dir").arg(self.directory.path()).arg("--unixsocket").arg(self.socket());
        command.arg("--logfile").arg(self.log_file());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(process) => process,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                panic!("`redis-server` is not on the PATH: install Redis 7.0 or newer (`apt install redis-server`)")
            }
            Err(error) => panic!("`redis-server` could not be started: {error}"),
        }
    }

    async fn ask(&self, words: &[&str]) -> RedisResult<Value> {
        let mut connection = Client::open(self.url())?.get_multiplexed_async_connection().await?;
        let (name, arguments) = words.split_first().expect("a command has a name");
        redis::cmd(name).arg(arguments).query_async(&mut connection).await
    }

    fn signal(&self, signal: Signal) {
        let process = self.process.as_ref().expect("the server runs");
        kill_process(Pid::from_child(process), signal).expect("it is our own child and not waited for");
    }

    fn output(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("redis.sock")
    }

    fn log_file(&self) -> PathBuf {
        self.directory.path().join("redis.log")
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Repeats a step until it returns something.
///
/// # Panics
/// When it has not after a minute.
pub async fn eventually<T>(mut step: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(result) = step().await {
            return result;
        }
        assert!(Instant::now() < deadline, "what was waited for did not happen");
        sleep(Duration::from_millis(10)).await;
    }
}

/// What a future returns.
///
/// # Panics
/// When it has not after a minute.
pub async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("what was waited for happens")
}

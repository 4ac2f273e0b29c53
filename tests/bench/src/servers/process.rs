//! A server process: pinned where servers run, listened to until it is ready, ended when dropped.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use nix::{time::ClockId, unistd::Pid};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    sync::watch,
    time::timeout,
};

use crate::{cores::Cores, error::BenchError};

/// How long a server may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// How many of its last lines are kept for an error message.
const LAST_LINES: usize = 12;

/// A running server. Dropping it kills it.
pub struct Process {
    name: String,
    /// Kills the process when it is dropped.
    _child: Child,
    pid: Pid,
    said: watch::Receiver<Said>,
    last: Arc<Mutex<VecDeque<String>>>,
}

/// What a server has told of itself so far.
#[derive(Clone, Default)]
struct Said {
    addresses: Vec<(String, String)>,
    ready: bool,
}

impl Process {
    /// Starts `command` on the servers' core and waits until it says a line with `ready_word`, on whichever stream
    /// it logs to.
    pub async fn start(
        name: &str,
        mut command: Command,
        ready_word: &'static str,
        hint: &'static str,
        cores: Cores,
    ) -> Result<Self, BenchError> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let spawned = cores.on_servers(|| command.spawn())?;
        let mut child = spawned.map_err(|source| BenchError::Start { program, hint, source })?;

        let pid =
            child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw).expect("it was not waited for yet");
        let (saying, said) = watch::channel(Said::default());
        let saying = Arc::new(saying);
        let last = Arc::default();
        // Both end with the process, whose output they drain so that it never blocks.
        tokio::spawn(listen(child.stdout.take(), ready_word, saying.clone(), Arc::clone(&last)));
        tokio::spawn(listen(child.stderr.take(), ready_word, saying, Arc::clone(&last)));

        let mut process = Self { name: name.to_owned(), _child: child, pid, said, last };
        process.until_ready().await?;
        Ok(process)
    }

    async fn until_ready(&mut self) -> Result<(), BenchError> {
        let waited = timeout(READY_WITHIN, self.said.wait_for(|said| said.ready)).await;
        // Nobody is left to say anything once the process has closed its output.
        match waited.map(|said| said.is_ok()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.died()),
            Err(_) => Err(BenchError::NotReady {
                process: self.name.clone(),
                limit: READY_WITHIN,
                last_words: self.last_words(),
            }),
        }
    }

    /// Where it listens for `what`: `clients`, `admin` or `bus`.
    pub fn address(&self, what: &'static str) -> Result<SocketAddr, BenchError> {
        let said = self.said.borrow();
        let address = said.addresses.iter().find(|(name, _)| name == what);
        let address = address.and_then(|(_, url)| socket_address(url));
        address.ok_or_else(|| BenchError::NoAddress { process: self.name.clone(), what })
    }

    /// The CPU time that it has used since it began, on all its threads, those that ended too.
    pub fn cpu(&self) -> Result<Duration, BenchError> {
        // Its output has closed, while its clock can be read until it is reaped.
        if self.said.has_changed().is_err() {
            return Err(self.died());
        }
        let used = ClockId::pid_cpu_clock_id(self.pid).and_then(ClockId::now).map_err(io::Error::from);
        used.map(Duration::from).map_err(|source| self.unreadable(source))
    }

    /// The memory that it holds now, in bytes.
    pub fn resident(&self) -> Result<u64, BenchError> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid));
        let status = status.map_err(|source| self.unreadable(source))?;
        let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = kibibytes.and_then(|value| value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        Ok(kibibytes.unwrap_or_default() * 1024)
    }

    fn died(&self) -> BenchError {
        BenchError::Died { process: self.name.clone(), last_words: self.last_words() }
    }

    fn last_words(&self) -> String {
        let last = self.last.lock().expect("nothing panics while holding it");
        last.iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
    }

    fn unreadable(&self, source: io::Error) -> BenchError {
        BenchError::Usage { process: self.name.clone(), source }
    }
}

/// Notes what a process says until it closes the stream.
async fn listen(
    stream: Option<impl AsyncRead + Unpin>,
    ready_word: &str,
    saying: Arc<watch::Sender<Said>>,
    last: Arc<Mutex<VecDeque<String>>>,
) {
    let Some(stream) = stream else { return };
    let mut lines = BufReader::new(stream).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        saying.send_modify(|said| {
            said.addresses.extend(announced(&line));
            said.ready |= line.contains(ready_word);
        });
        let mut last = last.lock().expect("nothing panics while holding it");
        if last.len() == LAST_LINES {
            last.pop_front();
        }
        last.push_back(line);
    }
}

/// The `what=address` pairs of a line that announces where a server listens.
fn announced(line: &str) -> Vec<(String, String)> {
    let Some((_, pairs)) = line.split_once("listening ") else { return Vec::new() };
    pairs
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .map(|(what, at)| (what.into(), at.into()))
        .collect()
}

/// The socket address in a URL or in what is one already.
fn socket_address(url: &str) -> Option<SocketAddr> {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    authority.split('/').next()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_is_found_within_a_log_line() {
        let line = "2026-01-01T00:00:00Z INFO listening clients=http://127.0.0.1:4711/mcp admin=127.0.0.1:4712";

        let pairs = announced(line);

        assert_eq!(pairs[0].0, "clients");
        assert_eq!(socket_address(&pairs[0].1), Some(([127, 0, 0, 1], 4711).into()));
        assert_eq!(socket_address(&pairs[1].1), Some(([127, 0, 0, 1], 4712).into()));
        assert!(announced("ready").is_empty());
    }

    #[tokio::test]
    async fn a_process_that_ends_before_it_is_ready_tells_its_last_words() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo the port is taken >&2; exit 1"]);

        let started = Process::start("shell", command, "ready", "", Cores { servers: 0, load: 0 }).await;

        let Err(BenchError::Died { last_words, .. }) = started else { panic!("it is not running") };
        assert_eq!(last_words, "the port is taken");
    }

    #[tokio::test]
    async fn a_ready_process_tells_its_address_and_what_it_uses() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo listening clients=http://127.0.0.1:9/mcp; echo ready; exec sleep 60"]);

        let process = Process::start("shell", command, "ready", "", Cores { servers: 0, load: 0 }).await.unwrap();

        assert_eq!(process.address("clients").unwrap(), ([127, 0, 0, 1], 9).into());
        assert!(matches!(process.address("bus"), Err(BenchError::NoAddress { .. })));
        assert!(process.cpu().unwrap() > Duration::ZERO);
        assert!(process.resident().unwrap() > 0);
    }

    #[tokio::test]
    async fn a_dropped_process_is_killed() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo ready; exec sleep 60"]);
        let process = Process::start("shell", command, "ready", "", Cores { servers: 0, load: 0 }).await.unwrap();
        let (mut said, pid) = (process.said.clone(), process.pid);

        drop(process);

        // Its output closes when it is gone, and its name with it.
        while said.changed().await.is_ok() {}
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!command.contains("sleep"), "{command}");
    }
}

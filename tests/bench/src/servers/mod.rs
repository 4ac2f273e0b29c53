//! The servers of each contender: how they are started and how they are found.

mod build;
mod ours;
mod process;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{process::Command, time};

pub use self::build::server_binary;
use self::process::Process;
use crate::{
    client::Client,
    contender::{Contender, Era},
    cores::Cores,
    error::{BenchError, CallError},
};

/// How long a contender may take from ready to its first correct answer: the nodes of a cluster find each other.
const FIRST_ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// How long to wait before asking again.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// How long one answer may take while the servers are being started.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What a server says once it serves.
const READY: &str = "ready";

/// Says on stderr where this process listens, as the product does, and that it is ready.
pub fn announce(what: &str, address: SocketAddr) {
    eprintln!("listening {what}={address}");
    eprintln!("{READY}");
}

/// A contender that answers. Dropping it ends its processes.
pub struct Servers {
    pub contender: Contender,
    pub clients: SocketAddr,
    /// What its CPU time per request is summed over.
    processes: Vec<Process>,
    redis: Option<Process>,
}

/// What a contender has used since its processes began.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub servers: Duration,
    /// `None` for contenders without a Redis.
    pub redis: Option<Duration>,
}

impl Servers {
    /// Starts a contender and waits until it has given a correct answer. `binary` is ours; `folder` is empty and
    /// outlives it.
    pub async fn start(contender: Contender, binary: &Path, folder: &Path, cores: Cores) -> Result<Self, BenchError> {
        let mut servers = match contender {
            Contender::FloorWeb => Self::alone(contender, floor("web", None)?, cores).await?,
            Contender::FloorHopUnary | Contender::FloorHopStream => Self::floor_with_hop(contender, cores).await?,
            Contender::RmcpModern | Contender::RmcpLegacy => {
                Self::alone(contender, this_program(&["serve-peer"])?, cores).await?
            }
            Contender::OneProcessModern | Contender::OneProcessLegacy => {
                Self::alone(contender, ours::one_process(binary, folder)?, cores).await?
            }
            Contender::BusModern | Contender::BusLegacy => {
                ours::across_the_bus(contender, binary, folder, cores).await?
            }
        };
        servers.until_first_answer().await?;
        Ok(servers)
    }

    /// A contender of one process.
    async fn alone(contender: Contender, command: Command, cores: Cores) -> Result<Self, BenchError> {
        let process = Process::start(contender.name(), command, READY, "", cores).await?;
        Ok(Self { contender, clients: process.address("clients")?, processes: vec![process], redis: None })
    }

    async fn floor_with_hop(contender: Contender, cores: Cores) -> Result<Self, BenchError> {
        let echo = Process::start("floor-echo", floor("echo", None)?, READY, "", cores).await?;
        let kind = if contender == Contender::FloorHopUnary { "hop-unary" } else { "hop-stream" };
        let web = floor(kind, Some(echo.address("bus")?))?;
        let web = Process::start(contender.name(), web, READY, "", cores).await?;
        Ok(Self { contender, clients: web.address("clients")?, processes: vec![web, echo], redis: None })
    }

    async fn until_first_answer(&mut self) -> Result<(), BenchError> {
        let started = time::Instant::now();
        loop {
            let answered = time::timeout(ANSWER_WITHIN, one_call(self.clients, self.contender.era())).await;
            let Err(source) = answered.unwrap_or(Err(CallError::Late(ANSWER_WITHIN))) else { return Ok(()) };
            if started.elapsed() > FIRST_ANSWER_WITHIN {
                let contender = self.contender.name();
                return Err(BenchError::NoFirstAnswer { contender, limit: FIRST_ANSWER_WITHIN, source });
            }
            time::sleep(ASK_AGAIN_AFTER).await;
        }
    }

    /// What it has used so far.
    pub fn usage(&self) -> Result<Usage, BenchError> {
        let servers = self.processes.iter().map(Process::cpu).sum::<Result<Duration, BenchError>>()?;
        let redis = self.redis.as_ref().map(Process::cpu).transpose()?;
        Ok(Usage { servers, redis })
    }

    /// The memory that its processes hold now, without Redis, in bytes.
    pub fn resident(&self) -> Result<u64, BenchError> {
        self.processes.iter().map(Process::resident).sum()
    }
}

async fn one_call(server: SocketAddr, era: Era) -> Result<(), CallError> {
    let mut client = Client::open(server, era).await?;
    client.call().await?;
    client.close().await
}

fn floor(kind: &str, hop: Option<SocketAddr>) -> Result<Command, BenchError> {
    let mut command = this_program(&["serve-floor", kind])?;
    if let Some(hop) = hop {
        command.arg("--hop").arg(hop.to_string());
    }
    Ok(command)
}

fn this_program(arguments: &[&str]) -> Result<Command, BenchError> {
    let mut command = Command::new(own_path()?);
    command.args(arguments);
    Ok(command)
}

fn own_path() -> Result<PathBuf, BenchError> {
    std::env::current_exe().map_err(|source| BenchError::Runtime { source })
}

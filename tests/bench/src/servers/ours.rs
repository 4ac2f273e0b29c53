//! This product as a contender: in one process, and as a gateway and a services process with a Redis.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
};

use tokio::process::Command;

use super::{READY, Servers, process::Process};
use crate::{contender::Contender, cores::Cores, error::BenchError};

/// All that is configured: the echo tool is off unless it is asked for.
const CONFIGURATION: &str = r#"{"tools": [{"name": "echo", "enabled": true}]}"#;

/// What `redis-server` logs once it serves.
const REDIS_READY: &str = "Ready to accept connections";

/// All roles in one process, with the store in memory.
pub fn one_process(binary: &Path, folder: &Path) -> Result<Command, BenchError> {
    let mut command = serve(binary, folder)?;
    command.args(["--host", "127.0.0.1", "--port", "0"]);
    Ok(command)
}

/// A gateway, a process with all services, and their Redis.
pub async fn across_the_bus(
    contender: Contender,
    binary: &Path,
    folder: &Path,
    cores: Cores,
) -> Result<Servers, BenchError> {
    let (redis, url) = redis(folder, cores).await?;

    let mut services = serve(binary, folder)?;
    services.args(["--role", "tools,resources,prompts,events", "--redis", &url, "--bus-listen", "127.0.0.1:0"]);
    let services = Process::start("services", services, READY, "", cores).await?;

    let mut gateway = one_process(binary, folder)?;
    gateway.args(["--role", "gateway", "--redis", &url, "--bus-listen", "127.0.0.1:0"]);
    let gateway = Process::start("gateway", gateway, READY, "", cores).await?;

    let clients = gateway.address("clients")?;
    Ok(Servers { contender, clients, processes: vec![gateway, services], redis: Some(redis) })
}

/// `switchyard serve` in an empty folder, so that nothing but the tool is served.
fn serve(binary: &Path, folder: &Path) -> Result<Command, BenchError> {
    let path = folder.join("switchyard.json");
    std::fs::write(&path, CONFIGURATION).map_err(|source| BenchError::Write { path: path.clone(), source })?;
    let served = folder.join("served");
    std::fs::create_dir_all(&served).map_err(|source| BenchError::Write { path: served.clone(), source })?;

    let mut command = Command::new(binary);
    command.args(["serve", "--admin-listen", "127.0.0.1:0", "--config"]).arg(path).current_dir(served);
    Ok(command)
}

/// A Redis that keeps nothing, and its URL.
async fn redis(folder: &Path, cores: Cores) -> Result<(Process, String), BenchError> {
    let hint = ": is it installed? (Debian, Ubuntu: `apt-get install redis-server`; macOS: `brew install redis`)";
    let port = free_port().map_err(|source| BenchError::Runtime { source })?.to_string();
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &port, "--save", "", "--appendonly", "no", "--dir"]).arg(folder);
    let process = Process::start("redis-server", command, REDIS_READY, hint, cores).await?;
    Ok((process, format!("redis://127.0.0.1:{port}")))
}

/// A port that was free a moment ago: Redis cannot be asked to choose one itself.
fn free_port() -> std::io::Result<u16> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    Ok(listener.local_addr()?.port())
}

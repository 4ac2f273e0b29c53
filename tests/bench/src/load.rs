//! One turn: so many clients call one contender for a while, and what that took is read off.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::Serialize;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    client::Client,
    cores::{Cores, Ticks},
    error::{BenchError, CallError},
    servers::{Servers, Usage},
    stats::percentile,
};

/// How long one step of opening or closing a client, and the last answers of a turn, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many calls a client may time in one turn; at 4 bytes each this bounds the memory of a turn.
const MOST_TIMED_CALLS: usize = 4_000_000;

/// How long a turn takes.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub connections: u16,
    pub warm_up: Duration,
    pub measured: Duration,
}

/// What one turn showed.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    pub requests_per_second: f64,
    pub p50_micros: f64,
    pub p99_micros: f64,
    /// CPU time of all processes of the contender, without Redis.
    pub cpu_micros_per_request: f64,
    /// CPU time of its Redis, for contenders that have one.
    pub redis_cpu_micros_per_request: Option<f64>,
    pub resident_bytes: u64,
    /// The share (0 to 1) of the servers' core that was in use.
    pub servers_core_busy: f64,
    /// The share of it that was used by others, who so make the numbers worse.
    pub servers_core_disturbed: f64,
    /// The share of the load's core that was in use; near 1 the load itself is the limit.
    pub load_core_busy: f64,
    pub errors: Errors,
}

/// Answers that were not the echo of their call, and connections that failed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Errors {
    pub count: u64,
    /// What the first few were.
    pub examples: Vec<String>,
}

impl Errors {
    /// How many examples are kept.
    const EXAMPLES: usize = 3;

    fn note(&mut self, error: &CallError) {
        self.count += 1;
        if self.examples.len() < Self::EXAMPLES {
            self.examples.push(error.to_string());
        }
    }

    /// Takes over what another has noted.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.examples.extend(other.examples);
        self.examples.truncate(Self::EXAMPLES);
    }
}

/// What the clients of a turn look at between two calls.
#[derive(Default)]
struct Signals {
    measured: AtomicBool,
    stop: AtomicBool,
}

/// What one client saw.
#[derive(Default)]
struct Seen {
    /// In nanoseconds, of the calls that ended while it was measured.
    latencies: Vec<u32>,
    errors: Errors,
}

/// Lets `turn.connections` clients call `servers` at once.
pub async fn run(servers: &Servers, turn: Turn, cores: Cores) -> Result<Sample, BenchError> {
    let signals = Arc::new(Signals::default());
    let mut clients = JoinSet::new();
    let mut all = Seen::default();
    for client in open_all(servers, turn.connections, &mut all).await {
        clients.spawn(call_until_stopped(client, Arc::clone(&signals)));
    }

    sleep(turn.warm_up).await;
    let before = Reading::take(servers, cores)?;
    signals.measured.store(true, Ordering::Relaxed);
    sleep(turn.measured).await;
    signals.measured.store(false, Ordering::Relaxed);
    signals.stop.store(true, Ordering::Relaxed);
    let after = Reading::take(servers, cores)?;

    let ended = timeout(PATIENCE, async {
        while let Some(client) = clients.join_next().await {
            let seen = client.expect("a client does not panic and is not aborted before this ends");
            all.latencies.extend(seen.latencies);
            all.errors.add(seen.errors);
        }
    });
    if ended.await.is_err() {
        all.errors.note(&CallError::Late(PATIENCE));
    }
    Ok(before.until(&after, all, servers.resident()?))
}

/// Opens the clients one after the other: sessions are not what is measured.
async fn open_all(servers: &Servers, count: u16, seen: &mut Seen) -> Vec<Client> {
    let mut open = Vec::with_capacity(count.into());
    for _ in 0..count {
        let opened = timeout(PATIENCE, Client::open(servers.clients, servers.contender.era())).await;
        match opened.unwrap_or(Err(CallError::Late(PATIENCE))) {
            Ok(client) => open.push(client),
            Err(error) => seen.errors.note(&error),
        }
    }
    open
}

async fn call_until_stopped(mut client: Client, signals: Arc<Signals>) -> Seen {
    let mut seen = Seen::default();
    while !signals.stop.load(Ordering::Relaxed) {
        let asked = Instant::now();
        match client.call().await {
            Ok(()) if signals.measured.load(Ordering::Relaxed) && seen.latencies.len() < MOST_TIMED_CALLS => {
                seen.latencies.push(u32::try_from(asked.elapsed().as_nanos()).unwrap_or(u32::MAX));
            }
            Ok(()) => {}
            Err(error) => {
                seen.errors.note(&error);
                if !error.leaves_connection_usable() {
                    return seen;
                }
            }
        }
    }
    if let Err(error) = client.close().await {
        seen.errors.note(&error);
    }
    seen
}

/// All clocks at one moment.
struct Reading {
    at: Instant,
    usage: Usage,
    ticks: Ticks,
}

impl Reading {
    fn take(servers: &Servers, cores: Cores) -> Result<Self, BenchError> {
        Ok(Self { usage: servers.usage()?, ticks: cores.ticks(), at: Instant::now() })
    }

    /// What happened between two readings.
    fn until(&self, end: &Self, mut seen: Seen, resident_bytes: u64) -> Sample {
        let elapsed = (end.at - self.at).as_secs_f64();
        let requests = seen.latencies.len() as f64;
        let servers = (end.usage.servers.saturating_sub(self.usage.servers)).as_secs_f64();
        let redis = end.usage.redis.zip(self.usage.redis).map(|(end, start)| end.saturating_sub(start).as_secs_f64());
        let (servers_core, load_core) = end.ticks.busy_since(&self.ticks);
        let ours = servers + redis.unwrap_or_default();
        let per_request = |seconds: f64| if requests > 0.0 { seconds * 1e6 / requests } else { 0.0 };
        Sample {
            requests_per_second: requests / elapsed,
            p50_micros: f64::from(percentile(&mut seen.latencies, 0.5)) / 1e3,
            p99_micros: f64::from(percentile(&mut seen.latencies, 0.99)) / 1e3,
            cpu_micros_per_request: per_request(servers),
            redis_cpu_micros_per_request: redis.map(per_request),
            resident_bytes,
            servers_core_busy: servers_core,
            servers_core_disturbed: (servers_core - ours / elapsed).max(0.0),
            load_core_busy: load_core,
            errors: seen.errors,
        }
    }
}

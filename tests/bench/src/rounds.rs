//! The run: all contenders are started, then take turns, round after round.
//!
//! Every other round goes backwards, so that whoever comes later in a round does not always find the same machine.

use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{
    contender::Contender,
    cores::Cores,
    error::BenchError,
    load::{self, Turn},
    options::MeasureOptions,
    report::{Report, Setting},
    servers::{Servers, server_binary},
};

/// How a run ended that could be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    AllCorrect,
    WrongAnswers,
}

/// Measures, prints the report, and writes it down when that was asked for.
pub async fn run(options: &MeasureOptions) -> Result<Verdict, BenchError> {
    if cfg!(debug_assertions) {
        eprintln!("note: floors and peer are a debug build and slow; `cargo run --release` measures");
    }
    let contenders = chosen(options);
    let binary = binary(options, &contenders).await?;
    let cores = Cores::choose()?;
    cores.become_load()?;

    let folder = tempfile::tempdir().map_err(|source| BenchError::Runtime { source })?;
    let mut running = Vec::with_capacity(contenders.len());
    for &contender in &contenders {
        eprintln!("starting {}", contender.name());
        let own = folder.path().join(contender.name());
        std::fs::create_dir(&own).map_err(|source| BenchError::Write { path: own.clone(), source })?;
        running.push(Servers::start(contender, &binary, &own, cores).await?);
    }

    let mut report = Report::new(Setting::new(options, cores));
    take_turns(options, cores, &running, &mut report).await?;
    print!("{report}");
    if let Some(path) = &options.json {
        report.write(path)?;
        eprintln!("written: {}", path.display());
    }
    Ok(if report.errors().count == 0 { Verdict::AllCorrect } else { Verdict::WrongAnswers })
}

/// The contenders in the order of a round.
fn chosen(options: &MeasureOptions) -> Vec<Contender> {
    let all = Contender::ALL.into_iter();
    all.filter(|contender| options.only.is_empty() || options.only.contains(contender)).collect()
}

/// Our binary, built if it is needed and was not named.
async fn binary(options: &MeasureOptions, contenders: &[Contender]) -> Result<PathBuf, BenchError> {
    match &options.server {
        Some(path) => std::path::absolute(path).map_err(|source| BenchError::Runtime { source }),
        None if contenders.iter().any(|contender| contender.is_ours()) => server_binary().await,
        None => Ok(PathBuf::new()),
    }
}

async fn take_turns(
    options: &MeasureOptions,
    cores: Cores,
    running: &[Servers],
    report: &mut Report,
) -> Result<(), BenchError> {
    let turns = usize::from(options.rounds) * options.connections.len() * running.len();
    let mut progress = Progress::new(turns);
    for round in 0..options.rounds {
        for &connections in &options.connections {
            let turn = Turn { connections, warm_up: options.seconds / 4, measured: options.seconds };
            for at in 0..running.len() {
                let servers = &running[if round % 2 == 0 { at } else { running.len() - 1 - at }];
                progress.next(round, servers.contender, connections);
                let sample = load::run(servers, turn, cores).await?;
                report.add(servers.contender, connections, sample);
            }
        }
    }
    progress.end();
    Ok(())
}

/// One line on stderr that says how far the run is: rewritten on a terminal, else one line a round.
struct Progress {
    turns: usize,
    taken: usize,
    began: Instant,
    rewrites: bool,
    last_round: Option<u16>,
}

impl Progress {
    fn new(turns: usize) -> Self {
        Self { turns, taken: 0, began: Instant::now(), rewrites: std::io::stderr().is_terminal(), last_round: None }
    }

    /// Tells which turn comes next.
    fn next(&mut self, round: u16, contender: Contender, connections: u16) {
        let left = self.left();
        let line = format!("turn {} of {}, {left}", self.taken + 1, self.turns);
        if self.rewrites {
            eprint!("\r\x1b[K{line}: {} with {connections} connections", contender.name());
            // Progress that cannot be shown is no reason to stop.
            let _ = std::io::stderr().flush();
        } else if self.last_round != Some(round) {
            eprintln!("round {}: {line}", round + 1);
        }
        self.last_round = Some(round);
        self.taken += 1;
    }

    fn left(&self) -> String {
        let Ok(taken) = u32::try_from(self.taken) else { return String::new() };
        if taken == 0 {
            return "just begun".to_owned();
        }
        let each = self.began.elapsed() / taken;
        let left = each.saturating_mul(u32::try_from(self.turns - self.taken).unwrap_or(u32::MAX));
        format!("about {} s left", (left + Duration::from_millis(999)).as_secs())
    }

    fn end(&self) {
        if self.rewrites {
            eprint!("\r\x1b[K");
        }
        eprintln!("{} turns in {:.0} s", self.turns, self.began.elapsed().as_secs_f64());
    }
}

//! Speed, side by side, in one run.
//!
//! Without a subcommand it measures: servers on one core, load on another, all contenders in alternating rounds. The
//! servers that are not this product's (floors, the peer) are subcommands of the same program.

mod client;
mod contender;
mod cores;
mod error;
mod floors;
mod load;
mod options;
mod peer;
mod report;
mod rounds;
mod servers;
mod stats;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    error::BenchError,
    options::{Command, MeasureOptions, Options},
};

/// The program that a supervisor sees when everything went well but some answers were wrong.
const EXIT_WRONG_ANSWERS: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match options.command {
        Some(Command::ServeFloor { floor, port, hop }) => floors::serve(floor, port, hop),
        Some(Command::ServePeer { port }) => peer::serve(port),
        None => return measure(&options.measure),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// One thread carries everything: it is the load, and whatever else it did would stand in the way of the load.
fn measure(options: &MeasureOptions) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(source) => return failed(&BenchError::Runtime { source }),
    };
    match runtime.block_on(until_interrupted(rounds::run(options))) {
        Ok(rounds::Verdict::AllCorrect) => ExitCode::SUCCESS,
        Ok(rounds::Verdict::WrongAnswers) => ExitCode::from(EXIT_WRONG_ANSWERS),
        Err(error) => failed(&error),
    }
}

/// Dropping the work ends every server it started, so an interrupt leaves nothing behind.
async fn until_interrupted<T>(work: impl Future<Output = Result<T, BenchError>>) -> Result<T, BenchError> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate()).map_err(|source| BenchError::Runtime { source })?;
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => Err(BenchError::Interrupted),
        _ = terminate.recv() => Err(BenchError::Interrupted),
    }
}

fn failed(error: &BenchError) -> ExitCode {
    eprintln!("error: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        eprintln!("  because {source}");
        cause = source.source();
    }
    ExitCode::FAILURE
}

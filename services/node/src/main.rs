//! The `switchyard` program.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    switchyard::run(switchyard::cli::Cli::parse())
}

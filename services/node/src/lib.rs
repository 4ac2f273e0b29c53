//! The program: options, which roles are local, start and stop, the command line.
//!
//! Whether a service is local or remote is decided here, once, where the process is put together ([`process`]).

mod admin;
mod banner;
mod bridge;
pub mod cli;
mod health;
mod listeners;
mod member;
pub mod options;
mod process;
mod publish;
mod services;
mod signals;
mod unix_socket;

use std::{path::Path, process::ExitCode};

use switchyard_config::{ConfigError, Sources};
use switchyard_telemetry::TelemetryError;

use cli::{Cli, Command, ConfigCommand};
use options::{Options, OptionsError};

/// Why the program ends with an error.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The configuration cannot be used.
    #[error("the configuration cannot be used")]
    Config(#[from] ConfigError),

    /// The configuration fits its schema, but not this program.
    #[error("the configuration cannot be used")]
    Options(#[from] OptionsError),

    /// An address cannot be listened at.
    #[error("cannot listen at {address} for {who}: {hint}")]
    Listen {
        /// The address.
        address: String,
        /// Who would have connected there.
        who: &'static str,
        /// What to do about it.
        hint: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },

    /// Logs or traces cannot begin.
    #[error("logs and traces cannot begin")]
    Telemetry(#[from] TelemetryError),

    /// A service cannot start.
    #[error("the {role} service cannot start")]
    Service {
        /// Which.
        role: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// The state store cannot be used.
    #[error("the state store cannot be used")]
    Store(#[from] switchyard_state::StoreError),

    /// Something of the operating system failed.
    #[error("{what}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },

    /// A server elsewhere cannot be bridged to.
    #[error("{0}")]
    Remote(String),

    /// A node is not well.
    #[error("{0}")]
    Unwell(String),
}

/// Runs the program and returns its exit code: 0 when it did what it was asked.
pub fn run(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Command::Serve(args) => {
            let (config, directory) = (args.config.clone(), args.directory.clone());
            let started = process::Started { config: config.as_deref(), directory: directory.as_deref() };
            load(args.sources()).and_then(|options| process::serve(options, started))
        }
        Command::Stdio(args) => match args.connect.clone() {
            Some(url) => process::bridge(&url, args.log),
            None => load(args.sources()).and_then(process::stdio),
        },
        Command::Config(ConfigCommand::Schema) => {
            println!("{:#}", switchyard_config::schema::<Options>());
            Ok(())
        }
        Command::Config(ConfigCommand::Check { file }) => check(&file),
        Command::Health(args) => health::ask(args.admin),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

fn load(sources: Sources) -> Result<Options, NodeError> {
    Ok(switchyard_config::load::<Options>(&sources)?)
}

fn check(file: &Path) -> Result<(), NodeError> {
    let options: Options = switchyard_config::check(file, std::env::vars_os())?;
    options.check()?;
    process::check(&options)?;
    println!("{} is right", file.display());
    Ok(())
}

/// Says what went wrong and why, one cause a line.
pub(crate) fn report(error: &NodeError) {
    eprintln!("switchyard: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        for line in error.to_string().lines() {
            eprintln!("  {line}");
        }
        cause = error.source();
    }
}

//! The command line.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::contender::Contender;

/// Measures how fast a tools/call of an echo tool is answered, beside floors and a peer.
///
/// Servers run pinned to one core, the load runs on another, and the contenders take turns in every round, so that
/// ratios hold even on a busy machine.
#[derive(Debug, Parser)]
#[command(name = "switchyard-bench", version, args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// The servers that this program itself can be.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves one of the floors.
    #[command(hide = true)]
    ServeFloor {
        floor: Floor,

        /// Where to listen on 127.0.0.1; 0 for any free port.
        #[arg(long, default_value_t = 0)]
        port: u16,

        /// The echo process behind a hop floor.
        #[arg(long, required_if_eq_any([("floor", "hop-unary"), ("floor", "hop-stream")]))]
        hop: Option<SocketAddr>,
    },

    /// Serves the peer: an rmcp server with the same echo tool.
    #[command(hide = true)]
    ServePeer {
        /// Where to listen on 127.0.0.1; 0 for any free port.
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
}

/// A server that does the least one could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Floor {
    /// actix-web that reads the envelope and echoes.
    Web,
    /// The same, and one unary gRPC call to `echo` on the way.
    HopUnary,
    /// The same, and one frame each way on a long-lived gRPC stream to `echo`.
    HopStream,
    /// The process at the other end of a hop.
    Echo,
}

/// What to measure.
#[derive(Clone, Debug, Args)]
pub struct MeasureOptions {
    /// How often every contender has its turn.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,

    /// How long one turn is measured, in seconds; as long a warm-up as a quarter of it comes first.
    #[arg(long, default_value = "1", value_parser = seconds)]
    pub seconds: Duration,

    /// How many clients call at once, each on its own connection; a list.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub connections: Vec<u16>,

    /// Also writes everything that was measured to this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Measures only these contenders; a list.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_enum)]
    pub only: Vec<Contender>,

    /// The server binary to measure, instead of building it first.
    #[arg(long, value_name = "FILE")]
    pub server: Option<PathBuf>,
}

/// A positive number of seconds, at most a minute.
fn seconds(text: &str) -> Result<Duration, String> {
    let limit = "expected a number of seconds above 0, at most 60";
    let seconds: f64 = text.parse().map_err(|_| limit.to_owned())?;
    if seconds > 0.0 && seconds <= 60.0 { Ok(Duration::from_secs_f64(seconds)) } else { Err(limit.to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn seconds_are_above_zero_and_at_most_a_minute() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "61", "NaN", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_hop_floor_needs_the_process_behind_it() {
        assert!(Options::try_parse_from(["bench", "serve-floor", "web"]).is_ok());
        assert!(Options::try_parse_from(["bench", "serve-floor", "hop-unary"]).is_err());
    }
}

//! Who is measured, as a table of facts.

use clap::ValueEnum;
use serde::Serialize;

/// The era of the protocol that the load speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// 2026-07-28: every request describes itself.
    Modern,
    /// 2025-11-25: a session per connection, opened before and ended after each turn.
    Legacy,
}

/// One line of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Contender {
    /// actix-web that reads the envelope and echoes.
    FloorWeb,
    /// The same, and one bare unary gRPC call to a second process.
    FloorHopUnary,
    /// The same, and one frame each way on a long-lived gRPC stream to a second process.
    FloorHopStream,
    /// This server in one process, 2026-07-28.
    OneProcessModern,
    /// This server in one process, a 2025-11-25 session.
    OneProcessLegacy,
    /// This server as a gateway and a services process, 2026-07-28.
    BusModern,
    /// This server as a gateway and a services process, a 2025-11-25 session kept in Redis.
    BusLegacy,
    /// The peer, 2026-07-28.
    RmcpModern,
    /// The peer, a 2025-11-25 session.
    RmcpLegacy,
}

impl Contender {
    /// The order within a round.
    pub const ALL: [Self; 9] = [
        Self::FloorWeb,
        Self::OneProcessModern,
        Self::OneProcessLegacy,
        Self::RmcpModern,
        Self::RmcpLegacy,
        Self::FloorHopUnary,
        Self::FloorHopStream,
        Self::BusModern,
        Self::BusLegacy,
    ];

    /// As it is written on the command line and in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FloorWeb => "floor-web",
            Self::FloorHopUnary => "floor-hop-unary",
            Self::FloorHopStream => "floor-hop-stream",
            Self::OneProcessModern => "one-process-modern",
            Self::OneProcessLegacy => "one-process-legacy",
            Self::BusModern => "bus-modern",
            Self::BusLegacy => "bus-legacy",
            Self::RmcpModern => "rmcp-modern",
            Self::RmcpLegacy => "rmcp-legacy",
        }
    }

    /// What its clients speak.
    pub const fn era(self) -> Era {
        match self {
            Self::OneProcessLegacy | Self::BusLegacy | Self::RmcpLegacy => Era::Legacy,
            _ => Era::Modern,
        }
    }

    /// Whether it is this product, and so needs its binary.
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::OneProcessModern | Self::OneProcessLegacy | Self::BusModern | Self::BusLegacy)
    }

    /// What it is compared with, round by round.
    pub fn baselines(self) -> Vec<Baseline> {
        let plain = |contender| Baseline { contender, cpu_at_most: None };
        let aim = |contender, cpu_at_most| Baseline { contender, cpu_at_most: Some(cpu_at_most) };
        match self {
            Self::FloorWeb => vec![],
            Self::FloorHopUnary | Self::FloorHopStream | Self::RmcpModern | Self::RmcpLegacy => {
                vec![plain(Self::FloorWeb)]
            }
            Self::OneProcessModern => vec![aim(Self::RmcpModern, 0.6), plain(Self::FloorWeb)],
            Self::OneProcessLegacy => vec![aim(Self::RmcpLegacy, 0.6), plain(Self::FloorWeb)],
            Self::BusModern => {
                vec![aim(Self::FloorHopUnary, 1.5), plain(Self::FloorHopStream), plain(Self::RmcpModern)]
            }
            Self::BusLegacy => {
                vec![aim(Self::FloorHopUnary, 1.5), plain(Self::FloorHopStream), plain(Self::RmcpLegacy)]
            }
        }
    }
}

/// What a contender is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    pub contender: Contender,
    /// The aim: server CPU per request, times the baseline's.
    pub cpu_at_most: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_the_command_line_takes() {
        for contender in Contender::ALL {
            assert_eq!(Contender::from_str(contender.name(), false), Ok(contender));
        }
        assert_eq!(Contender::ALL.len(), Contender::value_variants().len());
    }

    #[test]
    fn the_peer_is_compared_within_one_era() {
        for contender in Contender::ALL.into_iter().filter(|contender| contender.is_ours()) {
            let mut baselines = contender.baselines();

            baselines.retain(|baseline| baseline.contender.name().starts_with("rmcp"));

            assert!(baselines.iter().all(|peer| peer.contender.era() == contender.era()), "{contender:?}");
        }
    }
}

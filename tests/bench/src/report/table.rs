//! The report as a person reads it.

use std::fmt::{self, Formatter};

use super::{Ratio, Report};
use crate::{contender::Contender, stats::Spread};

/// From this share on, others on the servers' core are worth a note.
const DISTURBED: f64 = 0.05;

/// From this share on, the load is the limit rather than the server.
const SATURATED: f64 = 0.95;

const LEGEND: &str = "\
floor-web           actix-web reads the envelope and echoes          floor-hop-unary   + one unary gRPC call
floor-hop-stream    + one frame each way on a gRPC stream            rmcp-*            the peer, same tool
one-process-*       this server, all roles in one process            bus-*             gateway | services, Redis
*-modern            2026-07-28, stateless                            *-legacy          2025-11-25, a session each

CPU µs/req is the CPU time of all processes of the contender, without Redis. All numbers are medians over the rounds.
A * beside req/s: the load was the limit, the server could have done more.
";

/// Writes the whole report.
pub fn write(report: &Report, out: &mut Formatter<'_>) -> fmt::Result {
    let setting = &report.setting;
    writeln!(
        out,
        "{}, Linux {}; servers on core {}, load on core {}; {} rounds of {} s\n",
        setting.processor, setting.kernel, setting.servers_core, setting.load_core, setting.rounds, setting.seconds
    )?;
    out.write_str(LEGEND)?;
    for connections in connection_counts(report) {
        measured(report, connections, out)?;
    }
    let ratios = report.ratios();
    for measure in [Measure::Cpu, Measure::RequestsPerSecond] {
        compared(&ratios, measure, out)?;
    }
    notes(report, out)
}

fn connection_counts(report: &Report) -> Vec<u16> {
    let mut counts: Vec<u16> = report.series.iter().map(|series| series.connections).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn measured(report: &Report, connections: u16, out: &mut Formatter<'_>) -> fmt::Result {
    let title = match connections {
        1 => "1 connection".to_owned(),
        many => format!("{many} connections"),
    };
    writeln!(
        out,
        "\n{title:<20}{:>10} {:>10}{:>10}{:>13}{:>15}{:>10}",
        "req/s", "p50 µs", "p99 µs", "CPU µs/req", "Redis µs/req", "RSS MiB"
    )?;
    for contender in Contender::ALL {
        let Some(series) = report.find(contender, connections) else { continue };
        let load_limited = series.median(|sample| sample.load_core_busy) > SATURATED
            && series.median(|sample| sample.servers_core_busy) < SATURATED;
        let redis = series.rounds.iter().any(|sample| sample.redis_cpu_micros_per_request.is_some());
        let redis = redis.then(|| series.median(|sample| sample.redis_cpu_micros_per_request.unwrap_or_default()));
        writeln!(
            out,
            "{:<20}{:>10.0}{}{:>10.0}{:>10.0}{:>13.1}{:>15}{:>10.1}",
            contender.name(),
            series.median(|sample| sample.requests_per_second),
            if load_limited { '*' } else { ' ' },
            series.median(|sample| sample.p50_micros),
            series.median(|sample| sample.p99_micros),
            series.median(|sample| sample.cpu_micros_per_request),
            redis.map_or("-".to_owned(), |micros| format!("{micros:.1}")),
            series.median(|sample| sample.resident_bytes as f64) / f64::from(1 << 20),
        )?;
    }
    Ok(())
}

/// What the ratios of a table are of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Cpu,
    RequestsPerSecond,
}

impl Measure {
    const fn title(self) -> &'static str {
        match self {
            Self::Cpu => "CPU per request, as a multiple of the baseline's (less is better)",
            Self::RequestsPerSecond => "Requests per second, as a multiple of the baseline's (more is better)",
        }
    }

    const fn of(self, ratio: &Ratio) -> Option<Spread> {
        match self {
            Self::Cpu => Some(ratio.cpu),
            Self::RequestsPerSecond => ratio.requests_per_second,
        }
    }
}

/// One line a pair, one column a number of connections: the median of the rounds' ratios, and how far they lie apart.
fn compared(ratios: &[Ratio], measure: Measure, out: &mut Formatter<'_>) -> fmt::Result {
    if ratios.is_empty() {
        return Ok(());
    }
    let mut counts: Vec<u16> = ratios.iter().map(|ratio| ratio.connections).collect();
    counts.sort_unstable();
    counts.dedup();
    writeln!(out, "\n{}: median (least – most)", measure.title())?;
    write!(out, "{:<42}", "")?;
    for count in &counts {
        write!(out, "{:>22}", format!("{count} conn."))?;
    }
    writeln!(out)?;

    let pairs = ratios.iter().filter(|ratio| ratio.connections == counts[0]);
    for Ratio { contender, baseline, cpu_at_most, .. } in pairs {
        write!(out, "{:<42}", format!("{} / {}", contender.name(), baseline.name()))?;
        let row: Vec<&Ratio> =
            ratios.iter().filter(|ratio| ratio.contender == *contender && ratio.baseline == *baseline).collect();
        for count in &counts {
            let cell = row.iter().find(|ratio| ratio.connections == *count).and_then(|ratio| measure.of(ratio));
            write!(out, "{:>22}", cell.map_or("-".to_owned(), spread))?;
        }
        if let (Measure::Cpu, Some(most)) = (measure, cpu_at_most) {
            let met: Vec<String> = row
                .iter()
                .filter(|ratio| ratio.meets_aim() == Some(true))
                .map(|ratio| ratio.connections.to_string())
                .collect();
            let met = if met.is_empty() { "not met".to_owned() } else { format!("met at {}", met.join(", ")) };
            write!(out, "   aim: at most {most}; {met}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn spread(Spread { median, least, most }: Spread) -> String {
    format!("{median:.2} ({least:.2} – {most:.2})")
}

fn notes(report: &Report, out: &mut Formatter<'_>) -> fmt::Result {
    let disturbed = Spread::of(report.samples().map(|sample| sample.servers_core_disturbed).collect());
    if let Some(others) = disturbed.filter(|others| others.median > DISTURBED) {
        writeln!(
            out,
            "\nnote: others used {:.0} % of the servers' core, so everything was slower than it is; ratios suffer least",
            others.median * 100.0
        )?;
    }
    let errors = report.errors();
    if errors.count > 0 {
        writeln!(out, "\nFAILED: {} calls went wrong, among them:", errors.count)?;
        for example in errors.examples {
            writeln!(out, "  {example}")?;
        }
    }
    Ok(())
}

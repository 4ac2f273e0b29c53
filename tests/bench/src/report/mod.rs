//! What a run showed: every sample, the medians over the rounds, and the ratios round by round.

mod machine;
mod table;

use std::{fmt, path::Path};

use serde::Serialize;

pub use self::machine::Setting;
use crate::{
    contender::{Baseline, Contender},
    error::BenchError,
    load::{Errors, Sample},
    stats::Spread,
};

/// The samples of a run, in the order in which they were taken.
#[derive(Debug, Serialize)]
pub struct Report {
    setting: Setting,
    series: Vec<Series>,
}

/// One contender at one number of connections: a sample a round.
#[derive(Debug, Serialize)]
pub struct Series {
    contender: Contender,
    connections: u16,
    rounds: Vec<Sample>,
}

/// One contender against one baseline at one number of connections: the ratio of each round's two samples.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ratio {
    contender: Contender,
    baseline: Contender,
    connections: u16,
    /// CPU per request; less is better.
    cpu: Spread,
    /// The aim for the median of `cpu`, where there is one.
    cpu_at_most: Option<f64>,
    /// Requests per second; more is better.
    requests_per_second: Option<Spread>,
    /// The 99th percentile of the latency; less is better.
    p99: Option<Spread>,
}

impl Ratio {
    /// Whether the aim is met, or `None` when there is none.
    fn meets_aim(&self) -> Option<bool> {
        self.cpu_at_most.map(|most| self.cpu.median <= most)
    }
}

impl Series {
    /// The median over the rounds of something measured.
    fn median(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        Spread::of(self.rounds.iter().map(of).collect()).map_or(0.0, |spread| spread.median)
    }

    /// Compares two series round by round; `None` when nothing was measured in any round of both.
    fn against(&self, other: &Self, baseline: Baseline) -> Option<Ratio> {
        let ratio = |of: fn(&Sample) -> f64| {
            Spread::of_ratios(self.rounds.iter().zip(&other.rounds).map(|(own, other)| (of(own), of(other))))
        };
        Some(Ratio {
            contender: self.contender,
            baseline: other.contender,
            connections: self.connections,
            cpu: ratio(|sample| sample.cpu_micros_per_request)?,
            cpu_at_most: baseline.cpu_at_most,
            requests_per_second: ratio(|sample| sample.requests_per_second),
            p99: ratio(|sample| sample.p99_micros),
        })
    }
}

impl Report {
    /// An empty one.
    pub fn new(setting: Setting) -> Self {
        Self { setting, series: Vec::new() }
    }

    /// Adds what the next turn of `contender` showed.
    pub fn add(&mut self, contender: Contender, connections: u16, sample: Sample) {
        let same = |series: &&mut Series| series.contender == contender && series.connections == connections;
        match self.series.iter_mut().find(same) {
            Some(series) => series.rounds.push(sample),
            None => self.series.push(Series { contender, connections, rounds: vec![sample] }),
        }
    }

    /// All errors of the run.
    pub fn errors(&self) -> Errors {
        let mut all = Errors::default();
        for sample in self.samples() {
            all.add(sample.errors.clone());
        }
        all
    }

    /// Every contender that was measured against every baseline of it that was measured too.
    fn ratios(&self) -> Vec<Ratio> {
        let pairs = self
            .series
            .iter()
            .flat_map(|own| own.contender.baselines().into_iter().map(move |baseline| (own, baseline)));
        let ratios =
            pairs.filter_map(|(own, baseline)| own.against(self.find(baseline.contender, own.connections)?, baseline));
        ratios.collect()
    }

    fn find(&self, contender: Contender, connections: u16) -> Option<&Series> {
        self.series.iter().find(|series| series.contender == contender && series.connections == connections)
    }

    fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.series.iter().flat_map(|series| &series.rounds)
    }

    /// Writes everything to `path`, as one JSON object.
    pub fn write(&self, path: &Path) -> Result<(), BenchError> {
        #[derive(Serialize)]
        struct Written<'a> {
            #[serde(flatten)]
            report: &'a Report,
            ratios: Vec<Ratio>,
        }

        let failed = |source| BenchError::Write { path: path.to_owned(), source };
        let json = serde_json::to_vec_pretty(&Written { report: self, ratios: self.ratios() });
        std::fs::write(path, json.map_err(|error| failed(error.into()))?).map_err(failed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        table::write(self, formatter)
    }
}

#[cfg(test)]
mod tests;

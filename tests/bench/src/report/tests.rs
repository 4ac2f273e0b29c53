//! What a reader finds in a report.

use super::*;

fn sample(cpu_micros_per_request: f64) -> Sample {
    Sample { cpu_micros_per_request, requests_per_second: 1e6 / cpu_micros_per_request, ..Sample::default() }
}

/// A run in which the second round was slow for everybody.
fn a_report() -> Report {
    let mut report = Report::new(Setting::default());
    for (floor, ours) in [(10.0, 13.0), (20.0, 28.0), (10.0, 16.0)] {
        report.add(Contender::FloorHopUnary, 16, sample(floor));
        report.add(Contender::BusModern, 16, sample(ours));
    }
    report
}

#[test]
fn contenders_are_compared_round_by_round() {
    let ratios = a_report().ratios();

    assert_eq!(ratios.len(), 1, "only baselines that were measured");
    assert_eq!(ratios[0].baseline, Contender::FloorHopUnary);
    assert_eq!(ratios[0].cpu, Spread { median: 1.4, least: 1.3, most: 1.6 });
    assert_eq!(ratios[0].meets_aim(), Some(true));
}

#[test]
fn the_table_shows_medians_ratios_and_aims() {
    let table = a_report().to_string();

    let line = |start: &str| table.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    assert!(line("16 connections").contains("CPU µs/req"), "{table}");
    assert!(line("bus-modern  ").contains("16.0"), "{table}");
    let ratio = line("bus-modern / floor-hop-unary");
    assert!(ratio.contains("1.40 (1.30 – 1.60)") && ratio.contains("at most 1.5; met at 16"), "{table}");
    assert!(!table.contains("FAILED"), "{table}");
}

#[test]
fn wrong_answers_are_told() {
    let mut report = a_report();
    let errors = Errors { count: 7, examples: vec!["not the echo of this call: {}".to_owned()] };
    report.add(Contender::BusModern, 16, Sample { errors, ..Sample::default() });

    assert_eq!(report.errors().count, 7);
    assert!(report.to_string().contains("FAILED: 7 calls went wrong"));
}

#[test]
fn the_file_holds_every_sample_and_the_ratios() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("bench.json");

    a_report().write(&path).expect("the folder can be written to");

    let text = std::fs::read_to_string(path).expect("it was written");
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(json["series"][0]["contender"], "floor-hop-unary");
    assert_eq!(json["series"][0]["rounds"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["ratios"][0]["cpu"]["median"], 1.4);
}

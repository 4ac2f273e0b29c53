//! The program as it is called, on the contenders that need nothing but itself.

use std::process::Command;

#[test]
fn floors_and_peer_answer_every_call_correctly_and_are_written_down() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("bench.json");
    let mut bench = Command::new(env!("CARGO_BIN_EXE_switchyard-bench"));
    bench.args(["--rounds", "2", "--seconds", "0.5", "--connections", "1,4", "--json"]).arg(&file);
    bench.args(["--only", "floor-web,floor-hop-unary,floor-hop-stream,rmcp-modern,rmcp-legacy"]);

    let output = bench.output().expect("it was built");

    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("rmcp-modern / floor-web"), "{table}");
    let written = std::fs::read(&file).expect("it was written");
    let written: serde_json::Value = serde_json::from_slice(&written).expect("it is JSON");
    let series = written["series"].as_array().expect("there is a list of series");
    assert_eq!(series.len(), 5 * 2);
    for round in series.iter().flat_map(|series| series["rounds"].as_array().into_iter().flatten()) {
        assert_eq!(round["errors"]["count"], 0);
        assert!(round["requestsPerSecond"].as_f64() > Some(0.0), "{round}");
        assert!(round["cpuMicrosPerRequest"].as_f64() > Some(0.0), "{round}");
    }
}

#[test]
fn a_server_that_cannot_be_started_ends_the_run_with_its_reason() {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_switchyard-bench"));
    bench.args(["--only", "one-process-modern", "--server", "/nowhere/switchyard"]);

    let output = bench.output().expect("it was built");

    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("`/nowhere/switchyard` could not be started"), "{told}");
}

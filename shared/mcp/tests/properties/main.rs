//! What holds for every message that can be made up, in both directions.
//!
//! What leaves is made up in the newest revision's shape, rendered for each revision, and judged by its official schema
//! and by the members that it knows. What comes in is held against rules that are written down here once more.
//!
//! The same cases are tried each time. `PROPTEST_RNG_SEED` tries others, `PROPTEST_CASES` more of them; what they find
//! is kept as a test of its own.

#![allow(clippy::unwrap_used)]

mod contents;
mod definitions;
mod envelopes;
mod incoming;
mod kept;
mod notices;
mod questions;
mod results;
mod shapes;
mod stateless;

use proptest::test_runner::{Config, RngSeed, TestCaseError};
use serde_json::Value;
use switchyard_mcp::Revision;
use switchyard_schemas::Schema;

/// How many cases are tried, and which.
fn config() -> Config {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(20_261_201);
    }
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 128;
    }
    config
}

/// What each revision gets, held against its rules. `asked` is the method of the request that the message answers.
fn judged(revision: Revision, asked: Option<&str>, message: &str) -> Result<(), TestCaseError> {
    let wrong = |why: String| TestCaseError::fail(format!("{revision}: {why}\n  in {message}"));
    let parsed: Value = serde_json::from_str(message).map_err(|error| wrong(error.to_string()))?;
    let faults = Schema::of(revision.name()).unwrap().message(&parsed, asked);
    let faults: Vec<_> = faults.iter().map(|fault| format!("\n  {fault}")).collect();
    if faults.is_empty() { Ok(()) } else { Err(wrong(faults.concat())) }
}

/// A result of a request with this method, judged for one revision.
fn judged_result(revision: Revision, method: &str, result: &str) -> Result<(), TestCaseError> {
    let id = switchyard_mcp::Id::from_json("1").unwrap();
    judged(revision, Some(method), &switchyard_mcp::jsonrpc::success(&id, result))
}

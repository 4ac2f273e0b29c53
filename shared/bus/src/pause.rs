//! Pauses between attempts.

use std::time::Duration;

use rand::RngExt as _;

/// A random pause between half of `longest` and all of it, so that nodes that failed together do not return together.
pub(crate) fn jittered(longest: Duration) -> Duration {
    longest.mul_f64(rand::rng().random_range(0.5..=1.0))
}

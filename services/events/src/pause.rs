//! Pauses between attempts while the store is away.

use std::time::Duration;

use rand::RngExt as _;
use tokio::time::sleep;

/// The pauses grow from the first to the last.
const FIRST: Duration = Duration::from_millis(50);
const LAST: Duration = Duration::from_secs(1);

/// A pause that grows with every failure in a row.
#[derive(Debug, Default)]
pub(crate) struct Backoff(u32);

impl Backoff {
    /// Waits, longer than the last time; at least half of the pause, so that those who failed together spread out.
    pub async fn wait(&mut self) {
        let longest = FIRST.saturating_mul(1 << self.0.min(8)).min(LAST);
        self.0 = self.0.saturating_add(1);
        let pause = longest.mul_f64(rand::rng().random_range(0.5..=1.0));
        sleep(pause).await;
    }

    /// Notes a success, and whether failures came before it.
    pub fn over(&mut self) -> bool {
        std::mem::take(&mut self.0) > 0
    }

    /// Nothing failed since the last success.
    pub fn is_fresh(&self) -> bool {
        self.0 == 0
    }
}

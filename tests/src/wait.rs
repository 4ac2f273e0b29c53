//! Waiting on conditions, never on clocks: every wait ends by what it waits for, or fails and says what that was.

use std::time::Duration;

/// How long something may take that should happen at once. Generous, for a loaded machine is not a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often a condition is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What `future` returns, or a panic that names `what` once `limit` has passed.
pub async fn within<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(limit, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited {limit:?} in vain for {what}"),
    }
}

/// The first `Some` that `look` returns; looks again and again for [`PATIENCE`].
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    within(PATIENCE, what, async {
        loop {
            if let Some(value) = look().await {
                return value;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    })
    .await
}

//! How long a client may be silent: it is asked for a sign of life, and given up when none comes.

use std::{future::pending, time::Duration};

use tokio::time::{Instant, sleep_until};

/// One client's silence.
pub struct Silence {
    /// It is asked once it has been silent for this long, and then again and again.
    ask_after: Duration,
    limit: Duration,
    heard: Instant,
    asked: Instant,
}

/// What silence calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grown {
    /// A question for a sign of life.
    Ask,
    /// No more waiting.
    TooLong,
}

impl Silence {
    /// Begins now.
    pub fn new(ask_after: Duration, limit: Duration) -> Self {
        let now = Instant::now();
        Self { ask_after: ask_after.max(Duration::from_millis(1)), limit, heard: now, asked: now }
    }

    /// The client said something.
    pub fn broken(&mut self) {
        self.heard = Instant::now();
    }

    /// Waits until something is to be done about the silence. Dropping the future changes nothing.
    pub async fn grown(&mut self) -> Grown {
        // What is farther away than a clock reaches never comes.
        let ask = self.heard.max(self.asked).checked_add(self.ask_after);
        let give_up = self.heard.checked_add(self.limit);
        match (ask, give_up) {
            (Some(ask), Some(give_up)) if give_up <= ask => sleep_until(give_up).await,
            (None, Some(give_up)) => sleep_until(give_up).await,
            (Some(ask), _) => {
                sleep_until(ask).await;
                self.asked = Instant::now();
                return Grown::Ask;
            }
            (None, None) => pending().await,
        }
        Grown::TooLong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_asked_and_then_given_up() {
        let began = Instant::now();
        let mut silence = Silence::new(4 * SECOND, 10 * SECOND);

        let first = (silence.grown().await, began.elapsed());
        let second = (silence.grown().await, began.elapsed());
        let third = (silence.grown().await, began.elapsed());

        assert_eq!(first, (Grown::Ask, 4 * SECOND));
        assert_eq!(second, (Grown::Ask, 8 * SECOND));
        assert_eq!(third, (Grown::TooLong, 10 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_word_begins_the_silence_anew() {
        let began = Instant::now();
        let mut silence = Silence::new(8 * SECOND, 10 * SECOND);
        silence.grown().await;
        silence.broken();

        assert_eq!(silence.grown().await, Grown::Ask);

        assert_eq!(began.elapsed(), 16 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn where_nothing_limits_it_silence_may_last() {
        let mut silence = Silence::new(Duration::MAX, Duration::MAX);

        let waited = tokio::time::timeout(1000 * SECOND, silence.grown()).await;

        assert!(waited.is_err());
    }
}

//! The signals that tell the process to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears SIGTERM and SIGINT from the moment it is made; until then they kill the process.
pub struct StopSignals(Option<[Signal; 2]>);

impl StopSignals {
    /// Begins to hear. Runs within tokio.
    pub fn listen() -> Self {
        match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
            (Ok(terminate), Ok(interrupt)) => Self(Some([terminate, interrupt])),
            _ => {
                tracing::warn!("signals cannot be heard; only killing ends this process");
                Self(None)
            }
        }
    }

    /// Resolves when the process is told to stop, again each time.
    pub async fn next(&mut self) {
        let Some([terminate, interrupt]) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

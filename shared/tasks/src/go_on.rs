//! A tool's own word that its call is a task from here on.

use tokio::sync::watch;

/// Comes in the extensions of a call's request where the call may become a task. A tool that knows that it will take
/// long, or that it is to ask its client in the course of the task rather than before it, says so by this.
#[derive(Clone, Debug)]
pub struct GoOn(watch::Sender<bool>);

impl Default for GoOn {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl GoOn {
    /// The call is a task from here on. Where none can be made, it goes on as any other call.
    pub fn as_task(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was said.
    pub(crate) fn is_said(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves once it was said.
    pub(crate) async fn said(&self) {
        let said = self.0.subscribe().wait_for(|said| *said).await.map(|_| ());
        said.expect("the sender lives as long as we do");
    }
}

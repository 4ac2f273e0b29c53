//! What the member task is asked for, and who waits for it.

use tokio::sync::oneshot;

/// What the task is asked for.
pub(super) enum Command {
    /// Read the nodes again, then answer.
    Refresh(oneshot::Sender<()>),
    /// Leave, tell everybody, then answer; the task ends.
    Leave(oneshot::Sender<()>),
}

/// Those who wait for one round.
#[derive(Default)]
pub(super) struct Asked {
    refresh: Vec<oneshot::Sender<()>>,
    leave: Vec<oneshot::Sender<()>>,
}

impl Asked {
    pub fn note(&mut self, command: Command) {
        match command {
            Command::Refresh(done) => self.refresh.push(done),
            Command::Leave(done) => self.leave.push(done),
        }
    }

    /// Somebody wants the nodes to be read.
    pub fn to_refresh(&self) -> bool {
        !self.refresh.is_empty()
    }

    /// Somebody wants the node to leave.
    pub fn to_leave(&self) -> bool {
        !self.leave.is_empty()
    }

    pub fn answer(self) {
        for done in self.refresh.into_iter().chain(self.leave) {
            // Whoever asked may have given up.
            let _ = done.send(());
        }
    }
}

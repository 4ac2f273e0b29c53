//! What a client is told, in the frames of its transport.

use bytes::Bytes;
use switchyard_mcp::{Id, Refusal};
use tokio::sync::mpsc;

use crate::{
    connection::Framing,
    observe::Observed,
    running::{self, Outcome, Running},
};

/// The way to one client.
#[derive(Clone)]
pub struct Voice {
    /// Frames for the client, in order; closed once it is gone.
    pub frames: mpsc::Sender<Bytes>,
    /// What a frame looks like.
    pub framing: Framing,
}

impl Voice {
    /// Says a message; waits while the client is slow to read. One that is gone hears nothing.
    pub async fn say(&self, message: &str) {
        _ = self.frames.send((self.framing)(message)).await;
    }

    /// Says a message if that can be done at once.
    pub fn try_say(&self, message: &str) {
        _ = self.frames.try_send((self.framing)(message));
    }

    /// Says the answer of a request, and notes how it ended.
    pub async fn answer(&self, id: &Id, done: Result<String, Refusal>, observed: Observed) {
        self.say(&running::answer(id, &done)).await;
        running::settle(observed, &done);
    }

    /// Says what a call has to say, to its end.
    pub async fn tell(self, running: Running, id: Id, observed: Observed) {
        match running::first_word(running, Some(std::time::Duration::MAX)).await {
            Outcome::Done(done) => self.answer(&id, done, observed).await,
            Outcome::Goes(running, first) => {
                running::carry(running, first, id, self.frames, self.framing, observed).await;
            }
            Outcome::Cancelled => {}
        }
    }

    /// Passes frames on for as long as there are any.
    pub async fn forward(self, mut frames: mpsc::Receiver<Bytes>) {
        while let Some(frame) = frames.recv().await {
            if self.frames.send(frame).await.is_err() {
                return;
            }
        }
    }
}

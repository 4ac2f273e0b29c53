//! The reply to a session's call once it has become a stream: kept as it leaves, so that its client can go on with it
//! at any gateway.
//!
//! An event is named on the wire only after the log has it. A stream that never named one cannot be gone on with, and
//! keeps nothing. The call goes on whatever becomes of its client; what it says meanwhile waits in the log.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use switchyard_mcp::{Id, Refusal, Revision};
use switchyard_state::{NodeId, ReplyId, ReplyLog};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tracing::{debug, warn};

use crate::{
    calls::Step,
    dispatch::Dispatch,
    event_id::EventId,
    observe::Observed,
    running::{self, LAST_WORD, Running},
    sessions::Live,
    sse,
};

/// How long the log of a call that runs outlives the last sign of the gateway that the call runs through.
const KEEP: Duration = Duration::from_secs(5 * 60);

/// How often the end of a reply is noted again while the store is away, and how long to wait between.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(500);

/// One message on its way to the client.
pub enum Word {
    /// A notification; a client that does not read misses it.
    Notice(String),
    /// A question that the call waits for.
    Question(String),
    /// The answer to a request.
    Answer(String),
}

/// What a stream has to say.
pub enum Speech {
    /// What comes of one call.
    Call {
        /// The call.
        running: Running,
        /// The request's id.
        id: Id,
        /// Until it has ended.
        observed: Option<Observed>,
    },
    /// What comes of several.
    Batch(mpsc::Receiver<Word>),
}

impl Speech {
    /// The next message, or `None` after the last. Dropping the future loses nothing.
    async fn next(&mut self) -> Option<Word> {
        match self {
            Self::Batch(words) => words.recv().await,
            Self::Call { running, id, observed } => {
                observed.as_ref()?;
                loop {
                    match running.step().await? {
                        Step::Accepted => {}
                        Step::Notice(message) => return Some(Word::Notice(message)),
                        Step::Question(message) => return Some(Word::Question(message)),
                        Step::Done(done) => return Some(Word::Answer(conclude(id, &done, observed.take()))),
                    }
                }
            }
        }
    }
}

/// The message that answers a request, whose end is noted with it.
pub fn conclude(id: &Id, done: &Result<String, Refusal>, observed: Option<Observed>) -> String {
    if let Some(observed) = observed {
        running::settle(observed, done);
    }
    running::answer(id, done)
}

/// The kept reply to the calls of one request of a session.
pub struct Reply {
    log: Arc<dyn ReplyLog>,
    node: NodeId,
    id: ReplyId,
    /// The ids of the requests, as a JSON array.
    requests: String,
    revision: Revision,
    retry: Duration,
    is_kept: bool,
    /// What may not be missed and could not be kept yet, in order.
    unkept: VecDeque<String>,
}

impl Reply {
    /// The reply to requests of these ids. Nothing of it is kept yet.
    pub fn new(dispatch: &Dispatch, session: &Live, requests: &[Id]) -> Self {
        let gateway = &dispatch.gateway;
        let ids: Vec<_> = requests.iter().map(Id::as_json).collect();
        Self {
            log: gateway.replies.clone(),
            node: gateway.node.clone(),
            id: ReplyId { session: session.record.id.clone(), stream: uuid::Uuid::new_v4().simple().to_string() },
            requests: format!("[{}]", ids.join(",")),
            revision: session.revision,
            retry: gateway.options.stream_retry,
            is_kept: false,
            unkept: VecDeque::new(),
        }
    }

    /// Sends what is said, `first` before anything else, and keeps it. Ends with the calls, not with the client.
    pub async fn carry(mut self, first: Vec<Word>, mut speech: Speech, frames: mpsc::Sender<Bytes>) {
        let mut client = Some(frames);
        self.prime(&mut client).await;
        for word in first {
            self.say(word, &mut client).await;
        }
        loop {
            let gone = async {
                match &client {
                    Some(frames) => frames.closed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                word = speech.next() => match word {
                    Some(word) => self.say(word, &mut client).await,
                    None => break,
                },
                () = gone => client = None,
                // A call that is silent for long keeps its log by this.
                () = sleep(KEEP / 3), if self.is_kept => { self.open().await; }
                () = sleep(PAUSE), if !self.unkept.is_empty() => self.catch_up().await,
            }
        }
        // The stream ends now, whatever is still to be noted.
        drop(client);
        if self.is_kept {
            self.close().await;
        }
    }

    async fn close(&mut self) {
        for _ in 0..TRIES {
            self.catch_up().await;
            if self.unkept.is_empty() {
                match self.log.close(&self.id).await {
                    Ok(()) => return,
                    Err(error) => debug!(error = &error as &dyn std::error::Error, "could not note a reply's end yet"),
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Names the place before the first event, where the client's revision has that.
    async fn prime(&mut self, client: &mut Option<mpsc::Sender<Bytes>>) {
        if self.revision.primes_streams() && self.open().await {
            let frame = sse::priming(&self.name(0), self.retry);
            send(client, frame).await;
        }
    }

    async fn say(&mut self, word: Word, client: &mut Option<mpsc::Sender<Bytes>>) {
        let (message, may_be_missed) = match word {
            Word::Notice(message) => (message, true),
            Word::Question(message) | Word::Answer(message) => (message, false),
        };
        // Nobody can come back for what never had a name.
        let is_kept = self.is_kept || (client.is_some() && self.open().await);
        let number = if is_kept { self.keep(&message, may_be_missed).await } else { None };
        let frame = match number {
            Some(number) => sse::named_event(&self.name(number), &message),
            None => sse::event(&message),
        };
        match client {
            Some(frames) if may_be_missed => _ = frames.try_send(frame),
            _ => send(client, frame).await,
        }
    }

    /// Keeps a message, and returns its number. Behind one that could not be kept yet, the next ones wait.
    async fn keep(&mut self, message: &str, may_be_missed: bool) -> Option<u64> {
        if self.unkept.is_empty() {
            match self.log.append(&self.id, message.as_bytes()).await {
                Ok(number) => return number,
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "an event of a reply could not be kept yet");
                }
            }
        }
        if !may_be_missed {
            self.unkept.push_back(message.to_owned());
        }
        None
    }

    /// Tries again to keep what could not be kept.
    async fn catch_up(&mut self) {
        while let Some(message) = self.unkept.front() {
            if self.log.append(&self.id, message.as_bytes()).await.is_err() {
                return;
            }
            self.unkept.pop_front();
        }
    }

    /// Keeps the reply from now on. `false` where that cannot be.
    async fn open(&mut self) -> bool {
        if !self.revision.can_resume() {
            return false;
        }
        match self.log.open(&self.id, &self.node, &self.requests, KEEP).await {
            Ok(()) => self.is_kept = true,
            Err(error) => warn!(error = &error as &dyn std::error::Error, "a reply cannot be kept for its client now"),
        }
        self.is_kept
    }

    fn name(&self, number: u64) -> EventId {
        EventId::Reply { stream: self.id.stream.clone(), number }
    }
}

/// Sends a frame that may not be missed. A client that does not take it in time has gone.
async fn send(client: &mut Option<mpsc::Sender<Bytes>>, frame: Bytes) {
    if let Some(frames) = client
        && !matches!(timeout(LAST_WORD, frames.send(frame)).await, Ok(Ok(())))
    {
        *client = None;
    }
}

//! One client on a connection of its own: messages in, frames out.
//!
//! The connection is the session. Both eras may mix on it: a message with a modern `_meta` stands for itself, any other
//! belongs to the session that `initialize` opened. A transport hands over each message, writes the frames to its
//! client, and says how the connection ended; with it ends everything that the client asked for.

mod legacy;
mod modern;
mod voice;

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use serde_json::value::RawValue;
use switchyard_mcp::{
    Id, Message, Method, Params, Refusal, Request, RpcError, jsonrpc, jsonrpc::DecodeError, meta::Meta,
};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::timeout,
};

use crate::{
    connection::Framing,
    dispatch::Dispatch,
    failure,
    running::cancelled_id,
    sessions::Live,
    silence::{Grown, Silence},
};

use voice::Voice;

/// How many frames wait for a client that is slow to read them.
const FRAMES: usize = 64;

/// How long requests that run may take once the client has nothing more to say.
pub const FAREWELL: Duration = Duration::from_secs(5);

/// One client's conversation with this gateway.
pub struct Conversation {
    dispatch: Dispatch,
    voice: Voice,
    session: Option<Live>,
    /// What runs for the client, to be cancelled by it, and when it goes.
    requests: HashMap<Id, Asked>,
    tasks: JoinSet<()>,
    /// The stream that carries the session's news.
    standing: JoinSet<()>,
    pings: u64,
    /// The JSON text of the last ping's id, until its answer comes.
    pinged: Option<String>,
}

/// Why a conversation need not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Nobody takes what the client is told.
    Deaf,
    /// Nothing was heard of the client for too long.
    Silent,
    /// Its session is gone from the store, so it would hear no news any more.
    Lost,
    /// The gateway drains, and nothing runs here any more.
    Dismissed,
}

/// A request that runs as a task of its own.
struct Asked {
    task: AbortHandle,
    /// It is a stream that only its client or the connection ends.
    listens: bool,
}

impl Conversation {
    /// A conversation that has yet to begin, and the frames for its client.
    pub fn new(dispatch: Dispatch, framing: Framing) -> (Self, mpsc::Receiver<Bytes>) {
        let (frames, receiver) = mpsc::channel(FRAMES);
        let conversation = Self {
            dispatch,
            voice: Voice { frames, framing },
            session: None,
            requests: HashMap::new(),
            tasks: JoinSet::new(),
            standing: JoinSet::new(),
            pings: 0,
            pinged: None,
        };
        (conversation, receiver)
    }

    /// Takes one message, or a batch of them. Waits while the client does not read what it was told before.
    pub async fn receive(&mut self, body: Bytes) {
        let Err(DecodeError::Batch) = self.take(body.clone()).await else { return };
        let takes_batches = self.session.as_ref().is_some_and(|session| session.revision.has_batches());
        let messages: Vec<&RawValue> = serde_json::from_slice(&body).unwrap_or_default();
        if !takes_batches || messages.is_empty() {
            let error = RpcError::invalid_request("this must be one message; an array of them is not taken");
            return self.refuse(None, &error).await;
        }
        for message in messages {
            if let Err(DecodeError::Batch) = self.take(body.slice_ref(message.get().as_bytes())).await {
                let error = RpcError::invalid_request("a batch has messages, and not batches");
                self.refuse(None, &error).await;
            }
        }
    }

    /// Takes one message. The error is that it is a batch; whatever else is wrong has been answered.
    async fn take(&mut self, body: Bytes) -> Result<(), DecodeError> {
        self.forget_what_is_done();
        match jsonrpc::decode(&body) {
            Ok(Message::Request(request)) => self.request(&request, &body).await,
            Ok(Message::Notification { method, params }) if method == "notifications/cancelled" => {
                self.cancelled(params);
            }
            Ok(Message::Notification { method, params }) => self.note(&method, params).await,
            Ok(Message::Response { id }) => self.answered(&id, &body).await,
            Err(DecodeError::Invalid { id, error }) => self.refuse(id.as_ref(), &error).await,
            Err(DecodeError::Batch) => return Err(DecodeError::Batch),
        }
        Ok(())
    }

    /// Tells the client what is wrong with what it said.
    pub async fn refuse(&self, id: Option<&Id>, error: &RpcError) {
        let null_id = self.session.as_ref().is_some_and(|session| !session.revision.omits_unknown_id());
        self.voice.say(&jsonrpc::failure(id, null_id, error)).await;
    }

    /// The frame that goes before all others.
    pub fn begin_with(&self, frame: Bytes) {
        self.voice.frames.try_send(frame).expect("nothing was said yet, and so there is room");
    }

    /// Resolves once there is no use in going on.
    pub async fn over(&mut self) -> Over {
        let Self { dispatch, voice, tasks, standing, .. } = self;
        let gateway = &dispatch.gateway;
        let dismissed = async {
            _ = gateway.draining().wait_for(|draining| *draining).await;
            while tasks.join_next().await.is_some() {}
        };
        let lost = async {
            // A gateway that drains ends these streams itself.
            if standing.join_next().await.is_none() || *gateway.draining().borrow() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = voice.frames.closed() => Over::Deaf,
            () = dismissed => Over::Dismissed,
            () = lost => Over::Lost,
        }
    }

    /// The same, and also once the client was silent for too long. Asks it for a sign of life before that.
    pub async fn over_or_silent(&mut self, silence: &mut Silence) -> Over {
        loop {
            let grown = tokio::select! {
                over = self.over() => return over,
                grown = silence.grown() => grown,
            };
            match grown {
                // It waits for us.
                _ if self.is_busy() => silence.broken(),
                Grown::Ask => self.ping(),
                Grown::TooLong => return Over::Silent,
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.requests.values().any(|asked| !asked.task.is_finished())
    }

    /// The client has nothing more to say, but may still read: what runs comes to its end, though not for long.
    pub async fn finish(mut self) {
        // Streams would never end by themselves.
        self.requests.values().filter(|asked| asked.listens).for_each(|asked| asked.task.abort());
        let done = async { while self.tasks.join_next().await.is_some() {} };
        _ = timeout(FAREWELL, done).await;
        self.hang_up().await;
    }

    /// The client is gone, and so is everything that it asked for.
    pub async fn hang_up(mut self) {
        let requests: Vec<_> = self.requests.keys().cloned().collect();
        requests.iter().for_each(|id| self.cancel(id));
        self.tasks.shutdown().await;
        self.standing.shutdown().await;
        self.end_session().await;
    }

    async fn request(&mut self, request: &Request<'_>, body: &Bytes) {
        if let Err(refusal) = self.check_room(&request.id) {
            return self.refuse(Some(&request.id), &refusal.error).await;
        }
        let meta = Meta::read(Params::read(request.params).unwrap_or_default().meta);
        if meta.is_modern() {
            self.ask_stateless(request, body.clone());
        } else if request.method == Method::Initialize.name() {
            self.handshake(request).await;
        } else {
            self.ask_in_session(request, body).await;
        }
    }

    /// Whether one more request may run.
    fn check_room(&self, id: &Id) -> Result<(), Refusal> {
        if *self.dispatch.gateway.draining().borrow() {
            return Err(failure::overloaded("this server is about to stop; connect again"));
        }
        if self.requests.contains_key(id) {
            return Err(Refusal::new(400, RpcError::invalid_request(format!("a request with id {id} runs already"))));
        }
        if self.requests.len() >= self.dispatch.gateway.options.max_requests_per_connection {
            return Err(failure::overloaded("too many requests run on this connection already"));
        }
        Ok(())
    }

    /// Runs a request beside the conversation.
    fn run(&mut self, id: &Id, listens: bool, work: impl Future<Output = ()> + 'static) {
        let task = self.tasks.spawn_local(work);
        self.requests.insert(id.clone(), Asked { task, listens });
    }

    fn forget_what_is_done(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        self.requests.retain(|_, asked| !asked.task.is_finished());
    }

    /// The client gave a request up; nothing more may be said of it.
    fn cancelled(&mut self, params: Option<&RawValue>) {
        if let Some(id) = cancelled_id(params) {
            self.cancel(&id);
        }
    }

    fn cancel(&mut self, id: &Id) {
        if let Some(asked) = self.requests.remove(id) {
            asked.task.abort();
        }
        // A session's call does not end with the task that says what comes of it.
        if let Some(session) = &self.session {
            self.dispatch.gateway.ledger.calls.cancel(&session.record.id.0, id);
        }
    }
}

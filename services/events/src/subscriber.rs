//! One reader of the log: where it stands, and what it is told next.
//!
//! It holds one batch and an offset, nothing else, so a reader that does not read costs nothing and delays nobody.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream, stream::BoxStream};
use switchyard_proto::v1::{Event, Position, SubscribeReply, SubscribeRequest, subscribe_reply::Reply};
use switchyard_state::{Offset, StoreError};
use tokio::sync::watch;
use tonic::Status;

use crate::{
    pause::Backoff,
    tail::{Found, Stored, Tail},
};

/// How many entries a reader takes at a time.
const BATCH: usize = 64;

pub(crate) struct Subscriber {
    tail: Arc<Tail>,
    moves: watch::Receiver<()>,
    /// The epoch that `after` belongs to; empty until the reader has its place.
    epoch: String,
    after: Offset,
    /// The reader was told where it stands.
    placed: bool,
    ready: VecDeque<SubscribeReply>,
    backoff: Backoff,
}

impl Subscriber {
    pub fn new(tail: Arc<Tail>, request: SubscribeRequest) -> Self {
        let moves = tail.moves();
        Self {
            tail,
            moves,
            epoch: request.epoch,
            after: Offset(request.after),
            placed: false,
            ready: VecDeque::new(),
            backoff: Backoff::default(),
        }
    }

    /// Everything the reader is told, without end.
    pub fn replies(self) -> BoxStream<'static, Result<SubscribeReply, Status>> {
        stream::unfold(self, |mut reader| async move {
            let reply = reader.next().await;
            Some((Ok(reply), reader))
        })
        .boxed()
    }

    async fn next(&mut self) -> SubscribeReply {
        loop {
            if let Some(reply) = self.ready.pop_front() {
                return reply;
            }
            self.moves.borrow_and_update();
            let step = if self.placed { self.go_on().await } else { self.take_place().await };
            match step {
                Ok(()) => drop(self.backoff.over()),
                Err(error) => {
                    tracing::debug!(error = &error as &dyn std::error::Error, "a reader waits for the event log");
                    self.backoff.wait().await;
                }
            }
        }
    }

    /// The first reply: where the reader stands.
    async fn take_place(&mut self) -> Result<(), StoreError> {
        if self.epoch.is_empty() {
            let position = self.tail.log().position().await?;
            self.place(position.epoch, position.last, false);
            return Ok(());
        }
        if let Found::Elsewhere = self.tail.find(&self.epoch, self.after, 1) {
            let batch = self.tail.log().read(&self.epoch, self.after, 1, Duration::ZERO).await?;
            if batch.lost {
                self.place(batch.epoch, batch.resume, true);
                return Ok(());
            }
        }
        self.place(self.epoch.clone(), self.after, false);
        Ok(())
    }

    fn place(&mut self, epoch: String, at: Offset, lost: bool) {
        self.placed = true;
        self.after = at;
        self.ready.push_back(reply(Reply::Position(Position { epoch: epoch.clone(), offset: at.0, lost })));
        self.epoch = epoch;
    }

    /// The next entries: from the tail, or from the log for a reader that fell behind it.
    async fn go_on(&mut self) -> Result<(), StoreError> {
        match self.tail.find(&self.epoch, self.after, BATCH) {
            Found::Entries(entries) => self.take(entries),
            Found::Nothing => {
                // The sender lives in the tail, which this reader holds.
                let _ = self.moves.changed().await;
            }
            Found::Elsewhere => self.catch_up().await?,
        }
        Ok(())
    }

    async fn catch_up(&mut self) -> Result<(), StoreError> {
        let batch = self.tail.log().read(&self.epoch, self.after, BATCH, Duration::ZERO).await?;
        if batch.lost {
            self.place(batch.epoch, batch.resume, true);
        } else if batch.entries.is_empty() {
            // The end of the log, which the tail has yet to reach.
            let _ = self.moves.changed().await;
        } else {
            self.take(batch.entries.into_iter().map(|entry| self.tail.read(entry)).collect());
        }
        Ok(())
    }

    fn take(&mut self, entries: Vec<Stored>) {
        for entry in entries {
            self.after = entry.offset;
            if let Some(fact) = entry.fact {
                let fact = Some(Arc::unwrap_or_clone(fact));
                self.ready.push_back(reply(Reply::Event(Event { offset: entry.offset.0, fact })));
            }
        }
    }
}

fn reply(reply: Reply) -> SubscribeReply {
    SubscribeReply { reply: Some(reply) }
}

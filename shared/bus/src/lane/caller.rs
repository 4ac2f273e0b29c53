//! A lane at its caller.

use std::{future::poll_fn, sync::Arc, task::Context, task::Poll};

use switchyard_proto::v1::{CompleteReply, lane_client::LaneClient, lane_request::Frame};
use tonic::{Code, Status};

use super::{
    events::LaneEvents,
    outbox::Outbox,
    table::{Came, Held, Table},
};
use crate::{
    link::{Link, LinkError},
    service::CallEvents,
};

/// What a frame has beside its message, in bytes.
const FRAME: usize = 1024;

/// An open lane; clones share it. It closes when the last clone and the last call are gone.
#[derive(Clone)]
pub(crate) struct Lane {
    table: Arc<Table>,
    _held: Arc<Held>,
}

impl Lane {
    /// Opens a lane on a connection, for events of at most `limit` bytes. `None` where the node has none.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn open(link: &Link, limit: usize) -> Result<Option<Self>, Status> {
        let table = Arc::<Table>::default();
        let held = Arc::new(Held(table.clone()));
        let client = LaneClient::with_origin(link.clone(), link.origin());
        let mut client = client.max_decoding_message_size(limit.saturating_add(FRAME));
        let mut replies = match client.open(Outbox(table.clone())).await {
            Ok(replies) => replies.into_inner(),
            Err(status) if status.code() == Code::Unimplemented => return Ok(None),
            Err(status) => return Err(status),
        };
        let reading = table.clone();
        // Ends with the lane, which ends with the connection at the latest.
        tokio::spawn(async move {
            while let Ok(Some(reply)) = replies.message().await {
                reading.take(reply);
            }
            reading.fail();
        });
        Ok(Some(Self { table, _held: held }))
    }

    /// No further call can be begun on it.
    pub fn is_closed(&self) -> bool {
        self.table.is_closed()
    }

    /// Begins a call that answers with events, and waits for the first. Dropping the future or the stream cancels it.
    pub async fn call(self, link: Link, frame: Frame, limit: usize) -> Result<CallEvents, Status> {
        let call = self.begin(frame)?;
        match call.came().await {
            Came::Failed(status) => Err(call.over(status)),
            first => Ok(Box::pin(LaneEvents::new(call, first, link, limit))),
        }
    }

    /// Makes a call that has one answer. Dropping the future cancels it.
    pub async fn complete(self, frame: Frame) -> Result<CompleteReply, Status> {
        let call = self.begin(frame)?;
        match call.came().await {
            Came::Completed(reply) => Ok(call.over(reply)),
            Came::Failed(status) => Err(call.over(status)),
            Came::Event(_) | Came::Ended | Came::Rest(_) => Err(Status::unavailable("the node answered nothing")),
        }
    }

    fn begin(self, frame: Frame) -> Result<LaneCall, Status> {
        let number = self.table.begin(frame);
        let number = number.ok_or_else(|| Status::from_error(Box::new(LinkError::LaneEnded)))?;
        Ok(LaneCall { lane: self, number, is_over: false })
    }
}

/// A call on a lane; dropping it cancels what is not over.
pub(super) struct LaneCall {
    lane: Lane,
    number: u64,
    is_over: bool,
}

impl LaneCall {
    async fn came(&self) -> Came {
        poll_fn(|context| self.poll_came(context)).await
    }

    pub fn poll_came(&self, context: &Context<'_>) -> Poll<Came> {
        self.lane.table.poll_came(self.number, context)
    }

    /// Nothing more will come, and nothing need be cancelled.
    pub fn over<T>(mut self, last: T) -> T {
        self.is_over = true;
        last
    }
}

impl Drop for LaneCall {
    fn drop(&mut self) {
        self.lane.table.end(self.number, self.is_over);
    }
}

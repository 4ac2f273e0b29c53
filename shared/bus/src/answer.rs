//! The stream of a running call, as its caller sees it: counted and traced until it ends, and never ending in silence.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::{Stream, stream::BoxStream};
use switchyard_proto::v1::{CallEvent, SubscribeReply, call_event::Event};
use tonic::Status;

use crate::{failed::settled, ticket::Ticket, trace};

/// An item of an answer.
pub(crate) trait Item: Send + 'static {
    /// An answer is not complete without one.
    const NEEDS_LAST: bool;

    fn is_last(&self) -> bool;
}

impl Item for CallEvent {
    const NEEDS_LAST: bool = true;

    fn is_last(&self) -> bool {
        matches!(
            self.event,
            Some(Event::NeedInput(_) | Event::Tool(_) | Event::Resource(_) | Event::Prompt(_) | Event::Task(_))
        )
    }
}

impl Item for SubscribeReply {
    const NEEDS_LAST: bool = false;

    fn is_last(&self) -> bool {
        false
    }
}

/// A stream and what it holds while it runs.
pub(crate) struct Answer<T> {
    events: BoxStream<'static, Result<T, Status>>,
    /// Gone once the answer is complete or failed.
    ticket: Option<Ticket>,
}

impl<T: Item> Answer<T> {
    pub fn new(events: BoxStream<'static, Result<T, Status>>, ticket: Ticket) -> Self {
        Self { events, ticket: Some(ticket) }
    }

    fn fail(&mut self, status: Status) -> Poll<Option<Result<T, Status>>> {
        let status = match self.ticket.take() {
            Some(ticket) => {
                let status = settled(status, &ticket.node.id);
                trace::failed(&ticket.span, &status);
                status
            }
            None => status,
        };
        Poll::Ready(Some(Err(status)))
    }
}

impl<T: Item> Stream for Answer<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = ready!(self.events.as_mut().poll_next(context));
        if self.ticket.is_none() {
            return Poll::Ready(None);
        }
        match event {
            Some(Ok(event)) => {
                if event.is_last() {
                    self.ticket = None;
                }
                Poll::Ready(Some(Ok(event)))
            }
            Some(Err(status)) => self.fail(status),
            None if T::NEEDS_LAST => self.fail(Status::unavailable("the service ended the call without a result")),
            None => {
                self.ticket = None;
                Poll::Ready(None)
            }
        }
    }
}

//! The events of a call on a lane, the last of which may come by a way of their own.

use std::{
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::{FutureExt, Stream, future::BoxFuture};
use switchyard_proto::v1::{CallEvent, RestRequest, lane_client::LaneClient};
use tonic::Status;

use super::{caller::LaneCall, table::Came};
use crate::{answer::Item, link::Link, service::CallEvents};

pub(super) struct LaneEvents {
    from: From,
    link: Link,
    /// The largest event, in bytes.
    limit: usize,
}

enum From {
    First(LaneCall, Came),
    Lane(LaneCall),
    /// The rest is being fetched; the call lasts for as long.
    Fetching(LaneCall, BoxFuture<'static, Result<CallEvents, Status>>),
    Rest(CallEvents),
    Over,
}

impl LaneEvents {
    pub fn new(call: LaneCall, first: Came, link: Link, limit: usize) -> Self {
        Self { from: From::First(call, first), link, limit }
    }

    fn hear(&mut self, call: LaneCall, came: Came) -> Option<Option<Result<CallEvent, Status>>> {
        match came {
            Came::Event(event) if event.is_last() => Some(Some(call.over(Ok(event)))),
            Came::Event(event) => {
                self.from = From::Lane(call);
                Some(Some(Ok(event)))
            }
            Came::Failed(status) => Some(Some(call.over(Err(status)))),
            Came::Ended => Some(call.over(None)),
            Came::Completed(_) => Some(Some(Err(Status::unavailable("the node answered another question")))),
            Came::Rest(token) => {
                self.from = From::Fetching(call, fetch(self.link.clone(), token, self.limit));
                None
            }
        }
    }
}

fn fetch(link: Link, token: String, limit: usize) -> BoxFuture<'static, Result<CallEvents, Status>> {
    async move {
        let mut client = LaneClient::with_origin(link.clone(), link.origin()).max_decoding_message_size(limit);
        let rest: CallEvents = Box::pin(client.rest(RestRequest { token }).await?.into_inner());
        Ok(rest)
    }
    .boxed()
}

impl Stream for LaneEvents {
    type Item = Result<CallEvent, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match mem::replace(&mut self.from, From::Over) {
                From::First(call, first) => {
                    if let Some(event) = self.hear(call, first) {
                        return Poll::Ready(event);
                    }
                }
                From::Lane(call) => {
                    let Poll::Ready(came) = call.poll_came(context) else {
                        self.from = From::Lane(call);
                        return Poll::Pending;
                    };
                    if let Some(event) = self.hear(call, came) {
                        return Poll::Ready(event);
                    }
                }
                From::Fetching(call, mut fetching) => match fetching.as_mut().poll(context) {
                    Poll::Ready(Ok(rest)) => {
                        // Nobody need keep it for us any more.
                        drop(call);
                        self.from = From::Rest(rest);
                    }
                    Poll::Ready(Err(status)) => return Poll::Ready(Some(Err(status))),
                    Poll::Pending => {
                        self.from = From::Fetching(call, fetching);
                        return Poll::Pending;
                    }
                },
                From::Rest(mut rest) => {
                    let event = rest.as_mut().poll_next(context);
                    self.from = From::Rest(rest);
                    return Poll::Ready(ready!(event));
                }
                From::Over => return Poll::Ready(None),
            }
        }
    }
}

//! Parts of the inside that meet whatever a client sends, as far as they can be tried without a network. Only tests
//! have them.

use std::{
    pin::Pin,
    task::{Context, Poll},
    vec,
};

use actix_web::{
    FromRequest, dev,
    error::PayloadError,
    http::{Version, header},
    test::TestRequest,
    web,
};
use bytes::Bytes;
use futures_util::{FutureExt, Stream};

pub use crate::{
    event_id::EventId,
    seal::{Purpose, Seal},
    sse::{event, named_event, priming, retry},
    websocket::incoming::Received,
};

use crate::websocket::incoming::{Incoming, without_oversize};

/// What is heard of a client whose bytes come over a WebSocket in these pieces, up to what ends the connection.
/// Messages have at most `limit` bytes.
pub async fn heard_by_websocket(pieces: Vec<Bytes>, limit: usize) -> Vec<Received> {
    let request = TestRequest::default()
        .version(Version::HTTP_11)
        .insert_header((header::CONNECTION, "upgrade"))
        .insert_header((header::UPGRADE, "websocket"))
        .insert_header((header::SEC_WEBSOCKET_VERSION, "13"))
        .insert_header((header::SEC_WEBSOCKET_KEY, "AAAAAAAAAAAAAAAAAAAAAA=="))
        .to_http_request();
    let pieces = Pieces { rest: pieces.into_iter(), between: false };
    let stream: Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>> = Box::pin(pieces);
    let mut payload = dev::Payload::Stream { payload: stream };
    let taken = web::Payload::from_request(&request, &mut payload).now_or_never();
    let payload = taken.and_then(Result::ok).expect("taking a payload neither waits nor fails");
    let payload = without_oversize(&request, payload, limit);
    // The response stands for the open connection.
    let (_response, _session, messages) =
        actix_ws::handle_with_protocols(&request, payload, &[]).expect("the request is an upgrade");
    let mut incoming = Incoming::new(messages, limit);
    let mut heard = Vec::new();
    loop {
        let next = incoming.next().await;
        let goes_on = matches!(next, Received::Message(_) | Received::Ping(_) | Received::Pong);
        heard.push(next);
        if !goes_on {
            return heard;
        }
    }
}

/// Bytes that come in pieces, with time to look at each.
struct Pieces {
    rest: vec::IntoIter<Bytes>,
    between: bool,
}

impl Stream for Pieces {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.between = !self.between;
        if self.between {
            return Poll::Ready(self.rest.next().map(Ok));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

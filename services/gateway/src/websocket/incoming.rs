//! What comes in on a WebSocket: whole messages within the limit, however they were cut into frames.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{FromRequest, HttpRequest, dev, error::PayloadError, web};
use actix_ws::{CloseCode, CloseReason, Item, Message, MessageStream, ProtocolError};
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, Stream};

/// The longest head of a frame, in bytes: two, a length of eight, a mask of four.
const MAX_HEAD: usize = 14;

/// What a client sent, or why it may send no more.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A text message.
    Message(Bytes),
    /// Something to be sent back.
    Ping(Bytes),
    /// A sign of life.
    Pong,
    /// The client's last word.
    Close(Option<CloseReason>),
    /// Something that ends the connection.
    Bad(CloseCode, &'static str),
    /// The client is gone.
    End,
}

/// The messages of one client.
pub struct Incoming {
    messages: MessageStream,
    limit: usize,
    /// The message whose frames are coming.
    parts: BytesMut,
}

impl Incoming {
    /// Messages of at most `limit` bytes.
    pub fn new(messages: MessageStream, limit: usize) -> Self {
        Self { messages: messages.max_frame_size(limit), limit, parts: BytesMut::new() }
    }

    /// The next thing. Dropping the future loses none.
    pub async fn next(&mut self) -> Received {
        loop {
            let message = match self.messages.recv().await {
                Some(Ok(message)) => message,
                Some(Err(error)) => return broken(&error),
                None => return Received::End,
            };
            let last = match message {
                Message::Text(text) => return Received::Message(text.into_bytes()),
                Message::Ping(bytes) => return Received::Ping(bytes),
                Message::Pong(_) => return Received::Pong,
                Message::Close(reason) => return Received::Close(reason),
                Message::Binary(_) | Message::Continuation(Item::FirstBinary(_)) => {
                    return Received::Bad(CloseCode::Unsupported, "messages are text");
                }
                Message::Nop => continue,
                Message::Continuation(Item::FirstText(part) | Item::Continue(part)) => (part, false),
                Message::Continuation(Item::Last(part)) => (part, true),
            };
            let (part, is_last) = last;
            if self.parts.len() + part.len() > self.limit {
                return TOO_LARGE;
            }
            self.parts.extend_from_slice(&part);
            if is_last {
                let message = self.parts.split().freeze();
                return if std::str::from_utf8(&message).is_ok() { Received::Message(message) } else { NOT_TEXT };
            }
        }
    }
}

const TOO_LARGE: Received = Received::Bad(CloseCode::Size, "the message is larger than the limit");
const NOT_TEXT: Received = Received::Bad(CloseCode::Invalid, "the message is no UTF-8");

fn broken(error: &ProtocolError) -> Received {
    match error {
        ProtocolError::Overflow => TOO_LARGE,
        ProtocolError::Io(error) => match error.get_ref() {
            Some(inner) if inner.is::<std::str::Utf8Error>() => NOT_TEXT,
            Some(inner) if matches!(inner.downcast_ref(), Some(PayloadError::Overflow)) => TOO_LARGE,
            _ if error.kind() == io::ErrorKind::InvalidData => {
                Received::Bad(CloseCode::Protocol, "a frame has bits set that nobody agreed on")
            }
            _ => Received::End,
        },
        _ => Received::Bad(CloseCode::Protocol, "a frame is broken"),
    }
}

/// The same bytes up to the head of a frame that is larger than `limit`. The frame itself is never kept.
pub fn without_oversize(request: &HttpRequest, payload: web::Payload, limit: usize) -> web::Payload {
    let frames = Frames { payload: payload.into_inner(), limit, head: Vec::with_capacity(MAX_HEAD), rest: 0 };
    let frames: Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>> = Box::pin(frames);
    let mut payload = dev::Payload::Stream { payload: frames };
    let taken = web::Payload::from_request(request, &mut payload).now_or_never();
    taken.and_then(Result::ok).expect("taking a payload neither waits nor fails")
}

/// Bytes of frames, each of which begins with its length.
struct Frames {
    payload: dev::Payload,
    limit: usize,
    /// So much of a frame's head has come.
    head: Vec<u8>,
    /// So much of a frame's body is still to come, in bytes.
    rest: u64,
}

impl Frames {
    /// Notes what comes. `false` at the head of a frame that is too large.
    fn pass(&mut self, mut bytes: &[u8]) -> bool {
        while let Some((first, others)) = bytes.split_first() {
            if self.rest > 0 {
                let passed = usize::try_from(self.rest).map_or(bytes.len(), |rest| rest.min(bytes.len()));
                self.rest -= passed as u64;
                bytes = &bytes[passed..];
                continue;
            }
            self.head.push(*first);
            bytes = others;
            let Some((head, length)) = length(&self.head) else { continue };
            if length > self.limit as u64 {
                return false;
            }
            if self.head.len() == head {
                self.head.clear();
                self.rest = length;
            }
        }
        true
    }
}

/// The size of a frame's head and of its body, once enough of the head is there.
fn length(head: &[u8]) -> Option<(usize, u64)> {
    let second = *head.get(1)?;
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    match second & 0x7f {
        126 => Some((4 + mask, u16::from_be_bytes(head.get(2..4)?.try_into().ok()?).into())),
        127 => Some((10 + mask, u64::from_be_bytes(head.get(2..10)?.try_into().ok()?))),
        short => Some((2 + mask, short.into())),
    }
}

impl Stream for Frames {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.payload).poll_next(context);
        let Poll::Ready(Some(Ok(bytes))) = polled else { return polled };
        Poll::Ready(Some(if self.pass(&bytes) { Ok(bytes) } else { Err(PayloadError::Overflow) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(limit: usize) -> Frames {
        Frames { payload: dev::Payload::None, limit, head: Vec::new(), rest: 0 }
    }

    /// A masked frame of this many bytes.
    fn frame(size: usize) -> Vec<u8> {
        let mut frame = vec![0x81];
        match size {
            0..126 => frame.push(0x80 | size as u8),
            126..65536 => {
                frame.push(0x80 | 126);
                frame.extend((size as u16).to_be_bytes());
            }
            _ => {
                frame.push(0x80 | 127);
                frame.extend((size as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.resize(frame.len() + size, b'x');
        frame
    }

    #[test]
    fn frames_up_to_the_limit_pass_however_they_are_cut() {
        let bytes: Vec<u8> = [0, 1, 125, 126, 65_535, 65_536, 70_000].into_iter().flat_map(frame).collect();
        for step in [1, 2, 3, 7, 1000, bytes.len()] {
            let mut frames = frames(70_000);

            assert!(bytes.chunks(step).all(|chunk| frames.pass(chunk)), "in steps of {step}");

            assert!(frames.head.is_empty() && frames.rest == 0, "in steps of {step}");
        }
    }

    #[test]
    fn a_frame_above_the_limit_is_stopped_at_its_head() {
        for size in [200, 65_536] {
            let mut frames = frames(199);
            let head = &frame(size)[..10];

            assert!(frames.pass(&frame(199)));
            assert!(!frames.pass(head));
        }
    }
}

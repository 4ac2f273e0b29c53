//! Server-sent events: one message an event, comments while nothing happens.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::Stream;
use tokio::{
    sync::mpsc,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};

use crate::event_id::EventId;

/// One message as an event. JSON has line breaks only between its tokens, where a space does as well.
pub fn event(json: &str) -> Bytes {
    let mut event = String::with_capacity(json.len() + 24);
    event.push_str("event: message\ndata: ");
    event.push_str(&one_line(json));
    event.push_str("\n\n");
    event.into()
}

/// The same, with the name by which its client can go on after it.
pub fn named_event(id: &EventId, json: &str) -> Bytes {
    format!("id: {id}\nevent: message\ndata: {}\n\n", one_line(json)).into()
}

/// An event without a message, from which a client can go on when the stream breaks off before it says anything; and
/// how long the client should wait before it does.
pub fn priming(id: &EventId, retry: Duration) -> Bytes {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into()
}

/// Says how long the client should wait before it comes back; the stream ends after this.
pub fn retry(after: Duration) -> Bytes {
    format!("retry: {}\n\n", after.as_millis()).into()
}

/// The same JSON on one line.
pub fn one_line(json: &str) -> std::borrow::Cow<'_, str> {
    if json.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return json.replace(['\n', '\r'], " ").into();
    }
    json.into()
}

/// The body of a response that is a stream: frames as they come, and a comment whenever none has come for a while.
/// Dropping it, which is what happens when the client hangs up, closes the frames' channel.
pub struct Body {
    frames: mpsc::Receiver<Bytes>,
    idle: Interval,
}

impl Body {
    /// Sends `frames`, and a comment each `keep_alive` without any.
    pub fn new(frames: mpsc::Receiver<Bytes>, keep_alive: Duration) -> Self {
        let mut idle = interval_at(Instant::now() + keep_alive, keep_alive);
        idle.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { frames, idle }
    }
}

impl Stream for Body {
    type Item = Result<Bytes, actix_web::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(frame) = self.frames.poll_recv(context) {
            self.idle.reset();
            return Poll::Ready(frame.map(Ok));
        }
        self.idle.poll_tick(context).map(|_| Some(Ok(Bytes::from_static(b": keep-alive\n\n"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_whatever_its_layout() {
        let frame = event("{\r\n \"a\": \"x\\ny\"\n}");

        let text = String::from_utf8_lossy(&frame).into_owned();
        assert_eq!(text, "event: message\ndata: {   \"a\": \"x\\ny\" }\n\n");
    }

    #[test]
    fn an_event_with_a_name_says_it_first() {
        let id = EventId::Reply { stream: "a".into(), number: 1 };

        assert_eq!(named_event(&id, "{}"), "id: reply/a/1\nevent: message\ndata: {}\n\n");
        assert_eq!(priming(&id, Duration::from_secs(1)), "id: reply/a/1\nretry: 1000\ndata: \n\n");
    }
}

//! Server-sent events as they come off the wire, comments included.

use std::{collections::VecDeque, time::Duration};

use serde_json::Value;

use crate::{PATIENCE, Response, request::session_in, within};

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its id, when it has one.
    pub id: Option<String>,
    /// Its name; empty for the default.
    pub name: String,
    /// Its data, lines joined.
    pub data: String,
    /// The reconnection time that came with it, in milliseconds.
    pub retry: Option<u64>,
}

impl Event {
    /// The JSON-RPC message in its data.
    ///
    /// # Panics
    /// When the data is no JSON.
    pub fn message(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("an event without JSON ({error}): {self:?}"))
    }
}

/// What a stream is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An event.
    Event(Event),
    /// A comment, which only keeps the connection alive.
    Comment(String),
}

/// The events of one response. Dropping it closes the connection.
#[derive(Debug)]
pub struct EventStream {
    response: Response,
    /// What came and is no whole line yet.
    rest: Vec<u8>,
    /// The event whose lines are coming; `None` before its first line.
    open: Option<Event>,
    frames: VecDeque<Frame>,
}

impl EventStream {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, rest: Vec::new(), open: None, frames: VecDeque::new() }
    }

    /// The value of a header of the response.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.header(name)
    }

    /// The next event or comment; `None` once the stream has ended.
    ///
    /// # Panics
    /// When nothing comes within `limit`, or the stream breaks.
    pub async fn frame_within(&mut self, limit: Duration) -> Option<Frame> {
        within(limit, "an event", self.read_frame()).await.expect("the stream does not break")
    }

    /// The next event; `None` once the stream has ended.
    ///
    /// # Panics
    /// When none comes, or the stream breaks.
    pub async fn event(&mut self) -> Option<Event> {
        within(PATIENCE, "an event", async {
            loop {
                match self.read_frame().await.expect("the stream does not break") {
                    Some(Frame::Event(event)) => return Some(event),
                    Some(Frame::Comment(_)) => {}
                    None => return None,
                }
            }
        })
        .await
    }

    /// The next JSON-RPC message; events without data are passed over.
    ///
    /// # Panics
    /// When none comes, or the stream ends or breaks.
    pub async fn message(&mut self) -> Value {
        loop {
            match self.event().await {
                Some(event) if event.data.is_empty() => {}
                Some(event) => return event.message(),
                None => panic!("the stream ended where a message was expected"),
            }
        }
    }

    /// Whether the stream has ended or broken; messages that come before are dropped.
    pub async fn ended(&mut self) -> bool {
        within(PATIENCE, "the end of a stream", async { while let Ok(Some(_)) = self.read_frame().await {} }).await;
        true
    }

    /// The messages that come before `quiet` passes without one.
    ///
    /// # Panics
    /// When the stream ends or breaks.
    pub async fn messages_until_quiet(&mut self, quiet: Duration) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Ok(frame) = tokio::time::timeout(quiet, self.read_frame()).await {
            match frame.expect("the stream does not break").expect("the stream stays open") {
                Frame::Event(event) if !event.data.is_empty() => messages.push(event.message()),
                Frame::Event(_) | Frame::Comment(_) => {}
            }
        }
        messages
    }

    /// Reads on. Dropping the future loses nothing.
    async fn read_frame(&mut self) -> std::io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Ok(Some(frame));
            }
            match self.response.piece().await? {
                Some(piece) => self.take(&piece),
                None => return Ok(None),
            }
        }
    }

    fn take(&mut self, piece: &[u8]) {
        self.rest.extend(piece);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8(line).expect("events are UTF-8");
            self.take_line(line.trim_end_matches(['\r', '\n']));
        }
    }

    /// Judges what the event says, whether the test looks at it or not.
    fn judge(&self, event: &Event) {
        match event.name.as_str() {
            "endpoint" => {
                if let Some(session) = session_in(&event.data) {
                    self.response.record.opened(session);
                }
            }
            _ if event.data.is_empty() => {}
            _ => self.response.record.heard(&event.message()),
        }
    }

    fn take_line(&mut self, line: &str) {
        if line.is_empty() {
            if let Some(event) = self.open.take() {
                self.judge(&event);
                self.frames.push_back(Frame::Event(event));
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        if field.is_empty() {
            return self.frames.push_back(Frame::Comment(value.to_owned()));
        }
        let event = self.open.get_or_insert_with(Event::default);
        match field {
            "id" => event.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut event.name),
            "retry" => event.retry = value.parse().ok(),
            "data" if event.data.is_empty() => value.clone_into(&mut event.data),
            "data" => event.data += &format!("\n{value}"),
            _ => panic!("`{line}` is no line of an event"),
        }
    }
}

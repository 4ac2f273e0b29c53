//! The writers of frames: whatever a message holds, its reader gets one message, and the same.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use switchyard_gateway::{
    stdio,
    testing::{EventId, event, named_event, priming, retry},
};
use switchyard_mcp::sse::Parser;

use crate::{
    event_source::{self, Heard},
    small_number,
};

/// Bytes that are to be a message, after one that says where the stream is cut.
///
/// # Panics
/// When an event or a line reads as something else than the message.
pub fn sse_writer(data: &[u8]) {
    let (step, message) = small_number(data);
    let message = String::from_utf8_lossy(message);
    let told = message.replace(['\n', '\r'], " ");
    if let Ok(before) = serde_json::from_str::<Value>(&message) {
        assert_eq!(serde_json::from_str::<Value>(&told).ok(), Some(before), "what is told is the same JSON");
    }

    let letters: String = message.chars().filter(char::is_ascii_graphic).take(100).collect();
    let id = EventId::parse(&format!("reply/{letters}/{step}")).expect("it is a name of ours");
    let wait = Some(step as u64);
    let duration = Duration::from_millis(step as u64);
    let (data, none) = (Some(told), Heard::default());
    let (name, named) = ("message".to_owned(), Some(id.to_string()));
    let frames = [
        (event(&message), Heard { name: name.clone(), data: data.clone(), ..none.clone() }),
        (Bytes::from_static(b": keep-alive\n\n"), none.clone()),
        (named_event(&id, &message), Heard { name, data: data.clone(), id: named.clone(), ..none.clone() }),
        (priming(&id, duration), Heard { id: named, retry: wait, data: Some(String::new()), ..none.clone() }),
        (retry(duration), Heard { retry: wait, ..none.clone() }),
    ];

    for (frame, heard) in &frames {
        let expected = (*heard != none).then_some(heard);
        assert_eq!(event_source::read(frame).iter().collect::<Vec<_>>(), Vec::from_iter(expected));
    }
    let stream: Vec<u8> = frames.iter().flat_map(|(frame, _)| frame.to_vec()).collect();
    let (mut parser, mut events) = (Parser::new(stream.len()), Vec::new());
    for piece in stream.chunks(step) {
        parser.take(piece, &mut events).expect("the events are within the limit");
    }
    let heard = frames.into_iter().map(|(_, heard)| heard).filter(|heard| *heard != none);
    assert_eq!(events, heard.map(Heard::into_event).collect::<Vec<_>>(), "in steps of {step}");

    let line = stdio::line(&message);
    assert_eq!(line.strip_suffix(b"\n"), data.as_ref().map(String::as_bytes));
}

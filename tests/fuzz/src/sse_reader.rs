//! The reader of event streams: what a standard's reader hears, however the bytes are cut, and never more than fits.

use switchyard_mcp::sse::{Event, Parser, TooLarge};

use crate::{
    event_source::{self, Heard},
    small_number,
};

/// Bytes of a stream, after two that say where it is cut and how large its events may be.
///
/// # Panics
/// When something is heard that is not there, is not heard, or depends on the cuts.
pub fn sse_reader(data: &[u8]) {
    let (step, data) = small_number(data);
    let (limit, stream) = small_number(data);

    let expected: Vec<_> = event_source::read(stream).into_iter().map(Heard::into_event).collect();
    assert_eq!(take(stream, stream.len().max(1), stream.len()), (expected.clone(), Ok(())));
    assert_eq!(take(stream, step, stream.len()), (expected.clone(), Ok(())), "in steps of {step}");

    let (events, ended) = take(stream, step, limit);
    assert!(expected.starts_with(&events));
    assert!(ended.is_err() || events == expected);
    assert_eq!(take(stream, stream.len().max(1), limit), (events.clone(), ended), "in steps of {step}");
    // Each byte that is no UTF-8 reads as one character of three.
    assert!(events.iter().all(|event| event.data.len() <= 3 * limit));
}

fn take(stream: &[u8], step: usize, limit: usize) -> (Vec<Event>, Result<(), TooLarge>) {
    let (mut parser, mut events) = (Parser::new(limit), Vec::new());
    let ended = stream.chunks(step).try_for_each(|piece| parser.take(piece, &mut events));
    (events, ended)
}

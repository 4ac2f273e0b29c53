//! WebSocket: whole messages within the limit, however they were cut into frames, and the frames into pieces.

use bytes::Bytes;
use switchyard_gateway::testing::{Received, heard_by_websocket};

use crate::{small_number, waiting::done};

/// Bytes after two that say where they are cut and how large a message may be: first as they come from a client, then
/// as a message that a client sends.
///
/// # Panics
/// When a message comes out that did not go in, or what is heard depends on the cuts.
pub fn websocket(data: &[u8]) {
    let (step, data) = small_number(data);
    let (limit, bytes) = small_number(data);
    any_bytes(bytes, step, limit);
    a_message(bytes, step, limit);
}

fn any_bytes(bytes: &[u8], step: usize, limit: usize) {
    let slowly = heard(bytes, 1, limit);
    let (end, whole) = slowly.split_last().expect("a connection ends");
    for step in [step, bytes.len().max(1)] {
        let heard = heard(bytes, step, limit);
        let (last, before) = heard.split_last().expect("a connection ends");
        // What is wrong may overtake what came together with it.
        let overtakes = matches!((last, end), (Received::Bad(..), Received::Bad(..) | Received::Close(_)));
        assert!(last == end || overtakes, "in steps of {step}: {heard:?} {slowly:?}");
        assert!(whole.starts_with(before), "in steps of {step}: {heard:?} {slowly:?}");
    }
    for received in &slowly {
        match received {
            Received::Message(message) => {
                assert!(message.len() <= limit);
                assert!(std::str::from_utf8(message).is_ok());
            }
            Received::Ping(bytes) => assert!(bytes.len() <= 125),
            _ => {}
        }
    }
}

fn a_message(bytes: &[u8], step: usize, limit: usize) {
    let mut sent = Vec::new();
    let mut parts = bytes.chunks(step).peekable();
    let mut opcode = TEXT;
    loop {
        let part = parts.next().unwrap_or_default();
        let last = parts.peek().is_none();
        frame(&mut sent, opcode | if last { LAST } else { 0 }, part);
        if last {
            break;
        }
        frame(&mut sent, LAST | PING, b"?");
        opcode = CONTINUATION;
    }
    let heard: Vec<_> =
        heard(&sent, step, limit).into_iter().filter(|received| !matches!(received, Received::Ping(_))).collect();
    match heard.as_slice() {
        [Received::Message(message), Received::End] => assert_eq!(message, bytes),
        [Received::Bad(..)] => assert!(bytes.len() > limit || std::str::from_utf8(bytes).is_err(), "{heard:?}"),
        other => panic!("one message was sent, not {other:?}"),
    }
}

const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const PING: u8 = 0x9;
/// The bit that says that a message ends here.
const LAST: u8 = 0x80;

/// Appends a frame as a client sends it, with a part of at most 64 bytes.
fn frame(sent: &mut Vec<u8>, head: u8, part: &[u8]) {
    let mask = [1, 2, 3, 4];
    sent.extend([head, 0x80 | part.len() as u8]);
    sent.extend(mask);
    sent.extend(part.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}

fn heard(bytes: &[u8], step: usize, limit: usize) -> Vec<Received> {
    let pieces = bytes.chunks(step).map(Bytes::copy_from_slice).collect();
    done(heard_by_websocket(pieces, limit))
}

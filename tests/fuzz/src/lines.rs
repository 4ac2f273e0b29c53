//! The reader of lines, for pipes and plain sockets: each line as it is, however the bytes are cut; one that is too long
//! is left out and ends nothing.

use switchyard_gateway::stdio::{Line, Lines};
use tokio::io::AsyncReadExt;

use crate::{small_number, waiting::done};

/// Bytes of a client, after two that say where they are cut and how long a line may be.
///
/// # Panics
/// When a line is heard that is not there, or is not heard.
pub fn lines(data: &[u8]) {
    let (cut, data) = small_number(data);
    let (limit, bytes) = small_number(data);

    let mut expected: Vec<_> = bytes.split(|byte| *byte == b'\n').map(|line| within(line, limit)).collect();
    // After the last end of a line there is none.
    expected.pop_if(|line| line.as_deref() == Some(&[]));

    let (one, other) = bytes.split_at(cut.min(bytes.len()));
    let mut lines = Lines::new(one.chain(other), limit);
    let mut heard = Vec::new();
    loop {
        match done(lines.next()).expect("memory can be read") {
            Line::Whole(line) => heard.push(Some(line)),
            Line::TooLong => heard.push(None),
            Line::End => break,
        }
    }
    assert_eq!(heard, expected);
}

fn within(line: &[u8], limit: usize) -> Option<Vec<u8>> {
    (line.len() <= limit).then(|| line.to_vec())
}

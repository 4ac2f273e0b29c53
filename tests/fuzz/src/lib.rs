//! Hostile input: what every parser promises whatever it reads, as functions that panic where a promise is broken.
//!
//! Each takes bytes of any kind. `tests/` gives them the kept corpus and inputs made on the spot; the programs in
//! `targets/` let libFuzzer make up more, which `tests/fuzz/run` builds and runs.

mod answers;
mod config;
mod decoder;
mod door;
mod event_source;
mod headers;
mod lines;
mod sse_reader;
mod sse_writer;
mod tokens;
mod waiting;
mod websocket;

pub use answers::answers;
pub use config::config;
pub use decoder::decoder;
pub use door::door;
pub use headers::headers;
pub use lines::lines;
pub use sse_reader::sse_reader;
pub use sse_writer::sse_writer;
pub use tokens::tokens;
pub use websocket::websocket;

/// A function that panics where a promise is broken.
pub type Target = fn(&[u8]);

/// Every target by its name, which its corpus and its program have too.
pub const TARGETS: [(&str, Target); 10] = [
    ("answers", answers),
    ("config", config),
    ("decoder", decoder),
    ("door", door),
    ("headers", headers),
    ("lines", lines),
    ("sse_reader", sse_reader),
    ("sse_writer", sse_writer),
    ("tokens", tokens),
    ("websocket", websocket),
];

/// The first byte as a number from 1 to 64, and the rest: how targets are told where to cut, and what the limit is.
fn small_number(data: &[u8]) -> (usize, &[u8]) {
    match data.split_first() {
        Some((first, rest)) => (usize::from(first % 64) + 1, rest),
        None => (1, data),
    }
}

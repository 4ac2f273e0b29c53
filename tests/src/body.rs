//! Where a body ends, and what of the bytes on the wire is part of it.

use crate::response::broken;

/// Where in the body the next byte is.
#[derive(Debug)]
pub(crate) enum Place {
    /// This many bytes are left.
    Plain(usize),
    /// In the line that tells a chunk's size; so much of it has come.
    ChunkSize(String),
    /// In a chunk of which this many bytes are left.
    Chunk(usize),
    /// In the two bytes behind a chunk.
    ChunkEnd(usize),
    /// The body ends with the connection.
    UntilClose,
    Ended,
}

impl Place {
    /// Moves over the start of `arrived`: how many bytes were used, and the body's bytes among them.
    pub fn advance(&mut self, arrived: &[u8]) -> std::io::Result<(usize, Option<Vec<u8>>)> {
        match self {
            Self::Plain(left) | Self::Chunk(left) => {
                let used = arrived.len().min(*left);
                *left -= used;
                if matches!(self, Self::Chunk(0)) {
                    *self = Self::ChunkEnd(2);
                }
                Ok((used, Some(arrived[..used].to_vec())))
            }
            Self::ChunkEnd(left) => {
                let used = arrived.len().min(*left);
                *left -= used;
                if *left == 0 {
                    *self = Self::ChunkSize(String::new());
                }
                Ok((used, None))
            }
            Self::ChunkSize(line) => {
                line.push(char::from(arrived[0]));
                if line.ends_with('\n') {
                    let size = usize::from_str_radix(line.trim_end(), 16);
                    *self = match size.map_err(|_| broken(format!("`{line}` is no size")))? {
                        0 => Self::Ended,
                        size => Self::Chunk(size),
                    };
                }
                Ok((1, None))
            }
            Self::UntilClose => Ok((arrived.len(), Some(arrived.to_vec()))),
            Self::Ended => Ok((0, None)),
        }
    }
}

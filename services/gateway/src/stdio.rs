//! One client on a byte stream: newline-delimited messages in, newline-delimited messages out.
//!
//! A line that is no message, or too long, is answered with an error and ends nothing. When the input ends, what runs
//! is finished within a few seconds. Where the options say so, a client that is silent, or does not read, is cut off.

use std::{io, time::Duration};

use bytes::Bytes;
use switchyard_mcp::RpcError;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    time::timeout,
};

use crate::{
    conversation::{Conversation, FAREWELL},
    dispatch::Dispatch,
    silence::Silence,
    sse::one_line,
};

/// How long a client may keep this end waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Without a word from it.
    pub idle: Duration,
    /// Without reading any of what is written to it.
    pub write: Duration,
}

/// Serves the client that started this process, until its input ends.
///
/// # Errors
/// Reading or writing failed.
pub async fn serve(
    dispatch: Dispatch,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + 'static,
) -> io::Result<()> {
    // Whoever started this process also ends it, and may be silent for as long as it likes.
    converse(dispatch, input, output, Patience { idle: Duration::MAX, write: Duration::MAX }).await
}

/// Serves a client until its input ends, it is cut off, or the gateway drains.
///
/// # Errors
/// Reading or writing failed.
pub(crate) async fn converse(
    dispatch: Dispatch,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + 'static,
    patience: Patience,
) -> io::Result<()> {
    let limit = dispatch.gateway.options.max_body_bytes;
    let (mut conversation, frames) = Conversation::new(dispatch, line);
    let mut writing = actix_rt::spawn(write(frames, output, patience.write));
    let heard = listen(&mut conversation, Lines::new(input, limit), patience.idle).await;
    match heard {
        Ok(Ended::Input) => conversation.finish().await,
        Ok(Ended::Here) | Err(_) => conversation.hang_up().await,
    }
    let written = timeout(FAREWELL, &mut writing).await;
    writing.abort();
    heard?;
    match written {
        Ok(written) => written.unwrap_or(Ok(())),
        Err(_) => Ok(()),
    }
}

/// How a conversation came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The client has nothing more to say.
    Input,
    /// There was no use in going on.
    Here,
}

async fn listen<R: AsyncRead + Unpin>(
    conversation: &mut Conversation,
    mut lines: Lines<R>,
    idle: Duration,
) -> io::Result<Ended> {
    let mut silence = Silence::new(idle / 2, idle);
    loop {
        let next = tokio::select! {
            next = lines.next() => next?,
            _ = conversation.over_or_silent(&mut silence) => return Ok(Ended::Here),
        };
        silence.broken();
        match next {
            Line::End => return Ok(Ended::Input),
            Line::TooLong => {
                let message = format!("the line is longer than the limit of {} bytes", lines.limit);
                conversation.refuse(None, &RpcError::invalid_request(message)).await;
            }
            Line::Whole(line) if line.trim_ascii().is_empty() => {}
            Line::Whole(line) => conversation.receive(line.into()).await,
        }
    }
}

/// Writes frames for as long as there are any.
///
/// # Errors
/// Writing failed, or nothing of a frame was taken for as long as `patience`.
pub async fn write(
    mut frames: mpsc::Receiver<Bytes>,
    mut output: impl AsyncWrite + Unpin,
    patience: Duration,
) -> io::Result<()> {
    while let Some(mut frame) = frames.recv().await {
        while !frame.is_empty() {
            let written = timeout(patience, output.write(&frame)).await??;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            _ = frame.split_to(written);
        }
        timeout(patience, output.flush()).await??;
    }
    Ok(())
}

/// A message as a line.
pub fn line(json: &str) -> Bytes {
    let mut line = one_line(json).into_owned();
    line.push('\n');
    line.into()
}

/// Lines as they come, none longer than the limit.
pub struct Lines<R> {
    input: BufReader<R>,
    /// The most bytes that a line may have, its end left out.
    pub limit: usize,
    line: Vec<u8>,
    too_long: bool,
}

/// What comes next.
pub enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// One that is longer than the limit, and was left out.
    TooLong,
    /// Nothing more.
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Of this input.
    pub fn new(input: R, limit: usize) -> Self {
        Self { input: BufReader::new(input), limit, line: Vec::new(), too_long: false }
    }

    /// The next line. Dropping the future loses nothing.
    ///
    /// # Errors
    /// Reading failed.
    pub async fn next(&mut self) -> io::Result<Line> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(if self.line.is_empty() && !self.too_long { Line::End } else { self.take() });
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = end.unwrap_or(available.len());
            self.too_long |= self.line.len() + piece > self.limit;
            if self.too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(&available[..piece]);
            }
            self.input.consume(end.map_or(piece, |end| end + 1));
            if end.is_some() {
                return Ok(self.take());
            }
        }
    }

    fn take(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.too_long) { Line::TooLong } else { Line::Whole(line) }
    }
}

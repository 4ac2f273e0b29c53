//! As much of HTTP/1.1 and of event streams as answers need, read from a buffer that grows.

use std::{borrow::Cow, ops::Range};

use crate::error::CallError;

/// The longest head or chunk line that is waited for, in bytes.
const LONGEST_HEAD: usize = 16 * 1024;

/// The longest body, in bytes; answers here are short.
const LONGEST_BODY: usize = 1024 * 1024;

/// One whole answer, as it lies in the buffer.
#[derive(Debug, PartialEq)]
pub struct Response<'a> {
    pub status: u16,
    /// What the server named the session, when it opened one.
    pub session: Option<&'a str>,
    /// The body is an event stream.
    pub is_stream: bool,
    pub body: Cow<'a, [u8]>,
    /// How many bytes of the buffer it took.
    pub length: usize,
}

impl<'a> Response<'a> {
    /// Reads an answer, or gives `None` when the buffer does not hold all of it yet.
    ///
    /// # Errors
    /// `CallError::Http` for what is not HTTP/1.1, has no length, or is longer than answers are.
    pub fn read(buffer: &'a [u8]) -> Result<Option<Self>, CallError> {
        let Some(head_end) = find(buffer, b"\r\n\r\n") else {
            return if buffer.len() > LONGEST_HEAD { Err(CallError::Http("a head without end")) } else { Ok(None) };
        };
        let head = Head::read(&buffer[..head_end])?;
        let rest = &buffer[head_end + 4..];
        let Some(Body { content, taken }) = head.framing.body(rest)? else { return Ok(None) };
        let length = head_end + 4 + taken;
        Ok(Some(Self { status: head.status, session: head.session, is_stream: head.is_stream, body: content, length }))
    }

    /// The JSON-RPC message: the body, or the data of the last event that has any.
    pub fn message(&self) -> &[u8] {
        if self.is_stream { last_data(&self.body) } else { &self.body }
    }
}

/// A whole body and how many bytes of the buffer it took.
struct Body<'a> {
    content: Cow<'a, [u8]>,
    taken: usize,
}

/// How the end of a body is found.
enum Framing {
    Length(usize),
    Chunked,
}

struct Head<'a> {
    status: u16,
    framing: Framing,
    session: Option<&'a str>,
    is_stream: bool,
}

impl<'a> Head<'a> {
    fn read(head: &'a [u8]) -> Result<Self, CallError> {
        let head = std::str::from_utf8(head).map_err(|_| CallError::Http("a head that is not text"))?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).and_then(|line| line.get(..3));
        let status = status.and_then(|code| code.parse().ok()).ok_or(CallError::Http("no status line"))?;

        let mut framing = if status == 204 { Some(Framing::Length(0)) } else { None };
        let (mut session, mut is_stream) = (None, false);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let length = value.parse().map_err(|_| CallError::Http("a length that is no number"))?;
                framing = Some(Framing::Length(length));
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                framing = Some(Framing::Chunked);
            } else if name.eq_ignore_ascii_case("content-type") {
                is_stream = value.starts_with("text/event-stream");
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                session = Some(value);
            }
        }
        let framing = framing.ok_or(CallError::Http("a body without a length"))?;
        Ok(Self { status, framing, session, is_stream })
    }
}

impl Framing {
    /// The body at the beginning of `rest`, or `None` when it is not all there.
    fn body<'a>(&self, rest: &'a [u8]) -> Result<Option<Body<'a>>, CallError> {
        match *self {
            Self::Length(length) if length > LONGEST_BODY => Err(CallError::Http("a body too long to be an answer")),
            Self::Length(length) => {
                Ok(rest.get(..length).map(|content| Body { content: Cow::Borrowed(content), taken: length }))
            }
            Self::Chunked => chunked(rest),
        }
    }
}

/// Joins the chunks at the beginning of `rest`; trailers are not expected.
fn chunked(rest: &[u8]) -> Result<Option<Body<'_>>, CallError> {
    let mut content = Vec::new();
    let mut at = 0;
    loop {
        let Some(chunk) = next_chunk(rest, at)? else { return Ok(None) };
        at = chunk.end + 2;
        if chunk.is_empty() {
            return Ok(Some(Body { content: Cow::Owned(content), taken: at }));
        }
        content.extend_from_slice(&rest[chunk]);
        if content.len() > LONGEST_BODY {
            return Err(CallError::Http("a body too long to be an answer"));
        }
    }
}

/// Where the content of the chunk that begins at `at` lies; the empty one is the last.
fn next_chunk(rest: &[u8], at: usize) -> Result<Option<Range<usize>>, CallError> {
    let Some(line) = find(&rest[at..], b"\r\n") else {
        let unending = rest.len() - at > LONGEST_HEAD;
        return if unending { Err(CallError::Http("a chunk size without end")) } else { Ok(None) };
    };
    let size = std::str::from_utf8(&rest[at..at + line]).ok().and_then(|line| line.split(';').next());
    let size = size.and_then(|digits| usize::from_str_radix(digits.trim(), 16).ok());
    let size = size.filter(|&size| size <= LONGEST_BODY).ok_or(CallError::Http("a chunk size that is none"))?;
    let start = at + line + 2;
    match rest.get(start + size..start + size + 2) {
        None => Ok(None),
        Some(b"\r\n") => Ok(Some(start..start + size)),
        Some(_) => Err(CallError::Http("a chunk that does not end where it should")),
    }
}

/// The data of the last event that has any. Events here carry one line of data each.
fn last_data(stream: &[u8]) -> &[u8] {
    let lines = stream.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let mut data = lines.filter_map(|line| line.strip_prefix(b"data:")).map(<[u8]>::trim_ascii_start);
    data.rfind(|data| !data.is_empty()).unwrap_or_default()
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nMcp-Session-Id: abc\r\n\r\n{}";
    const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
        transfer-encoding: chunked\r\n\r\n11\r\nid: 1\r\ndata: \r\n\r\n\r\n13\r\nid: 2\ndata: {\"a\":1}\r\n2\r\n\n\n\r\n0\r\n\r\n";

    fn read(bytes: &[u8]) -> Response<'_> {
        Response::read(bytes).expect("it is HTTP").expect("it is whole")
    }

    #[test]
    fn a_body_with_a_length_is_read_where_it_lies() {
        let response = read(PLAIN);

        assert_eq!((response.status, response.session, response.length), (200, Some("abc"), PLAIN.len()));
        assert_eq!(response.message(), b"{}");
    }

    #[test]
    fn what_follows_an_answer_is_left_alone() {
        let two = [PLAIN, PLAIN].concat();

        assert_eq!(read(&two).length, PLAIN.len());
    }

    #[test]
    fn the_message_of_a_stream_is_its_last_data_across_chunks() {
        let response = read(STREAM);

        assert!(response.is_stream);
        assert_eq!(response.message(), b"{\"a\":1}");
        assert_eq!(response.length, STREAM.len());
    }

    #[test]
    fn an_answer_is_awaited_until_its_last_byte_is_there() {
        for whole in [PLAIN, STREAM] {
            for end in 0..whole.len() {
                assert!(matches!(Response::read(&whole[..end]), Ok(None)), "cut at {end}");
            }
        }
    }

    #[test]
    fn an_answer_without_content_needs_no_length() {
        assert_eq!(read(b"HTTP/1.1 204 No Content\r\n\r\n").body.as_ref(), b"");
    }

    #[test]
    fn what_is_not_an_answer_is_refused() {
        let wrong: [&[u8]; 6] = [
            b"SSH-2.0-server\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
        ];

        for bytes in wrong {
            assert!(matches!(Response::read(bytes), Err(CallError::Http(_))), "{}", String::from_utf8_lossy(bytes));
        }
    }
}

//! What comes back for a request: the head at once, the body as it comes.

use serde_json::Value;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, BufReader, ReadHalf, WriteHalf},
    net::TcpStream,
};

use crate::{EventStream, PATIENCE, body::Place, record::Record, within};

/// Everything before the body.
#[derive(Debug)]
pub(crate) struct Head {
    pub status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Reads it up to the empty line at its end.
    pub async fn read(read: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Self> {
        let status_line = read_line(read).await?;
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| broken(format!("`{status_line}` is no status line")))?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(read).await?;
            if line.is_empty() {
                return Ok(Self { status, headers });
            }
            let (name, value) = line.split_once(':').ok_or_else(|| broken(format!("`{line}` is no header")))?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(existing, _)| existing.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// A response whose body may still be coming. Dropping it closes the connection.
#[derive(Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    head: Head,
    place: Place,
    read: BufReader<ReadHalf<TcpStream>>,
    /// Held so that the connection stays open in both directions.
    _write: WriteHalf<TcpStream>,
    /// What its messages are judged by.
    pub(crate) record: Record,
    answers_post: bool,
}

impl Response {
    pub(crate) fn new(
        head: Head,
        read: BufReader<ReadHalf<TcpStream>>,
        write: WriteHalf<TcpStream>,
        record: Record,
        answers_post: bool,
    ) -> Self {
        let (status, place) = (head.status, Place::UntilClose);
        let mut response = Self { status, head, place, read, _write: write, record, answers_post };
        let length = response.header("content-length").map(|length| length.parse().expect("a length is a number"));
        response.place = match length {
            Some(length) => Place::Plain(length),
            None if response.header("transfer-encoding") == Some("chunked") => Place::ChunkSize(String::new()),
            None if matches!(response.status, 202 | 204) => Place::Ended,
            None => Place::UntilClose,
        };
        response
    }

    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// The media type without its parameters; empty for none.
    pub fn media_type(&self) -> &str {
        self.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default().trim()
    }

    /// The next piece of the body as it comes, or `None` at its end. Dropping the future loses nothing.
    pub async fn piece(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            if matches!(self.place, Place::Ended | Place::Plain(0)) {
                return Ok(None);
            }
            let arrived = self.read.fill_buf().await?;
            if arrived.is_empty() {
                return match self.place {
                    Place::UntilClose => Ok(None),
                    _ => Err(broken("the connection was closed in the middle of a body")),
                };
            }
            let (used, piece) = self.place.advance(arrived)?;
            self.read.consume(used);
            if piece.is_some() {
                return Ok(piece);
            }
        }
    }

    /// The whole body.
    ///
    /// # Panics
    /// When it does not come, or breaks off.
    pub async fn bytes(mut self) -> Vec<u8> {
        let body = within(PATIENCE, "the end of a body", async {
            let mut body = Vec::new();
            while let Some(piece) = self.piece().await.expect("the body comes whole") {
                body.extend(piece);
            }
            body
        })
        .await;
        self.judge(&body);
        body
    }

    /// Judges a JSON body as a message: that of a POST is one, that of a GET only if it says so.
    fn judge(&self, body: &[u8]) {
        if self.media_type() == "application/json"
            && let Ok(message) = serde_json::from_slice::<Value>(body)
            && (self.answers_post || message.get("jsonrpc").is_some())
        {
            self.record.heard(&message);
        }
    }

    /// The whole body as text.
    pub async fn text(self) -> String {
        String::from_utf8(self.bytes().await).expect("the body is UTF-8")
    }

    /// The whole body as JSON.
    pub async fn json(self) -> Value {
        let status = self.status;
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("status {status}, no JSON ({error}): `{text}`"))
    }

    /// The body as server-sent events.
    ///
    /// # Panics
    /// When it is none.
    pub fn events(self) -> EventStream {
        assert_eq!((self.status, self.media_type()), (200, "text/event-stream"), "an event stream was expected");
        EventStream::new(self)
    }
}

async fn read_line(read: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<String> {
    let mut line = String::new();
    if read.read_line(&mut line).await? == 0 {
        return Err(broken("the connection was closed"));
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

pub(crate) fn broken(why: impl Into<String>) -> std::io::Error {
    std::io::Error::other(why.into())
}

//! A WebSocket client frame by frame: a test decides what is in each, and sees each.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::{PATIENCE, Request, Talker, record::Record, response::Head, within};

/// The key of every handshake, and what it must be answered with.
const KEY: (&str, &str) = ("dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// More of the message before.
    Continuation,
    /// Text.
    Text,
    /// Bytes.
    Binary,
    /// The end, with a code.
    Close,
    /// A question for a sign of life.
    Ping,
    /// A sign of life.
    Pong,
}

impl Opcode {
    const ALL: [(Self, u8); 6] = [
        (Self::Continuation, 0),
        (Self::Text, 1),
        (Self::Binary, 2),
        (Self::Close, 8),
        (Self::Ping, 9),
        (Self::Pong, 10),
    ];

    fn number(self) -> u8 {
        Self::ALL.iter().find(|(opcode, _)| *opcode == self).expect("all are listed").1
    }

    fn of(number: u8) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == number).expect("the server sends known frames").0
    }
}

/// One end of a WebSocket. It answers pings, unless told not to. Dropping it closes the connection.
#[derive(Debug)]
pub struct WebSocketClient {
    stream: BufReader<TcpStream>,
    /// The subprotocol that was agreed on.
    pub subprotocol: Option<String>,
    /// Whether pings are answered.
    pub answers_pings: bool,
    last_id: i64,
    /// What was sent of a message whose last frame is to come.
    unfinished: Vec<u8>,
    record: Record,
}

impl WebSocketClient {
    /// Connects as an MCP client does.
    ///
    /// # Panics
    /// When the upgrade is refused.
    pub async fn connect(address: SocketAddr, path: &str) -> Self {
        Self::upgrade(Self::request(address, path)).await
    }

    /// The request for an upgrade, for tests to change.
    pub fn request(address: SocketAddr, path: &str) -> Request {
        Request::new(address, "GET", path)
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", KEY.0)
            .header("Sec-WebSocket-Protocol", "mcp")
    }

    /// Sends a request for an upgrade, which must be granted.
    ///
    /// # Panics
    /// When it is not.
    pub async fn upgrade(request: Request) -> Self {
        let mut stream = BufReader::new(TcpStream::connect(request.to).await.expect("the listener accepts"));
        stream.write_all(&request.bytes()).await.expect("the server reads");
        let head = within(PATIENCE, "the upgrade", Head::read(&mut stream)).await.expect("there is an answer");
        assert_eq!(head.status, 101, "the upgrade was refused");
        assert_eq!(head.header("sec-websocket-accept"), Some(KEY.1));
        let subprotocol = head.header("sec-websocket-protocol").map(str::to_owned);
        let (unfinished, record) = (Vec::new(), Record::default());
        Self { stream, subprotocol, answers_pings: true, last_id: 0, unfinished, record }
    }

    /// Sends a frame; `last` of its message or not.
    ///
    /// # Panics
    /// When the server does not read.
    pub async fn send(&mut self, opcode: Opcode, last: bool, payload: &[u8]) {
        let mut frame = Self::head(opcode, last, payload.len() as u64).to_vec();
        // A mask of zeros is one, too.
        frame.extend(payload);
        if matches!(opcode, Opcode::Text | Opcode::Continuation) {
            self.unfinished.extend(payload);
            if last {
                self.record.sent(&std::mem::take(&mut self.unfinished));
            }
        }
        within(PATIENCE, "the server to read", self.stream.write_all(&frame)).await.expect("the server reads");
    }

    /// Sends the head of a frame and nothing of its body.
    pub async fn announce(&mut self, opcode: Opcode, size: u64) {
        self.stream.write_all(&Self::head(opcode, true, size)).await.expect("the server reads");
    }

    fn head(opcode: Opcode, last: bool, size: u64) -> Vec<u8> {
        let mut head = vec![opcode.number() | if last { 0x80 } else { 0 }];
        match size {
            0..=125 => head.push(0x80 | u8::try_from(size).expect("it is small")),
            126..=65_535 => {
                head.push(0x80 | 126);
                head.extend(u16::try_from(size).expect("it is small").to_be_bytes());
            }
            _ => {
                head.push(0x80 | 127);
                head.extend(size.to_be_bytes());
            }
        }
        head.extend([0; 4]);
        head
    }

    /// The next frame, pings among them; `None` at the connection's end.
    pub async fn frame(&mut self) -> Option<(Opcode, Vec<u8>)> {
        within(PATIENCE, "a frame", async {
            let head = self.stream.read_u16().await.ok()?;
            let [first, second] = head.to_be_bytes();
            assert_eq!(first & 0xf0, 0x80, "the server sends whole messages, and no reserved bits");
            let size = match second {
                0..=125 => u64::from(second),
                126 => self.stream.read_u16().await.ok()?.into(),
                127 => self.stream.read_u64().await.ok()?,
                _ => panic!("a server does not mask"),
            };
            let mut payload = vec![0; usize::try_from(size).expect("it fits")];
            self.stream.read_exact(&mut payload).await.ok()?;
            let opcode = Opcode::of(first & 0x0f);
            if opcode == Opcode::Text {
                self.record.heard(&serde_json::from_slice(&payload).expect("messages are JSON"));
            }
            Some((opcode, payload))
        })
        .await
    }

    /// The code with which the server closes; messages before that are passed over. `None` without any.
    pub async fn close_code(&mut self) -> Option<u16> {
        loop {
            match self.frame().await? {
                (Opcode::Close, payload) => return payload.first_chunk().map(|code| u16::from_be_bytes(*code)),
                (Opcode::Ping, payload) if self.answers_pings => self.send(Opcode::Pong, true, &payload).await,
                _ => {}
            }
        }
    }
}

impl Talker for WebSocketClient {
    async fn say(&mut self, message: &str) {
        self.send(Opcode::Text, true, message.as_bytes()).await;
    }

    async fn hear(&mut self) -> Option<Value> {
        loop {
            match self.frame().await? {
                (Opcode::Text, payload) => return Some(serde_json::from_slice(&payload).expect("messages are JSON")),
                (Opcode::Ping, payload) if self.answers_pings => self.send(Opcode::Pong, true, &payload).await,
                (Opcode::Ping | Opcode::Pong, _) => {}
                (Opcode::Close, _) => return None,
                (opcode, _) => panic!("{opcode:?} is no message"),
            }
        }
    }

    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }
}

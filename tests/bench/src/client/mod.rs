//! One client on one kept-alive connection, cheap enough not to be what is measured.

mod answer;
mod request;
mod response;

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use self::{request::CallRequest, response::Response};
use crate::{contender::Era, error::CallError};

/// How much of a wrong answer is told, in characters.
const EXCERPT: usize = 300;

/// A client that calls the echo tool again and again.
pub struct Client {
    connection: Connection,
    call: CallRequest,
    /// What a legacy server named the session.
    session: Option<String>,
}

impl Client {
    /// Connects, and in the legacy era opens a session.
    pub async fn open(server: SocketAddr, era: Era) -> Result<Self, CallError> {
        let mut connection = Connection::open(server).await?;
        let session = match era {
            Era::Modern => None,
            Era::Legacy => Some(handshake(&mut connection, server).await?),
        };
        let call = CallRequest::new(server, era, session.as_deref().unwrap_or_default());
        Ok(Self { connection, call, session })
    }

    /// Calls the tool and checks that the answer is the echo of this very call.
    pub async fn call(&mut self) -> Result<(), CallError> {
        self.connection.socket.write_all(self.call.next()).await?;
        let (id, message) = (self.call.id(), self.call.message());
        let judged = self.connection.read(|response| match response.status {
            200 if answer::is_echo(response.message(), id, message) => Ok(()),
            200 => Err(CallError::Wrong { body: excerpt(response.message()) }),
            status => Err(CallError::Status { status, body: excerpt(response.message()) }),
        });
        judged.await?
    }

    /// Ends the session, so that it burdens no later turn, and the connection.
    pub async fn close(mut self) -> Result<(), CallError> {
        let Some(session) = self.session else { return Ok(()) };
        let server = self.connection.server;
        self.connection.exchange(&request::delete(server, &session), |_| ()).await
    }
}

/// Opens a session and gives its id.
async fn handshake(connection: &mut Connection, server: SocketAddr) -> Result<String, CallError> {
    let initialize = request::post(
        server,
        "",
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"switchyard-bench","version":"1"}}}"#,
    );
    let session = connection.exchange(&initialize, |response| response.session.map(str::to_owned)).await?;
    let session = session.ok_or(CallError::NoSession)?;

    let initialized = request::post(
        server,
        &request::session_headers(&session),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    );
    connection.exchange(&initialized, |_| ()).await?;
    Ok(session)
}

/// A socket and what has been read from it.
struct Connection {
    server: SocketAddr,
    socket: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(server: SocketAddr) -> Result<Self, CallError> {
        let socket = TcpStream::connect(server).await?;
        socket.set_nodelay(true)?;
        Ok(Self { server, socket, buffer: Vec::with_capacity(16 * 1024) })
    }

    /// Sends `request` and uses its answer, which must be a success.
    async fn exchange<T>(&mut self, request: &str, used: impl FnOnce(&Response<'_>) -> T) -> Result<T, CallError> {
        self.socket.write_all(request.as_bytes()).await?;
        let answered = self.read(|response| match response.status {
            200..=299 => Ok(used(response)),
            status => Err(CallError::Status { status, body: excerpt(response.message()) }),
        });
        answered.await?
    }

    /// Waits for one whole answer and uses it.
    async fn read<T>(&mut self, used: impl FnOnce(&Response<'_>) -> T) -> Result<T, CallError> {
        loop {
            if let Some(response) = Response::read(&self.buffer)? {
                let length = response.length;
                let result = used(&response);
                self.buffer.drain(..length);
                return Ok(result);
            }
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err(CallError::Closed);
            }
        }
    }
}

fn excerpt(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(EXCERPT).collect()
}

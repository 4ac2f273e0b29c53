//! Plain TCP and Unix sockets, for clients that speak newline-delimited messages to them as they would to stdio.
//!
//! Who reaches a socket is served: the machine's own users on a loopback address, the server's own user on a Unix
//! socket. The number of connections is bounded; one whose client is silent for too long, or does not read, is closed.

use std::{io, net, os::unix, sync::Arc, time::Duration};

use switchyard_bus::Bus;
use switchyard_mcp::jsonrpc;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, UnixListener},
    task::JoinSet,
    time::{sleep, timeout},
};
use tracing::{debug, warn};

use crate::{
    Dispatch, Gateway, keep_alive,
    stdio::{self, Patience},
};

/// How long to wait before connections are accepted again when the system had no room for one.
const BREATH: Duration = Duration::from_millis(100);

/// How long a client that is refused may take to read why.
const REFUSAL: Duration = Duration::from_secs(1);

/// Where clients connect without HTTP.
#[derive(Debug, Default)]
pub struct SocketListeners {
    /// For TCP; it does not block.
    pub tcp: Option<net::TcpListener>,
    /// For Unix sockets; it does not block.
    pub unix: Option<unix::net::UnixListener>,
}

/// The sockets that are served.
pub struct Sockets {
    served: JoinSet<()>,
}

/// Serves clients on these listeners until the gateway drains. Runs on the calling actix system.
///
/// # Errors
/// A listener cannot be used.
pub fn serve(gateway: &Arc<Gateway>, bus: &Bus, listeners: SocketListeners) -> io::Result<Sockets> {
    let dispatch = Dispatch { gateway: gateway.clone(), bus: bus.for_thread() };
    let mut served = JoinSet::new();
    if let Some(listener) = listeners.tcp {
        served.spawn_local(accept(Listener::Tcp(TcpListener::from_std(listener)?), dispatch.clone()));
    }
    if let Some(listener) = listeners.unix {
        served.spawn_local(accept(Listener::Unix(UnixListener::from_std(listener)?), dispatch));
    }
    Ok(Sockets { served })
}

impl Sockets {
    /// Returns when what runs on a draining gateway's connections is done.
    pub async fn stop(mut self) {
        while self.served.join_next().await.is_some() {}
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The two directions of a connection.
type Halves = (Box<dyn AsyncRead + Unpin>, Box<dyn AsyncWrite + Unpin>);

impl Listener {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::Unix(_) => "unix",
        }
    }

    async fn next(&self, write_timeout: Duration) -> io::Result<Halves> {
        match self {
            Self::Tcp(listener) => {
                let (socket, _) = listener.accept().await?;
                keep_alive::watch(&socket, write_timeout)?;
                let (input, output) = socket.into_split();
                Ok((Box::new(input), Box::new(output)))
            }
            Self::Unix(listener) => {
                let (socket, _) = listener.accept().await?;
                let (input, output) = socket.into_split();
                Ok((Box::new(input), Box::new(output)))
            }
        }
    }
}

/// Serves whoever connects, until the gateway drains and all that runs here is done.
async fn accept(listener: Listener, dispatch: Dispatch) {
    let kind = listener.kind();
    let options = &dispatch.gateway.options;
    let patience = Patience { idle: options.idle_timeout, write: options.write_timeout };
    let mut draining = dispatch.gateway.draining();
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.next(patience.write) => accepted,
            _ = draining.wait_for(|draining| *draining) => break,
        };
        while open.try_join_next().is_some() {}
        match accepted {
            Ok(halves) => _ = open.spawn_local(serve_one(dispatch.clone(), kind, halves, patience)),
            Err(error) => {
                // The system has no room for another connection, or the client was gone already.
                warn!(kind, error = &error as &dyn std::error::Error, "a connection could not be accepted");
                sleep(BREATH).await;
            }
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

async fn serve_one(dispatch: Dispatch, kind: &'static str, (input, mut output): Halves, patience: Patience) {
    let _place = match dispatch.gateway.connection(kind) {
        Ok(place) => place,
        Err(refusal) => {
            let line = jsonrpc::failure(None, false, &refusal.error) + "\n";
            _ = timeout(REFUSAL, output.write_all(line.as_bytes())).await;
            return;
        }
    };
    if let Err(error) = stdio::converse(dispatch, input, output, patience).await {
        debug!(kind, error = &error as &dyn std::error::Error, "a connection broke off");
    }
}

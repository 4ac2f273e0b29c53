//! One HTTP/2 connection to a node.
//!
//! It pings every second, also while idle, so that a frozen node is noticed. Each call's unread answer is bounded by
//! its stream's window and the connection's own window is as large as HTTP/2 allows, so that a caller who does not
//! read stalls no neighbour. A request that the connection provably never sent is told from one that may have run.

use std::{
    error::Error,
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use http::Uri;
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message;
use tokio::{net::TcpStream, time::timeout};
use tonic::{body::Body, client::GrpcService};

use crate::lane::{LARGEST, Lane};

/// How long a connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How often a connection is tested, and how long the answer may take.
const PING_INTERVAL: Duration = Duration::from_secs(1);
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// What one call's reader may leave unread, in bytes.
const STREAM_WINDOW: u32 = 1024 * 1024;

/// The most that HTTP/2 allows.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How many cancelled calls are remembered, so that what still comes for them is known for what it is.
const CANCELLED: usize = 4096;

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("the address `{address}` is not usable")]
    Address {
        address: String,
        #[source]
        source: http::uri::InvalidUri,
    },

    #[error("could not connect to `{address}`")]
    Connect {
        address: String,
        #[source]
        source: io::Error,
    },

    #[error("could not begin HTTP/2 with `{address}`")]
    Handshake {
        address: String,
        #[source]
        source: hyper::Error,
    },

    #[error("the node did not take the request")]
    NotSent(#[source] hyper::Error),

    #[error("the attempt to connect was given up")]
    Abandoned,

    #[error("the lane ended before the request was sent")]
    LaneEnded,

    #[error("could not open a lane")]
    Lane(#[source] tonic::Status),

    #[error("the connection broke")]
    Broken(#[source] hyper::Error),
}

/// A connection; clones share it. It closes when the last clone and the last call are gone.
#[derive(Clone)]
pub(crate) struct Link {
    requests: http2::SendRequest<Body>,
    origin: Uri,
    /// How calls are made that are not large; `None` where the node has no lanes.
    lane: Option<Lane>,
    /// The connection's own task tells by it whether anybody still wants the connection when it ends.
    _wanted: Arc<()>,
}

impl Link {
    /// Connects on the calling thread's runtime. `ended` runs when the connection ends although it is still wanted.
    pub async fn connect(address: &str, ended: impl FnOnce() + Send + 'static) -> Result<Self, LinkError> {
        let origin = format!("http://{address}")
            .parse()
            .map_err(|source| LinkError::Address { address: address.to_owned(), source })?;
        let failed = |source| LinkError::Connect { address: address.to_owned(), source };
        let socket = timeout(CONNECT_TIMEOUT, TcpStream::connect(address))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;

        let (requests, connection) = settings()
            .handshake(TokioIo::new(socket))
            .await
            .map_err(|source| LinkError::Handshake { address: address.to_owned(), source })?;
        let wanted = Arc::new(());
        let still_wanted = Arc::downgrade(&wanted);
        // Ends with the connection, which ends with the last clone of this link and the last call on it.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = &error as &dyn Error, "a bus connection ended");
            }
            if still_wanted.strong_count() > 0 {
                ended();
            }
        });
        Ok(Self { requests, origin, lane: None, _wanted: wanted })
    }

    /// The same connection with a lane on it, if the node has lanes.
    ///
    /// A node that does not open it in time is called without; `limit` is the largest event, in bytes.
    pub async fn with_lane(self, limit: usize) -> Result<Self, LinkError> {
        let lane = match timeout(CONNECT_TIMEOUT, Lane::open(&self, limit)).await {
            Ok(lane) => lane.map_err(LinkError::Lane)?,
            Err(_) => None,
        };
        Ok(Self { lane, ..self })
    }

    /// The lane, where there is one and the request is not too large for it.
    pub fn lane(&self, request: &impl Message) -> Option<Lane> {
        self.lane.as_ref().filter(|_| request.encoded_len() <= LARGEST).cloned()
    }

    pub fn origin(&self) -> Uri {
        self.origin.clone()
    }

    /// No further request can be sent on it.
    pub fn is_closed(&self) -> bool {
        self.requests.is_closed() || self.lane.as_ref().is_some_and(Lane::is_closed)
    }
}

fn settings() -> http2::Builder<TokioExecutor> {
    let mut settings = http2::Builder::new(TokioExecutor::new());
    settings
        .timer(TokioTimer::new())
        .max_concurrent_reset_streams(CANCELLED)
        .max_local_error_reset_streams(None)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true);
    settings
}

/// The peer says that it never looked at the request: it came after the connection's orderly end, or was refused.
fn was_refused(error: &hyper::Error) -> bool {
    let Some(error) = error.source().and_then(|source| source.downcast_ref::<h2::Error>()) else { return false };
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (error.is_go_away() || refused)
}

impl GrpcService<Body> for Link {
    type ResponseBody = Incoming;
    type Error = LinkError;
    type Future = BoxFuture<'static, Result<http::Response<Incoming>, LinkError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let sent = self.requests.try_send_request(request);
        async move {
            sent.await.map_err(|mut error| {
                let kept = error.take_message().is_some();
                let error = error.into_error();
                if kept || was_refused(&error) { LinkError::NotSent(error) } else { LinkError::Broken(error) }
            })
        }
        .boxed()
    }
}

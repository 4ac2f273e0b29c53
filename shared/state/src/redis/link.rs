//! Connections to Redis.
//!
//! A [`Link`] is one connection for all requests that are answered at once. It is opened when first needed, and again
//! when it was closed or a request on it was not answered in time, as happens when a peer vanishes without a word.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, ErrorKind, FromRedisValue, IntoConnectionInfo, Pipeline, ProtocolVersion, PushInfo,
    PushKind, RedisError, RedisResult, ScriptInvocation, ServerErrorKind,
    aio::{MultiplexedConnection, SendError},
    io::tcp::TcpSettings,
};
use tokio::{runtime::Handle, time::timeout};
use tracing::{info, warn};

use super::RedisOptions;
use crate::StoreError;

/// Opens connections.
#[derive(Clone)]
pub struct Opener {
    client: Client,
    timeout: Duration,
    runtime: Handle,
}

/// A connection, and whether it may still be used.
#[derive(Clone)]
pub struct Line {
    pub connection: MultiplexedConnection,
    usable: Arc<AtomicBool>,
}

impl Opener {
    pub fn new(options: &RedisOptions) -> Result<Self, StoreError> {
        // What the library says of a URL does not quote it.
        let wrong = |error: RedisError| StoreError::Option { option: "url", reason: format!("does not fit: {error}") };
        let info = options.url.as_str().into_connection_info().map_err(wrong)?;
        // The newer protocol tells of a closed connection before it is used in vain.
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let tcp = TcpSettings::default().set_nodelay(true);
        let client = Client::open(info.set_redis_settings(settings).set_tcp_settings(tcp)).map_err(wrong)?;
        Ok(Self { client, timeout: options.timeout(), runtime: Handle::current() })
    }

    /// How long a request may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    pub async fn open(&self) -> RedisResult<Line> {
        let usable = Arc::new(AtomicBool::new(true));
        let watched = usable.clone();
        let closed = move |info: PushInfo| {
            if info.kind == PushKind::Disconnection {
                watched.store(false, Ordering::Relaxed);
            }
            Ok::<_, SendError>(())
        };
        // Deadlines are the callers', who may wait for long on purpose.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            .set_response_timeout(None)
            .set_push_sender(closed);
        let client = self.client.clone();
        // On the runtime that outlives a caller's thread. It is awaited here, and ends by itself after the timeout.
        let opening =
            self.runtime.spawn(async move { client.get_multiplexed_async_connection_with_config(&config).await });
        let connection = opening.await.map_err(std::io::Error::from)??;
        Ok(Line { connection, usable })
    }
}

impl Line {
    pub fn is_usable(&self) -> bool {
        self.usable.load(Ordering::Relaxed)
    }

    /// Nobody takes it for another request.
    pub fn abandon(&self) {
        self.usable.store(false, Ordering::Relaxed);
    }
}

/// The one connection that all requests of a process share.
pub struct Link {
    opener: Opener,
    line: Mutex<Option<Line>>,
    /// Held while one caller opens a connection and the others wait for it.
    opening: tokio::sync::Mutex<()>,
    /// The last request failed, and that has been logged.
    away: AtomicBool,
}

impl Link {
    pub fn new(opener: Opener) -> Self {
        Self { opener, line: Mutex::default(), opening: tokio::sync::Mutex::default(), away: AtomicBool::new(false) }
    }

    /// Runs a script. `key` names what it is about, in an error.
    pub async fn script<T: FromRedisValue>(&self, key: &str, script: &ScriptInvocation<'_>) -> Result<T, StoreError> {
        self.run(key, async |mut line: Line| script.invoke_async(&mut line.connection).await).await
    }

    /// Sends commands in one round trip. `key` names what they are about, in an error.
    pub async fn pipeline<T: FromRedisValue>(&self, key: &str, commands: &Pipeline) -> Result<T, StoreError> {
        self.run(key, async |mut line: Line| commands.query_async(&mut line.connection).await).await
    }

    async fn run<T>(&self, key: &str, request: impl AsyncFnOnce(Line) -> RedisResult<T>) -> Result<T, StoreError> {
        let mut used = None;
        let answer = timeout(self.opener.timeout(), async {
            let line = self.line().await?;
            request(used.insert(line).clone()).await
        });
        let answer = answer.await.unwrap_or_else(|_| Err(silence()));
        if let Err(error) = &answer
            && spoils(error)
            && let Some(line) = used
        {
            line.abandon();
        }
        let answer = answer.map_err(|error| store_error(key, error));
        self.note(answer.as_ref().err());
        answer
    }

    async fn line(&self) -> RedisResult<Line> {
        if let Some(line) = self.usable_line() {
            return Ok(line);
        }
        let _opening = self.opening.lock().await;
        if let Some(line) = self.usable_line() {
            return Ok(line);
        }
        let line = self.opener.open().await?;
        *self.line.lock().expect("nothing panics while holding it") = Some(line.clone());
        Ok(line)
    }

    fn usable_line(&self) -> Option<Line> {
        let line = self.line.lock().expect("nothing panics while holding it");
        line.as_ref().filter(|line| line.is_usable()).cloned()
    }

    /// Logs when Redis goes away and when it is back, not every request in between.
    fn note(&self, error: Option<&StoreError>) {
        let away = error.is_some_and(|error| matches!(error, StoreError::Away(_)));
        if self.away.swap(away, Ordering::Relaxed) == away {
            return;
        }
        match error {
            Some(error) => warn!(error = error as &dyn std::error::Error, "redis is away"),
            None => info!("redis is back"),
        }
    }
}

/// Whether another connection may do better: this one is closed or silent, or its server is no longer the primary.
fn spoils(error: &RedisError) -> bool {
    let demoted = error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly);
    demoted || error.is_io_error() || error.is_unrecoverable_error()
}

/// The error for a request that was not answered in time.
pub fn silence() -> RedisError {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time").into()
}

/// What a failed request means. An answer of an unexpected shape is the record's fault, all else is the store's.
pub fn store_error(key: &str, error: RedisError) -> StoreError {
    match error.kind() {
        ErrorKind::UnexpectedReturnType | ErrorKind::Parse => {
            StoreError::Record { key: key.to_owned(), source: error.into() }
        }
        _ => StoreError::Away(error.into()),
    }
}

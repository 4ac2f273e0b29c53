//! What comes back for one message: JSON at once, or events until the answer, taken up again where a stream broke off.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use serde_json::json;
use switchyard_gateway::stdio::line;
use switchyard_mcp::{Id, Message, RpcError, jsonrpc, sse::Parser};
use tokio::{sync::mpsc, time::sleep};

use super::remote::Remote;

/// The most bytes that one message may have.
pub const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// How long to wait before a stream is asked for again, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// How often the rest of an answer is asked for in vain.
const ATTEMPTS: u32 = 5;

/// The way to whoever started this process.
pub type Lines = mpsc::Sender<Bytes>;

/// A stream that may be taken up again.
#[derive(Default)]
struct Trail {
    last: Option<String>,
    retry: Option<Duration>,
}

/// Says all that an answer says, and returns the message that answers `id`.
///
/// # Errors
/// The answer does not come.
pub async fn follow(remote: &Remote, response: Response, id: Option<&Id>, lines: &Lines) -> Result<String, RpcError> {
    if !is_stream(&response) {
        return whole(response, lines).await;
    }
    let mut trail = Trail::default();
    let mut response = Some(response);
    let mut attempts = 0;
    loop {
        if let Some(response) = response.take()
            && let Some(answer) = trail.follow(response, id, lines).await?
        {
            return Ok(answer);
        }
        if trail.last.is_none() || attempts == ATTEMPTS || lines.is_closed() {
            let error = RpcError::internal("the server's answer broke off");
            return Err(error.with_data(json!({ "outcome": "unknown" })));
        }
        sleep(trail.retry.unwrap_or(PAUSE.0)).await;
        attempts += 1;
        // Whatever was wrong, the next attempt may go through; after the last the request fails.
        response = remote.stream(trail.last.as_deref()).await.ok();
    }
}

/// Says what the session's own stream says, and asks for it again whenever it ends, until there is none.
pub async fn stand(remote: Arc<Remote>, lines: Lines) {
    let mut trail = Trail::default();
    let mut pause = PAUSE.0;
    while !lines.is_closed() {
        match remote.stream(trail.last.as_deref()).await {
            Ok(response) => {
                pause = PAUSE.0;
                if let Err(error) = trail.follow(response, None, &lines).await {
                    tracing::warn!(reason = %error.message, "the server's stream cannot be read");
                }
            }
            Err(Some(StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND)) => return,
            // What followed that event is not kept any more.
            Err(Some(StatusCode::BAD_REQUEST)) if trail.last.take().is_some() => {}
            Err(status) => tracing::debug!(?status, "the server's stream cannot be opened now"),
        }
        sleep(trail.retry.unwrap_or(pause)).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}

impl Trail {
    /// Says what a stream says up to the answer to `id`, or to its end.
    async fn follow(
        &mut self,
        mut response: Response,
        id: Option<&Id>,
        lines: &Lines,
    ) -> Result<Option<String>, RpcError> {
        let mut parser = Parser::new(MESSAGE_LIMIT);
        // A stream that breaks has ended, too.
        while let Ok(Some(piece)) = response.chunk().await {
            let mut events = Vec::new();
            let taken = parser.take(&piece, &mut events);
            for event in events {
                self.last = event.id.or(self.last.take());
                self.retry = event.retry.map(Duration::from_millis).or(self.retry);
                if event.data.is_empty() {
                    continue;
                }
                _ = lines.send(line(&event.data)).await;
                if id.is_some_and(|id| answers(&event.data, id)) {
                    return Ok(Some(event.data));
                }
            }
            taken.map_err(|_| too_large())?;
        }
        Ok(None)
    }
}

/// Says an answer that is JSON.
async fn whole(mut response: Response, lines: &Lines) -> Result<String, RpcError> {
    let mut body = Vec::new();
    let broken = |_| RpcError::internal("the server's answer broke off").with_data(json!({ "outcome": "unknown" }));
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        body.extend_from_slice(&piece);
        if body.len() > MESSAGE_LIMIT {
            return Err(too_large());
        }
    }
    let answer = String::from_utf8(body).ok().filter(|body| !body.trim().is_empty());
    let answer = answer.ok_or_else(|| RpcError::internal("the server's answer has no message in it"))?;
    _ = lines.send(line(answer.trim())).await;
    Ok(answer)
}

fn is_stream(response: &Response) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("text/event-stream"))
}

fn answers(message: &str, id: &Id) -> bool {
    matches!(jsonrpc::decode(message.as_bytes()), Ok(Message::Response { id: answered }) if answered == *id)
}

fn too_large() -> RpcError {
    RpcError::internal(format!("the server's answer is larger than {} MiB", MESSAGE_LIMIT / (1024 * 1024)))
}

//! The body of a request, within its limits of size and time.

use actix_web::{HttpRequest, http::header, web};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use switchyard_mcp::{Refusal, RpcError};
use tokio::time::timeout;

use crate::{dispatch::Dispatch, media};

/// The whole body, within its limits of size and time.
///
/// # Errors
/// 408, 413 or 415, and 400 for one that breaks off.
pub async fn read_body(request: &HttpRequest, payload: web::Payload, dispatch: &Dispatch) -> Result<Bytes, Refusal> {
    let options = &dispatch.gateway.options;
    let limit = options.max_body_bytes;
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return Err(media::too_large(limit));
    }
    media::check_content_type(request.headers())?;
    match timeout(options.body_timeout, collect(payload, limit, length)).await {
        Ok(body) => body,
        Err(_) => {
            let limit = options.body_timeout.as_secs_f64();
            let error = RpcError::invalid_request(format!("the body did not arrive within {limit} s"));
            Err(Refusal::new(408, error))
        }
    }
}

async fn collect(mut payload: web::Payload, limit: usize, length: Option<u64>) -> Result<Bytes, Refusal> {
    let broken = |_| Refusal::new(400, RpcError::new(RpcError::PARSE, "the body broke off"));
    let Some(first) = payload.next().await else { return Ok(Bytes::new()) };
    let first = first.map_err(broken)?;
    if length == Some(first.len() as u64) {
        return Ok(first);
    }
    let mut body = BytesMut::from(first.as_ref());
    while let Some(chunk) = payload.next().await {
        body.extend_from_slice(&chunk.map_err(broken)?);
        if body.len() > limit {
            return Err(media::too_large(limit));
        }
    }
    if body.len() > limit {
        return Err(media::too_large(limit));
    }
    Ok(body.freeze())
}

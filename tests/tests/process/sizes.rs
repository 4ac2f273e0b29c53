//! Bodies above the limits of size and time.

use serde_json::json;
use switchyard_tests::{ModernClient, PATIENCE, Revision, RpcError, within};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::One;

const MIB: usize = 1024 * 1024;

/// A modern request of exactly `size` bytes.
fn padded(size: usize) -> String {
    let body = |padding: &str| {
        let params = ModernClient::params(json!({"padding": padding}));
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}).to_string()
    };
    body(&"x".repeat(size - body("").len()))
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_served() {
    let one = One::start().await;

    let response = one.modern().post(&json!(1), "tools/list", json!({})).body(padded(4 * MIB)).send().await;

    assert_eq!(response.status, 200);
}

#[tokio::test]
async fn field_case_84_one_byte_more_is_413_and_names_the_limit() {
    let one = One::start().await;
    let legacy = one.legacy(Revision::R4).await;
    let too_large = padded(4 * MIB + 1);

    let modern = one.modern().post(&json!(1), "tools/list", json!({})).body(too_large.clone());
    for request in [modern.clone(), modern.chunked(), legacy.post(&json!({})).body(too_large)] {
        let response = request.send().await;

        assert_eq!(response.status, 413);
        let error = RpcError::of(&response.json().await["error"]);
        assert!(error.message.contains(&(4 * MIB).to_string()), "{}", error.message);
    }
}

#[tokio::test]
async fn field_case_84_a_body_without_end_takes_no_memory() {
    let one = One::start().await;
    let request = one.modern().post(&json!(1), "tools/list", json!({}));
    let before = one.node.memory();

    for _ in 0..4 {
        let status =
            request.clone().body(vec![b' '; 64 * MIB]).chunked().try_send().await.map(|response| response.status);
        assert!(matches!(status, Some(413) | None), "{status:?}");
    }

    let grown = one.node.memory().saturating_sub(before);
    assert!(grown < 48 * MIB, "{} MiB more than before", grown / MIB);
}

#[tokio::test]
async fn the_limit_is_an_option() {
    let one = One::start_with(json!({"server": {"maxBodyBytes": 1000}})).await;
    let request = one.modern().post(&json!(1), "tools/list", json!({}));

    let fits = request.clone().body(padded(1000)).send().await;
    let exceeds = request.body(padded(1001)).send().await;

    assert_eq!((fits.status, exceeds.status), (200, 413));
}

#[tokio::test]
async fn a_body_that_stops_coming_is_given_up() {
    let one = One::start_with(json!({"server": {"bodyTimeout": "1s"}})).await;
    let mcp = one.mcp();
    let mut connection = TcpStream::connect(mcp.address).await.unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n{{",
        mcp.path, mcp.address
    );
    connection.write_all(head.as_bytes()).await.unwrap();

    let mut answer = String::new();
    within(PATIENCE, "the end of the connection", connection.read_to_string(&mut answer)).await.unwrap();

    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("within 1 s"), "{answer}");
}

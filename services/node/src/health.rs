//! `switchyard health`: asks a running node how it is.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use crate::NodeError;

/// How long the node may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks `/readyz` of the admin listener at `admin`.
///
/// # Errors
/// The node does not answer, or is not well.
pub fn ask(admin: SocketAddr) -> Result<(), NodeError> {
    let answer = exchange(admin).map_err(|error| NodeError::Unwell(format!("no node answers at {admin}: {error}")))?;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body.trim());
    if status == "200" {
        println!("{body}");
        return Ok(());
    }
    Err(NodeError::Unwell(format!("the node at {admin} answers {status}: {body}")))
}

fn exchange(admin: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&admin, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(64 * 1024).read_to_string(&mut answer)?;
    Ok(answer)
}

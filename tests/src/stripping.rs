//! A proxy that serves a gateway below a prefix, and takes the prefix off before it passes a request on.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use crate::Endpoint;

/// The most bytes that a request's head may have.
const HEAD_LIMIT: usize = 64 * 1024;

/// A proxy that runs until it is dropped. It answers 404 to what is not below its prefix.
#[derive(Debug)]
pub struct StrippingProxy {
    /// Where it listens.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl StrippingProxy {
    /// Starts one in front of a gateway; `prefix` begins with a slash and ends without.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(gateway: &Endpoint, prefix: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let gateway = gateway.address;
        // Ends with the proxy: it is aborted on drop, and with it every connection.
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(forward(client, gateway, prefix));
            }
        });
        Self { address, task }
    }
}

impl Drop for StrippingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(mut client: TcpStream, gateway: SocketAddr, prefix: &str) -> io::Result<()> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        if client.read_buf(&mut bytes).await? == 0 || bytes.len() > HEAD_LIMIT {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    let line_end = bytes.windows(2).position(|window| window == b"\r\n").unwrap_or(bytes.len());
    let line = String::from_utf8_lossy(&bytes[..line_end]).into_owned();
    let Some(stripped) = line.split_once(&format!(" {prefix}/")).map(|(method, rest)| format!("{method} /{rest}"))
    else {
        return client.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    };
    let mut upstream = TcpStream::connect(gateway).await?;
    upstream.write_all(&[stripped.as_bytes(), &bytes[line_end..]].concat()).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_upstream, mut to_upstream) = upstream.split();
    tokio::select! {
        sent = copy(&mut from_client, &mut to_upstream) => sent?,
        answered = copy(&mut from_upstream, &mut to_client) => answered?,
    };
    Ok(())
}

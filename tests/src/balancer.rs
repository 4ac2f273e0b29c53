//! A plain load balancer: every HTTP request goes to the next gateway, whoever sent it.
//!
//! It knows nothing of sessions, buffers nothing, opens a connection of its own for each request, tries the next
//! gateway where one cannot be reached, and hangs up on either side when the other does.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::Endpoint;

/// The most bytes that a request's head may have.
const HEAD_LIMIT: usize = 64 * 1024;

/// A balancer that runs until it is dropped.
#[derive(Debug)]
pub struct Balancer {
    address: SocketAddr,
    path: String,
    upstreams: Arc<Upstreams>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Upstreams {
    addresses: Mutex<Vec<SocketAddr>>,
    next: AtomicUsize,
}

impl Balancer {
    /// Starts one in front of these gateways.
    ///
    /// # Panics
    /// When there is none, or no port is free.
    pub async fn start(gateways: impl IntoIterator<Item = Endpoint>) -> Self {
        let gateways: Vec<_> = gateways.into_iter().collect();
        let path = gateways.first().expect("a balancer has gateways").path.clone();
        let addresses = gateways.iter().map(|gateway| gateway.address).collect();
        let upstreams = Arc::new(Upstreams { addresses: Mutex::new(addresses), next: AtomicUsize::new(0) });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        // Ends with the balancer: it is aborted on drop, and with it every connection.
        let task = tokio::spawn(serve(listener, upstreams.clone()));
        Self { address, path, upstreams, task }
    }

    /// Where clients connect.
    pub fn mcp(&self) -> Endpoint {
        Endpoint { address: self.address, path: self.path.clone() }
    }

    /// Adds a gateway.
    pub fn add(&self, gateway: &Endpoint) {
        self.upstreams.addresses.lock().expect("nothing panics while holding it").push(gateway.address);
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, upstreams: Arc<Upstreams>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { return };
        while connections.try_join_next().is_some() {}
        let upstreams = upstreams.clone();
        connections.spawn(async move { forward(client, &upstreams).await });
    }
}

async fn forward(mut client: TcpStream, upstreams: &Upstreams) -> io::Result<()> {
    let request = read_head(&mut client).await?;
    let mut upstream = upstreams.connect().await?;
    client.set_nodelay(true)?;
    upstream.set_nodelay(true)?;
    upstream.write_all(&request).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_upstream, mut to_upstream) = upstream.split();
    tokio::select! {
        sent = copy(&mut from_client, &mut to_upstream) => sent?,
        answered = copy(&mut from_upstream, &mut to_client) => answered?,
    };
    Ok(())
}

/// The head of a request, and what came with it, changed to say that its connection carries nothing else.
async fn read_head(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        if client.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            if bytes.len() > HEAD_LIMIT {
                return Err(io::ErrorKind::InvalidData.into());
            }
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let lines = head.split("\r\n").filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
        let mut request = lines.collect::<Vec<_>>().join("\r\n").into_bytes();
        request.extend(b"\r\nConnection: close\r\n\r\n");
        request.extend(&bytes[end + 4..]);
        return Ok(request);
    }
}

impl Upstreams {
    async fn connect(&self) -> io::Result<TcpStream> {
        let addresses = self.addresses.lock().expect("nothing panics while holding it").clone();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        for step in 0..addresses.len() {
            if let Ok(upstream) = TcpStream::connect(addresses[(first + step) % addresses.len()]).await {
                return Ok(upstream);
            }
        }
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

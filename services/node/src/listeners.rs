//! Addresses that this process listens at, taken before anything else starts.

use std::{
    io,
    net::{SocketAddr, TcpListener, ToSocketAddrs, UdpSocket},
};

use crate::{
    NodeError,
    options::{Options, Role},
    unix_socket::UnixSocket,
};

/// The listeners of a node.
pub struct Listening {
    /// For clients over HTTP.
    pub clients: Option<TcpListener>,
    /// For clients over plain TCP.
    pub tcp: Option<TcpListener>,
    /// For clients over a Unix socket.
    pub unix: Option<UnixSocket>,
    /// For operators.
    pub admin: TcpListener,
    /// For other nodes.
    pub bus: Option<TcpListener>,
}

impl Listening {
    /// Takes the addresses that the node's roles need.
    ///
    /// # Errors
    /// The first that cannot be had.
    pub fn new(options: &Options) -> Result<Self, NodeError> {
        let clients = match options.has(Role::Gateway) {
            true => Some(bind(options.clients().into(), "clients", "`server.port` (`--port`)")?),
            false => None,
        };
        let tcp = options.server.listen_tcp.filter(|_| options.has(Role::Gateway));
        let tcp = tcp.map(|address| bind(address, "clients", "`server.listenTcp` (`--listen-tcp`)")).transpose()?;
        let unix = options.server.listen_unix.as_deref().filter(|_| options.has(Role::Gateway));
        let unix = unix.map(UnixSocket::bind).transpose()?;
        let admin = bind(options.admin.listen, "operators", "`admin.listen` (`--admin-listen`)")?;
        let bus = match options.cluster.redis.is_some() {
            true => Some(bind(options.cluster.listen, "other nodes", "`cluster.listen` (`--bus-listen`)")?),
            false => None,
        };
        Ok(Self { clients, tcp, unix, admin, bus })
    }
}

/// Takes an address; `key` is the option that would give another one.
///
/// # Errors
/// The address is taken, not this machine's, or not allowed.
pub fn bind(address: SocketAddr, who: &'static str, key: &str) -> Result<TcpListener, NodeError> {
    let listen = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    listen().map_err(|source: io::Error| {
        let hint = match source.kind() {
            io::ErrorKind::AddrInUse => format!("something else listens there already; {key} takes another one"),
            io::ErrorKind::AddrNotAvailable => format!("this machine has no such address; {key} takes another one"),
            io::ErrorKind::PermissionDenied => format!("that needs more rights; {key} takes another one"),
            _ => format!("{key} takes another one"),
        };
        NodeError::Listen { address: address.to_string(), who, hint, source }
    })
}

/// Where other nodes reach a bus that listens at `bound`.
pub fn advertised(options: &Options, bound: SocketAddr) -> String {
    if let Some(advertise) = &options.cluster.advertise {
        // Only the host is known where the port was left to the system.
        return match advertise.rsplit_once(':') {
            Some((host, "0")) => format!("{host}:{}", bound.port()),
            _ => advertise.clone(),
        };
    }
    if !bound.ip().is_unspecified() {
        return bound.to_string();
    }
    let towards = options.cluster.redis.as_ref().and_then(|redis| address_towards(&redis.0));
    let ip = towards.unwrap_or_else(|| std::net::Ipv4Addr::LOCALHOST.into());
    SocketAddr::new(ip, bound.port()).to_string()
}

/// This machine's address as the host of `url` would see it. Nothing is sent.
fn address_towards(url: &str) -> Option<std::net::IpAddr> {
    let authority = url.split_once("://")?.1.split(['/', '?']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = if host.contains(':') { host.to_owned() } else { format!("{host}:6379") };
    let remote = host.to_socket_addrs().ok()?.next()?;
    let local: SocketAddr = if remote.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(local).ok()?;
    socket.connect(remote).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::options::Secret;

    #[test]
    fn a_taken_port_is_named_with_the_option_that_helps() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();

        let error = bind(address, "clients", "--port").unwrap_err().to_string();

        assert!(error.contains(&address.to_string()), "{error}");
        assert!(error.contains("listens there already; --port"), "{error}");
    }

    #[test]
    fn a_node_is_advertised_at_the_address_that_leads_to_redis() {
        let mut options = Options::default();
        options.cluster.redis = Some(Secret("redis://:secret@127.0.0.1:6379/0".into()));
        assert_eq!(advertised(&options, "0.0.0.0:3100".parse().unwrap()), "127.0.0.1:3100");

        assert_eq!(advertised(&options, "10.0.0.7:3100".parse().unwrap()), "10.0.0.7:3100");

        options.cluster.advertise = Some("node-7.internal:0".into());
        assert_eq!(advertised(&options, "0.0.0.0:4711".parse().unwrap()), "node-7.internal:4711");
    }
}

//! What the system does about TCP peers that vanished or do not read: it breaks the connection.

use std::{io, os::fd::AsFd, time::Duration};

use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay, set_tcp_user_timeout,
};

/// How often an idle peer is asked whether it is still there.
const INTERVAL: Duration = Duration::from_secs(15);

/// How often it may fail to answer.
const PROBES: u32 = 4;

/// Has the system break the connection when its peer is gone, or for so long takes none of what is sent to it.
///
/// # Errors
/// The connection is gone already.
pub fn watch(socket: impl AsFd, write_timeout: Duration) -> io::Result<()> {
    let socket = socket.as_fd();
    set_tcp_nodelay(socket, true)?;
    set_socket_keepalive(socket, true)?;
    set_tcp_keepidle(socket, INTERVAL)?;
    set_tcp_keepintvl(socket, INTERVAL)?;
    set_tcp_keepcnt(socket, PROBES)?;
    let write_timeout = write_timeout.as_millis().clamp(1, i32::MAX as u128);
    set_tcp_user_timeout(socket, u32::try_from(write_timeout).expect("it was cut to that"))?;
    Ok(())
}

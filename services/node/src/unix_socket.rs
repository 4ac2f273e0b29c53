//! A Unix socket that is listened at: its file is this user's alone, and goes when the listening ends.

use std::{
    fs, io,
    os::unix::{
        fs::{FileTypeExt, MetadataExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, chmod},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with},
};

use crate::NodeError;

/// How many clients of a Unix socket may wait to be accepted.
const BACKLOG: i32 = 128;

/// A Unix socket that is listened at, for this user alone.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    file: SocketFile,
}

/// The file of a Unix socket; dropping it removes the file.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode: a file that somebody put in its place is not ours to remove.
    id: (u64, u64),
}

impl UnixSocket {
    /// Makes the socket. A file that a process left behind which no longer listens is replaced.
    ///
    /// # Errors
    /// Something else is there, or the file cannot be made.
    pub fn bind(path: &Path) -> Result<Self, NodeError> {
        Self::listen(path).map_err(|source| {
            let hint = match source.kind() {
                io::ErrorKind::AddrInUse => "something else is there already",
                io::ErrorKind::NotFound => "its directory does not exist",
                io::ErrorKind::PermissionDenied => "that needs more rights",
                _ => "it cannot be made",
            };
            let hint = format!("{hint}; `server.listenUnix` (`--listen-unix`) takes another path");
            NodeError::Listen { address: path.display().to_string(), who: "clients", hint, source }
        })
    }

    fn listen(path: &Path) -> io::Result<Self> {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
        if is_socket && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            fs::remove_file(path)?;
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        // Nobody can connect before `listen`, so nobody does before the file is this user's alone.
        chmod(path, Mode::RUSR | Mode::WUSR)?;
        let made = fs::symlink_metadata(path)?;
        let file = SocketFile { path: path.to_owned(), id: (made.dev(), made.ino()) };
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(Self { listener: socket.into(), file })
    }

    /// The listener, which does not block, and the file for as long as it is to be there.
    pub fn split(self) -> (UnixListener, SocketFile) {
        (self.listener, self.file)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|file| (file.dev(), file.ino()) == self.id);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(error = &error as &dyn std::error::Error, "the file of the socket could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_unix_socket_is_for_its_user_alone_and_goes_with_its_listener() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");

        let socket = UnixSocket::bind(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        UnixStream::connect(&path).unwrap();

        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn only_a_socket_that_nobody_listens_at_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (left, plain) = (folder.path().join("left"), folder.path().join("plain"));
        drop(UnixListener::bind(&left).unwrap());
        fs::write(&plain, "text").unwrap();

        let taken = UnixSocket::bind(&left).unwrap();

        assert!(UnixSocket::bind(&left).unwrap_err().to_string().contains("there already; `server.listenUnix`"));
        assert!(UnixSocket::bind(&plain).is_err());
        assert_eq!(fs::read_to_string(&plain).unwrap(), "text");
        drop(taken);
    }
}

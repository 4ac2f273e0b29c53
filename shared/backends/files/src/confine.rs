//! The one way to the disk: through a handle of the root, by plain names, following nothing.
//!
//! A path is resolved by the kernel in one step that refuses every link and every way out (`openat2`); where that
//! call is missing, folder by folder, each opened from the one before it without following links. Both give a handle,
//! and what is asked next is asked of the handle, so no exchange of files or folders in between leads elsewhere. A link is
//! resolved to the path behind it (cap-std, which keeps to the root as well), for the caller to judge and to resolve
//! again as a plain path.

use std::{
    fs::File,
    io,
    path::{Component, Path, PathBuf},
    sync::{Arc, RwLock},
};

use cap_std::{ambient_authority, fs::Dir};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat},
    io::Errno,
};

/// Opens a folder in order to list it.
const LIST: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// Opens a folder in order to go through it.
#[cfg(target_os = "linux")]
const THROUGH: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlags = LIST;

/// Opens a file in order to read it. Does not wait for the other end of a pipe.
const READ: OFlags =
    OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::RDONLY);

/// A root, and nothing else. Every path is relative to it and made of plain names.
#[derive(Debug)]
pub(crate) struct Confined {
    path: PathBuf,
    lookup: Lookup,
    /// `None` while there is no directory at the root's path.
    root: RwLock<Option<Arc<Dir>>>,
}

/// How a path is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// By the kernel, all at once.
    AtOnce,
    /// By us, folder by folder.
    ByStep,
}

/// What there is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub kind: Kind,
    /// In bytes.
    pub size: u64,
    /// Last modified: seconds since 1970 and nanoseconds.
    pub modified: (i64, u32),
    pub inode: u64,
}

/// The kinds of things that a path can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a socket, a device: never opened.
    Other,
}

impl Confined {
    /// `path` is absolute and real.
    pub fn open(path: &Path, lookup: Lookup) -> io::Result<Self> {
        let root = open_root(path)?;
        Ok(Self { path: path.to_owned(), lookup, root: RwLock::new(Some(Arc::new(root))) })
    }

    /// The root's own path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Follows the root to a directory that took its place. `false` when there is none.
    pub fn reopen(&self) -> bool {
        let now = open_root(&self.path).ok();
        let is_there = now.is_some();
        let same = match (&*self.root.read().expect("nothing panics while holding it"), &now) {
            (Some(held), Some(now)) => identity(held) == identity(now),
            (None, None) => true,
            _ => false,
        };
        if !same {
            *self.root.write().expect("nothing panics while holding it") = now.map(Arc::new);
        }
        is_there
    }

    /// What `path` names, be it a link.
    pub fn stat(&self, path: &Path) -> io::Result<Stat> {
        let Some(name) = path.file_name() else { return Ok(Stat::from(&fstat(&*self.root()?)?)) };
        let parent = self.parent(path)?;
        Ok(Stat::from(&statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// The regular file at `path`, open for reading, and what it is.
    pub fn file(&self, path: &Path) -> io::Result<(File, Stat)> {
        let name = path.file_name().ok_or(Errno::ISDIR)?;
        let parent = self.parent(path)?;
        // To open a pipe or a device can have effects, so they are told apart before; that the file is regular
        // is then asked of the opened one.
        if Stat::from(&statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?).kind != Kind::File {
            return Err(Errno::NXIO.into());
        }
        let file = openat(&parent, name, READ, Mode::empty())?;
        match Stat::from(&fstat(&file)?) {
            opened if opened.kind == Kind::File => Ok((file.into(), opened)),
            _ => Err(Errno::NXIO.into()),
        }
    }

    /// The folder at `path`, open for listing.
    pub fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        self.resolve(path, LIST)
    }

    /// The path behind the link at `path`: inside the root, without any links when it was asked for.
    pub fn behind(&self, path: &Path) -> io::Result<PathBuf> {
        // The link itself must be in a folder that is reached without links.
        self.parent(path)?;
        let real = self.root()?.canonicalize(path)?;
        let is_plain = real.components().all(|part| matches!(part, Component::Normal(_)));
        if is_plain { Ok(real) } else { Err(Errno::XDEV.into()) }
    }

    fn parent(&self, path: &Path) -> io::Result<OwnedFd> {
        self.resolve(path.parent().unwrap_or(Path::new("")), THROUGH)
    }

    fn root(&self) -> io::Result<Arc<Dir>> {
        let root = self.root.read().expect("nothing panics while holding it");
        root.clone().ok_or_else(|| Errno::NOENT.into())
    }

    fn resolve(&self, folder: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let root = self.root()?;
        if folder.as_os_str().is_empty() {
            return Ok(openat(&*root, ".", flags, Mode::empty())?);
        }
        match self.lookup {
            #[cfg(target_os = "linux")]
            Lookup::AtOnce => at_once(&root, folder, flags),
            #[cfg(not(target_os = "linux"))]
            Lookup::AtOnce => by_step(&root, folder, flags),
            Lookup::ByStep => by_step(&root, folder, flags),
        }
    }
}

impl Lookup {
    /// The best that this machine has. Some sandboxes refuse `openat2` as if it were not permitted.
    pub fn available() -> Self {
        #[cfg(target_os = "linux")]
        if let Ok(root) = open_root(Path::new("/"))
            && at_once(&root, Path::new("."), THROUGH).is_ok()
        {
            return Self::AtOnce;
        }
        Self::ByStep
    }
}

#[cfg(target_os = "linux")]
fn at_once(root: &Dir, folder: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // The kernel asks to try again when something was renamed meanwhile; whoever renames without end gets nothing.
    for _ in 0..16 {
        match openat2(root, folder, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => (),
            result => return Ok(result?),
        }
    }
    Err(Errno::NOENT.into())
}

fn by_step(root: &Dir, folder: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut at = openat(root, ".", THROUGH, Mode::empty())?;
    let mut names = folder.components().peekable();
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else { return Err(Errno::XDEV.into()) };
        let flags = if names.peek().is_none() { flags } else { THROUGH };
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(at)
}

/// The root's path is the operator's and already real: a link in its place is not followed.
fn open_root(path: &Path) -> io::Result<Dir> {
    if std::fs::symlink_metadata(path)?.is_symlink() {
        return Err(Errno::LOOP.into());
    }
    Dir::open_ambient_dir(path, ambient_authority())
}

fn identity(dir: &Dir) -> Option<(u64, u64)> {
    #[allow(clippy::unnecessary_cast, reason = "the fields' types differ between systems")]
    fstat(dir).ok().map(|stat| (stat.st_dev as u64, stat.st_ino as u64))
}

impl From<&rustix::fs::Stat> for Stat {
    #[allow(clippy::unnecessary_cast, reason = "the fields' types differ between systems")]
    fn from(stat: &rustix::fs::Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        let modified = (stat.st_mtime as i64, stat.st_mtime_nsec as u32);
        Self { kind, size: u64::try_from(stat.st_size).unwrap_or(0), modified, inode: stat.st_ino as u64 }
    }
}

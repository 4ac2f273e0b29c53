//! A root: one directory, what is served of it, and how it is read.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    FilesError, FilesOptions,
    confine::{Confined, Kind, Lookup, Stat},
    ignores::Ignores,
    media,
    picture::{Differences, Picture, Seen, Sight},
    rules::Rules,
    scan,
    uri::{self, Uris},
};

/// The most memory that is set aside before a byte is read, in bytes: a sparse file may claim any size.
const AT_ONCE: u64 = 16 * 1024 * 1024;

/// One directory whose files are served. Cheap to clone; clones share the picture of its files.
///
/// All methods block on the disk for as long as it takes, except where they say that they do not.
#[derive(Clone, Debug)]
pub struct Root {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub name: String,
    pub options: FilesOptions,
    pub uris: Uris,
    pub rules: Rules,
    pub ignores: Ignores,
    pub confined: Confined,
    pub picture: Picture,
    /// A watcher keeps the picture.
    pub watched: AtomicBool,
    /// Files beyond `maxFiles` were reported.
    pub reported: AtomicBool,
    /// Held while the picture is made without a watcher.
    refreshing: Mutex<()>,
}

/// What a listing says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Its only URI in normal form.
    pub uri: String,
    /// Its path below the root.
    pub name: String,
    /// The last part of that.
    pub title: String,
    /// By its name, else by its content.
    pub mime_type: &'static str,
    /// In bytes.
    pub size: u64,
    /// When it was last modified: RFC 3339, UTC, to the second; empty when that cannot be written so.
    pub modified: String,
}

/// Some files, in the order of their URIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// What is on it.
    pub files: Vec<FileInfo>,
    /// There are files after the last of these.
    pub more: bool,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Its only URI in normal form.
    pub uri: String,
    /// By its name, else by its content.
    pub mime_type: &'static str,
    /// Its bytes, all of them as they are.
    pub body: Body,
}

/// The bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Valid UTF-8 of a type that people read.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl Root {
    /// Opens a root and looks at none of its files yet.
    ///
    /// # Errors
    /// When there is no such directory, or an option cannot be honoured.
    pub fn open(options: &FilesOptions) -> Result<Self, FilesError> {
        Self::open_with(options, Lookup::available())
    }

    pub(crate) fn open_with(options: &FilesOptions, lookup: Lookup) -> Result<Self, FilesError> {
        if !options.readonly {
            return Err(FilesError::Writable);
        }
        let rules = Rules::new(options)?;
        let wrong = |source| FilesError::Root { path: options.path.clone(), source };
        let path = fs::canonicalize(&options.path).map_err(wrong)?;
        let confined = Confined::open(&path, lookup).map_err(wrong)?;
        confined.folder(Path::new("")).map_err(wrong)?;
        Ok(Self {
            inner: Arc::new(Inner {
                name: options.name.clone().unwrap_or_else(|| name_of(&path)),
                options: options.clone(),
                uris: Uris::new(&path),
                rules,
                ignores: Ignores::new(&path, options.gitignore),
                confined,
                picture: Picture::default(),
                watched: AtomicBool::new(false),
                reported: AtomicBool::new(false),
                refreshing: Mutex::new(()),
            }),
        })
    }

    /// What the root is called.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The real path of the directory.
    pub fn path(&self) -> &Path {
        self.inner.confined.path()
    }

    /// The URIs of its files all begin with this, which ends in a slash.
    pub fn prefix(&self) -> &str {
        &self.inner.uris.prefix
    }

    /// The options it was opened with.
    pub fn options(&self) -> &FilesOptions {
        &self.inner.options
    }

    /// At most `limit` files after the URI `after`, from the picture: empty before [`Self::watch`] or
    /// [`Self::refresh`] has made one. Opens only the files whose names do not tell their type.
    pub fn list(&self, after: Option<&str>, limit: usize) -> Page {
        let Some(key) = self.inner.uris.position(after.unwrap_or_default()) else {
            return Page { files: Vec::new(), more: false };
        };
        let (page, more) = self.inner.picture.page(key, limit);
        let files = page.iter().filter_map(|(key, seen)| self.info(key, seen)).collect();
        Page { files, more }
    }

    /// What a listing would say of one file, as it is now.
    ///
    /// # Errors
    /// [`FilesError::NotFound`]
    pub fn describe(&self, uri: &str) -> Result<FileInfo, FilesError> {
        let not_found = || FilesError::NotFound { uri: uri.to_owned() };
        let path = self.inner.uris.path(uri).ok_or_else(not_found)?;
        let (_, stat) = self.inner.find(&path).map_err(|_| not_found())?;
        self.info(&uri::key(&path), &Seen::new(&stat)).ok_or_else(not_found)
    }

    /// A file's bytes, as they are now.
    ///
    /// # Errors
    /// [`FilesError::NotFound`], [`FilesError::TooLarge`], [`FilesError::Unreadable`]
    pub fn read(&self, uri: &str) -> Result<Contents, FilesError> {
        let limit = self.inner.options.max_read_bytes;
        let not_found = || FilesError::NotFound { uri: uri.to_owned() };
        let unreadable = |source| FilesError::Unreadable { uri: uri.to_owned(), source };
        let path = self.inner.uris.path(uri).ok_or_else(not_found)?;
        let (real, _) = self.inner.find(&path).map_err(|_| not_found())?;
        let (file, stat) = self.inner.confined.file(&real).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => unreadable(source),
            _ if is_absence(&source) => not_found(),
            _ => unreadable(source),
        })?;

        let too_large = |size| FilesError::TooLarge { uri: uri.to_owned(), size, limit };
        if stat.size > limit {
            return Err(too_large(stat.size));
        }
        let mut bytes = Vec::with_capacity(stat.size.min(AT_ONCE) as usize);
        // It may have grown since.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
        let read = bytes.len() as u64;
        if read > limit {
            return Err(too_large(read));
        }
        let mime_type =
            media::by_name(&path).unwrap_or_else(|| media::by_content(&bytes[..bytes.len().min(media::HEAD)]));
        let uri = self.inner.uris.uri(&uri::key(&path));
        Ok(Contents { uri, mime_type, body: body(bytes, mime_type) })
    }

    /// Looks at the whole tree and makes the picture anew. A watcher does that by itself.
    pub fn refresh(&self) {
        let _alone = self.inner.refreshing.lock().expect("nothing panics while holding it");
        if self.inner.watched.load(Ordering::Acquire) {
            return;
        }
        let look = scan::look(&self.inner, Path::new(""), &mut |_, _| (), &AtomicBool::new(false));
        self.inner.update(Path::new(""), look.sight);
    }

    fn info(&self, key: &str, seen: &Seen) -> Option<FileInfo> {
        let path = uri::path(key)?;
        Some(FileInfo {
            uri: self.inner.uris.uri(key),
            name: path.to_string_lossy().into_owned(),
            title: path.file_name()?.to_string_lossy().into_owned(),
            mime_type: media::by_name(&path).unwrap_or_else(|| self.inner.sniff(&path)),
            size: seen.size,
            modified: rfc3339(seen.modified),
        })
    }
}

impl Inner {
    /// The real path of the file that is served at `path`, and what it is. A link's file must be served itself.
    pub fn find(&self, path: &Path) -> io::Result<(PathBuf, Stat)> {
        let absent = || io::Error::from(io::ErrorKind::NotFound);
        if !self.serves(path) {
            return Err(absent());
        }
        let stat = self.confined.stat(path)?;
        match stat.kind {
            Kind::File => Ok((path.to_owned(), stat)),
            Kind::Link => {
                let real = self.confined.behind(path)?;
                let stat = self.confined.stat(&real)?;
                if stat.kind == Kind::File && self.serves(&real) { Ok((real, stat)) } else { Err(absent()) }
            }
            Kind::Folder | Kind::Other => Err(absent()),
        }
    }

    /// Whether the rules serve a file at `path`.
    pub fn serves(&self, path: &Path) -> bool {
        self.rules.serve(path) && !self.ignores.ignore(&self.confined, path, false)
    }

    /// Says, once, that there are more files than `maxFiles`.
    pub fn report_rest(&self) {
        if !self.reported.swap(true, Ordering::Relaxed) {
            let root = self.confined.path().display();
            tracing::warn!(%root, max_files = self.options.max_files, "there are more files than are listed");
        }
    }

    /// Makes the picture at and below `path` what was seen there.
    pub fn update(&self, path: &Path, sight: Sight) -> Differences {
        let differences = self.picture.update(&uri::key(path), sight, self.options.max_files);
        if differences.left_out {
            self.report_rest();
        }
        differences
    }

    /// The type that a file's content tells; of one that cannot be read, as of one without any.
    fn sniff(&self, path: &Path) -> &'static str {
        let head = || -> io::Result<Vec<u8>> {
            let (real, _) = self.find(path)?;
            let (file, _) = self.confined.file(&real)?;
            head(&file)
        };
        media::by_content(&head().unwrap_or_default())
    }
}

/// The beginning of a file.
pub(crate) fn head(file: &File) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(media::HEAD);
    file.take(media::HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Whether an error only says that there is nothing at a path that can be served.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(errno) => matches!(
            errno,
            Errno::NOENT
                | Errno::NOTDIR
                | Errno::ISDIR
                | Errno::LOOP
                | Errno::XDEV
                | Errno::NAMETOOLONG
                | Errno::ACCESS
                | Errno::PERM
                | Errno::NXIO
                | Errno::NODEV
        ),
        None => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied),
    }
}

fn body(bytes: Vec<u8>, mime_type: &str) -> Body {
    if !media::may_be_text(mime_type) {
        return Body::Bytes(bytes);
    }
    String::from_utf8(bytes).map_or_else(|error| Body::Bytes(error.into_bytes()), Body::Text)
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn rfc3339((seconds, _): (i64, u32)) -> String {
    let time = OffsetDateTime::from_unix_timestamp(seconds).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
}

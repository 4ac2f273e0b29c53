//! Looking at the disk: what is served at and below a path.
//!
//! The tree is walked in the order of keys, each folder opened through the root's handle and read whole before the next
//! one, so the open handles are few, whatever the depth, and a walk that `maxFiles` ends has seen the first ones.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    vec,
};

use rustix::{
    fs::{AtFlags, Dir, statat},
    io::Errno,
};

use crate::{
    confine::{Kind, Stat},
    ignores::{self, Chain},
    picture::{Seen, Sight},
    root::{Inner, is_absence},
    uri,
};

/// What a look brought.
#[derive(Debug)]
pub(crate) struct Look {
    pub sight: Sight,
    /// It was stopped before its end.
    pub stopped: bool,
}

/// Told of every folder, with its inode, before what is in it is looked at.
pub(crate) type OnFolder<'a> = &'a mut dyn FnMut(&Path, u64);

/// Looks at `path` and everything below it; the empty path is the whole root. Stops early once `stop` is set.
pub(crate) fn look(root: &Inner, path: &Path, on_folder: OnFolder, stop: &AtomicBool) -> Look {
    let mut walk = Walk { root, on_folder, stop, sight: Sight::default() };
    walk.start(path);
    Look { sight: walk.sight, stopped: stop.load(Ordering::Relaxed) }
}

struct Walk<'a> {
    root: &'a Inner,
    on_folder: OnFolder<'a>,
    stop: &'a AtomicBool,
    sight: Sight,
}

/// A folder on the way to where the walk is.
struct Folder {
    path: PathBuf,
    chain: Chain,
    children: vec::IntoIter<Child>,
}

struct Child {
    /// The name as part of a key, with a slash behind a folder's, so that the order of children is that of keys.
    key: String,
    name: OsString,
    stat: Stat,
}

impl Walk<'_> {
    fn start(&mut self, path: &Path) {
        let root = self.root;
        let stat = match root.confined.stat(path) {
            Ok(stat) => stat,
            Err(error) => return self.miss(&uri::key(path), &error),
        };
        let is_folder = stat.kind == Kind::Folder;
        if !path.as_os_str().is_empty() {
            let steps = path.ancestors().filter(|step| !step.as_os_str().is_empty());
            let served = if is_folder {
                steps.into_iter().all(|step| root.rules.serve_folder(step))
            } else {
                root.rules.serve(path)
            };
            if !served || root.ignores.ignore(&root.confined, path, is_folder) {
                return;
            }
        }
        match stat.kind {
            Kind::Folder => {
                let mut chain = root.ignores.enter(&root.confined, Path::new(""), None);
                let mut steps: Vec<_> = path.ancestors().filter(|step| !step.as_os_str().is_empty()).collect();
                while let Some(step) = steps.pop() {
                    chain = root.ignores.enter(&root.confined, step, Some(&chain));
                }
                self.walk(path.to_owned(), stat.inode, chain);
            }
            _ => self.leaf(path, uri::key(path), &stat),
        }
    }

    fn walk(&mut self, path: PathBuf, inode: u64, chain: Chain) {
        let key = uri::key(&path);
        let prefix = if key.is_empty() { key } else { key + "/" };
        let mut way = vec![(self.enter(path, inode, chain), prefix)];
        while let Some((folder, prefix)) = way.last_mut() {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let Some(child) = folder.children.next() else {
                way.pop();
                continue;
            };
            let path = folder.path.join(&child.name);
            let key = format!("{prefix}{}", child.key);
            let is_folder = child.stat.kind == Kind::Folder;
            if ignores::ignored(&folder.chain, &path, is_folder) {
                continue;
            }
            if !is_folder {
                if self.root.rules.serve_file(&path) {
                    if self.sight.files.len() >= self.root.options.max_files {
                        return self.root.report_rest();
                    }
                    self.leaf(&path, key, &child.stat);
                }
            } else if self.root.rules.serve_folder(&path) {
                let chain = self.root.ignores.enter(&self.root.confined, &path, Some(&folder.chain));
                let entered = self.enter(path, child.stat.inode, chain);
                way.push((entered, key));
            }
        }
    }

    /// Notes a file, or a link to one.
    fn leaf(&mut self, path: &Path, key: String, stat: &Stat) {
        let key = key.into_boxed_str();
        match stat.kind {
            Kind::File => self.sight.files.push((key, Seen::new(stat))),
            Kind::Link => {
                self.sight.links.insert(key.clone());
                match self.root.find(path) {
                    Ok((_, target)) => self.sight.files.push((key, Seen::new(&target))),
                    Err(error) => self.miss(&key, &error),
                }
            }
            Kind::Folder | Kind::Other => (),
        }
    }

    /// Notes that what is at and below `key` could not be looked at, unless there is nothing.
    fn miss(&mut self, key: &str, error: &io::Error) {
        if !is_absence(error) {
            self.sight.unseen.push(key.into());
        }
    }

    fn enter(&mut self, path: PathBuf, inode: u64, chain: Chain) -> Folder {
        (self.on_folder)(&path, inode);
        let children = match self.children(&path) {
            Ok(children) => children,
            Err(error) => {
                self.miss(&uri::key(&path), &error);
                Vec::new()
            }
        };
        Folder { path, chain, children: children.into_iter() }
    }

    fn children(&self, path: &Path) -> io::Result<Vec<Child>> {
        let mut folder = Dir::new(self.root.confined.folder(path)?)?;
        let mut children = Vec::new();
        while let Some(entry) = folder.read() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let stat = match statat(folder.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Stat::from(&stat),
                // It is gone already.
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            let mut key = uri::key(Path::new(name));
            if stat.kind == Kind::Folder {
                key.push('/');
            }
            children.push(Child { key, name: name.to_owned(), stat });
            if children.len() > self.root.options.max_files || self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        children.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        Ok(children)
    }
}

//! What a root promises, tried on real files.

#![allow(clippy::unwrap_used)]

mod confinement;
mod ignoring;
mod listing;
mod reading;
mod searching;
mod watching;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{Body, FilesError, FilesOptions, Root, confine::Lookup};

/// A directory `data` to serve, beside other things that must stay out of reach.
pub(super) struct Tree {
    above: TempDir,
}

impl Tree {
    pub fn new() -> Self {
        let above = TempDir::new().unwrap();
        fs::create_dir(above.path().join("data")).unwrap();
        Self { above }
    }

    pub fn with(files: &[(&str, &str)]) -> Self {
        let tree = Self::new();
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    /// Where `path` is, relative to the served directory; `../` leads beside it also when it is away.
    pub fn at(&self, path: &str) -> PathBuf {
        match path.strip_prefix("../") {
            Some(beside) => self.above.path().join(beside),
            None if path.is_empty() => self.above.path().join("data"),
            None => self.above.path().join("data").join(path),
        }
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub fn options(&self) -> FilesOptions {
        FilesOptions { path: self.at(""), ..FilesOptions::default() }
    }

    pub fn root(&self) -> Root {
        self.root_with(|_| ())
    }

    pub fn root_with(&self, change: impl FnOnce(&mut FilesOptions)) -> Root {
        let mut options = self.options();
        change(&mut options);
        Root::open(&options).unwrap()
    }

    /// The same root by every way there is to resolve a path.
    pub fn roots(&self) -> Vec<Root> {
        let lookups = [Lookup::available(), Lookup::ByStep];
        lookups.map(|lookup| Root::open_with(&self.options(), lookup).unwrap()).into()
    }
}

pub(super) fn uri(root: &Root, path: &str) -> String {
    format!("{}{path}", root.prefix())
}

/// The text of a file, if it is served.
pub(super) fn text(root: &Root, path: &str) -> Option<String> {
    match root.read(&uri(root, path)) {
        Ok(contents) => match contents.body {
            Body::Text(text) => Some(text),
            Body::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        },
        Err(FilesError::NotFound { .. }) => None,
        Err(error) => panic!("{path}: {error}"),
    }
}

/// The names of all files that are listed.
pub(super) fn listed(root: &Root) -> Vec<String> {
    root.refresh();
    root.list(None, usize::MAX).files.into_iter().map(|file| file.name).collect()
}

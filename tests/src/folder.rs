//! A folder to serve, gone when the test is over.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder of its own for one test.
#[derive(Debug)]
pub struct Folder {
    folder: TempDir,
    /// Where files are written that move into the folder whole.
    drafts: TempDir,
    saves: AtomicU64,
}

impl Folder {
    /// An empty folder.
    ///
    /// # Panics
    /// When the system gives none.
    pub fn empty() -> Self {
        let [folder, drafts] = [(); 2].map(|()| {
            tempfile::Builder::new().prefix("switchyard-").tempdir().expect("a temporary folder can be made")
        });
        Self { folder, drafts, saves: AtomicU64::new(0) }
    }

    /// A folder with a few files of each kind: text in the root and below, bytes, a prompt, and some that must not
    /// be served: `.env`, and `ignored.log` through `.gitignore`.
    pub fn sample() -> Self {
        let folder = Self::empty();
        folder.write("plan.md", "# Plan\n\nLay the tracks, then the switches.\n");
        folder.write("notes.txt", "nothing to see here\n");
        folder.write("deep/down/łódź 天気.txt", "names may have any letters\n");
        folder.write("picture.png", PICTURE);
        folder.write(".env", "PASSWORD=hunter2\n");
        folder.write(".gitignore", "ignored.log\n");
        folder.write("ignored.log", "nobody should read this\n");
        folder.write("prompts/greet.md", GREETING);
        folder
    }

    /// Where it is, without symbolic links.
    pub fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder exists")
    }

    /// A configuration that serves it, with the tools that tests need: [`Backend`](crate::Backend)s may be asked.
    pub fn config(&self) -> Value {
        json!({
            "resources": [{"type": "filesystem", "path": self.path(), "readonly": true}],
            "tools": [{"name": "checkServiceStatus", "allowHosts": ["127.0.0.1"]}],
            "prompts": {"path": self.path().join("prompts")},
        })
    }

    /// Puts a file there, with the folders on its way. It comes in one step, so that it is one change however slow the
    /// machine is.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
        let draft = self.drafts.path().join(self.saves.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::write(&draft, content).expect("a file can be written");
        std::fs::rename(draft, path).expect("a file can be moved");
    }

    /// Writes a file in place: at first it is empty, and whoever watches may see that.
    pub fn overwrite(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.folder.path().join(name), content).expect("a file can be written");
    }

    /// Saves a file as editors do: writes another one beside it and renames that over it.
    pub fn save(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.folder.path().join(name);
        let beside = path.with_extension(format!("{}.tmp", self.saves.fetch_add(1, Ordering::Relaxed)));
        std::fs::write(&beside, content).expect("a file can be written");
        std::fs::rename(beside, path).expect("a file can be renamed");
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.folder.path().join(name)).expect("the file exists");
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        self.folder.path()
    }
}

/// The smallest picture that is one.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82";

const GREETING: &str = "---
name: greet
title: Greeting
description: Says hello to somebody.
arguments:
  - name: who
    description: Whom to greet.
    required: true
---
Say hello to {{ who }}.
";

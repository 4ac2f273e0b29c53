//! Resources that are files below a directory.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use sha2::{Digest, Sha256};
use switchyard_files::{Body, Changes, Contents, FileInfo, FilesError, FilesOptions, Root, WatchOptions, Watching};
use switchyard_proto::v1::{Resource, ResourceContents, resource_contents};
use switchyard_state::{Entry, EntryKind, TaskSupport};
use tonic::Status;

use crate::{error, provider::Provider, reading::Reading};

/// Any served file by its absolute path. Which files are served is no part of it, so that all nodes agree on it.
const TEMPLATE: &str = "file:///{+path}";

/// How many files are looked at in one step while a path is completed.
const COMPLETED_AT_ONCE: usize = 1000;

/// The files below one directory.
pub(crate) struct Filesystem {
    root: Root,
    watching: Watching,
    reading: Reading,
}

impl Filesystem {
    /// Opens the directory and begins to watch it.
    pub fn open(options: &FilesOptions, reading: Reading) -> Result<Self, FilesError> {
        let root = Root::open(options)?;
        let watching = root.watch()?;
        Ok(Self { root, watching, reading })
    }

    /// The directory, with its picture.
    pub fn root(&self) -> &Root {
        &self.root
    }

    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce(&Root) -> T + Send + 'static) -> Result<T, Status> {
        let root = self.root.clone();
        self.reading.run(move || work(&root)).await
    }
}

#[async_trait]
impl Provider for Filesystem {
    fn name(&self) -> &str {
        self.root.name()
    }

    fn prefix(&self) -> &str {
        self.root.prefix()
    }

    fn entries(&self) -> Vec<Entry> {
        let options = self.root.options();
        let rules = FilesOptions {
            path: self.root.path().to_owned(),
            name: Some(self.root.name().to_owned()),
            // How a node learns of changes is its own affair.
            watch: WatchOptions::default(),
            ..options.clone()
        };
        let rules = json!({"type": "filesystem", "prefix": self.prefix(), "rules": rules});
        let provider = json!({"name": self.name(), "uriPrefix": self.prefix()});
        let template = json!({
            "uriTemplate": TEMPLATE,
            "name": "file",
            "title": "File",
            "description": "A file by its absolute path on the server, if it is one that is served.",
        });
        vec![
            entry(EntryKind::Provider, self.name(), &provider, &rules, self.prefix()),
            entry(EntryKind::Template, TEMPLATE, &template, &template, ""),
        ]
    }

    async fn list(&self, after: &str, limit: usize) -> Result<(Vec<Resource>, bool), Status> {
        self.reading.wait(self.watching.ready()).await?;
        let after = after.to_owned();
        let page = self.blocking(move |root| root.list(Some(&after), limit)).await?;
        Ok((page.files.into_iter().map(resource).collect(), page.more))
    }

    async fn describe(&self, uri: &str) -> Result<Resource, Status> {
        let asked = uri.to_owned();
        let described = self.blocking(move |root| root.describe(&asked)).await?;
        described.map(resource).map_err(|error| error::status(uri, &error))
    }

    async fn read(&self, uri: &str) -> Result<ResourceContents, Status> {
        let asked = uri.to_owned();
        let read = self.blocking(move |root| root.read(&asked)).await?;
        read.map(contents).map_err(|error| error::status(uri, &error))
    }

    async fn complete(
        &self,
        template: &str,
        variable: &str,
        written: &str,
        limit: usize,
    ) -> Result<Option<(Vec<String>, bool)>, Status> {
        if template != TEMPLATE || variable != "path" {
            return Ok(None);
        }
        self.reading.wait(self.watching.ready()).await?;
        let written = written.to_owned();
        let root = self.root.path().to_string_lossy().trim_start_matches('/').to_owned();
        let found = self.blocking(move |files| paths(files, &root, &written, limit)).await?;
        Ok(Some(found))
    }

    async fn changes(&self) -> Option<Changes> {
        self.watching.next().await
    }

    fn look_again(&self) {
        self.watching.rescan();
    }

    fn lag(&self) -> Duration {
        let watch = &self.root.options().watch;
        watch.max_delay + watch.rescan_every
    }
}

/// The absolute paths, without the first slash, of served files that begin with what was written.
fn paths(files: &Root, root: &str, written: &str, limit: usize) -> (Vec<String>, bool) {
    let path = |file: FileInfo| format!("{root}/{}", file.name);
    let mut found = Vec::new();
    let mut after = None::<String>;
    loop {
        let page = files.list(after.as_deref(), COMPLETED_AT_ONCE);
        after = page.files.last().map(|file| file.uri.clone());
        found.extend(page.files.into_iter().map(path).filter(|path| path.starts_with(written)));
        if found.len() > limit || !page.more {
            break;
        }
    }
    let more = found.len() > limit;
    found.truncate(limit);
    (found, more)
}

fn entry(
    kind: EntryKind,
    name: &str,
    definition: &serde_json::Value,
    agreed: &serde_json::Value,
    prefix: &str,
) -> Entry {
    let digest = Sha256::digest(agreed.to_string());
    Entry {
        kind,
        name: name.to_owned(),
        definition: definition.to_string(),
        digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        needs: String::new(),
        prefix: prefix.to_owned(),
        repeatable: true,
        timeout_ms: 0,
        tasks: TaskSupport::Never,
    }
}

fn resource(file: FileInfo) -> Resource {
    Resource {
        uri: file.uri,
        name: file.name,
        title: file.title,
        description: String::new(),
        mime_type: file.mime_type.to_owned(),
        size: Some(file.size),
        last_modified: file.modified,
        meta_json: Default::default(),
    }
}

fn contents(contents: Contents) -> ResourceContents {
    let body = match contents.body {
        Body::Text(text) => resource_contents::Body::Text(text),
        Body::Bytes(bytes) => resource_contents::Body::Blob(bytes.into()),
    };
    ResourceContents {
        uri: contents.uri,
        mime_type: contents.mime_type.to_owned(),
        body: Some(body),
        meta_json: Default::default(),
    }
}

//! The resources service, tried on real files.

#![allow(clippy::unwrap_used)]

mod announced;
mod changes;
mod requests;
mod traces;

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use switchyard_files::FilesOptions;
use switchyard_proto::v1::{Fact, fact::Kind};
use switchyard_resources::{Publish, ResourceOptions, ResourceService, ResourcesError, ServiceOptions};
use switchyard_state::{NodeId, Registry, memory};
use tempfile::TempDir;
use tokio::sync::watch;
use tonic::Status;

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// A directory to serve.
struct Folder(TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        fs::create_dir(folder.0.path().join("data")).unwrap();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("data").canonicalize().unwrap()
    }

    /// Puts a file there in one step, so that it is one change however long the step takes.
    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let draft = self.0.path().join("draft");
        fs::write(&draft, content).unwrap();
        fs::rename(draft, path).unwrap();
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.path().display())
    }

    fn source(&self) -> ResourceOptions {
        self.source_with(|_| ())
    }

    fn source_with(&self, change: impl FnOnce(&mut FilesOptions)) -> ResourceOptions {
        let mut options = FilesOptions { path: self.path(), ..FilesOptions::default() };
        // Short, so that what a node keeps to itself is soon forgotten.
        options.watch.rescan_every = Duration::from_millis(100);
        change(&mut options);
        ResourceOptions::Filesystem(options)
    }
}

/// A log that keeps what is published, and can be away.
#[derive(Clone)]
struct Log {
    facts: Arc<Mutex<Vec<Fact>>>,
    state: Arc<watch::Sender<LogState>>,
    news: Arc<watch::Sender<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogState {
    /// Facts are kept.
    There,
    /// Facts are refused.
    Away,
    /// Facts are kept, but nobody is told so.
    Silent,
    /// Nobody answers.
    Hanging,
}

impl Default for Log {
    fn default() -> Self {
        let facts = Arc::default();
        Self { facts, state: Arc::new(watch::Sender::new(LogState::There)), news: Arc::new(watch::Sender::new(0)) }
    }
}

#[tonic::async_trait]
impl Publish for Log {
    async fn publish(&self, facts: Vec<Fact>) -> Result<(), Status> {
        let state = *self.state.borrow();
        if matches!(state, LogState::There | LogState::Silent) {
            let mut kept = self.facts.lock().unwrap();
            for fact in facts {
                if !kept.iter().any(|known| known.producer_id == fact.producer_id) {
                    kept.push(fact);
                }
            }
        }
        self.news.send_modify(|news| *news += 1);
        match state {
            LogState::There => Ok(()),
            LogState::Away | LogState::Silent => Err(Status::unavailable("the log is away")),
            LogState::Hanging => std::future::pending().await,
        }
    }
}

impl Log {
    fn set(&self, state: LogState) {
        self.state.send_replace(state);
    }

    fn facts(&self) -> Vec<Fact> {
        self.facts.lock().unwrap().clone()
    }

    /// The URIs of all updates so far, repeats included.
    fn updates(&self) -> Vec<String> {
        let uri = |fact: Fact| match fact.kind {
            Some(Kind::ResourceUpdated(updated)) => Some(updated.uri),
            _ => None,
        };
        self.facts().into_iter().filter_map(uri).collect()
    }

    fn is_list_changed(&self) -> bool {
        self.facts().iter().any(|fact| matches!(fact.kind, Some(Kind::ListChanged(_))))
    }

    /// Waits until all of these were updated.
    async fn until_updated(&self, uris: &[String]) {
        self.until(|log| {
            let updated: BTreeSet<_> = log.updates().into_iter().collect();
            uris.iter().all(|uri| updated.contains(uri))
        })
        .await;
    }

    async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let mut news = self.news.subscribe();
        let waited = tokio::time::timeout(LONG, news.wait_for(|_| is_so(self))).await;
        assert!(waited.is_ok(), "it did not come to that; updated: {:?}", self.updates());
    }

    /// Waits for so many more attempts to publish.
    async fn attempts(&self, more: usize) {
        let mut news = self.news.subscribe();
        let wanted = *news.borrow() + more;
        tokio::time::timeout(LONG, news.wait_for(|news| *news >= wanted)).await.unwrap().unwrap();
    }
}

/// Options by which nothing happens because the machine is busy with other things.
fn patient() -> ServiceOptions {
    ServiceOptions { max_wait: LONG, lease: LONG, publish_timeout: LONG, ..ServiceOptions::default() }
}

fn start(
    sources: &[ResourceOptions],
    registry: &Arc<dyn Registry>,
    node: &str,
    log: &Log,
) -> Result<ResourceService, ResourcesError> {
    start_with(&patient(), sources, registry, node, log)
}

fn start_with(
    options: &ServiceOptions,
    sources: &[ResourceOptions],
    registry: &Arc<dyn Registry>,
    node: &str,
    log: &Log,
) -> Result<ResourceService, ResourcesError> {
    ResourceService::start(sources, options, registry.clone(), NodeId(node.to_owned()), Arc::new(log.clone()))
}

/// A node that serves `folder` alone, once its first look is done.
async fn serve(folder: &Folder) -> (ResourceService, Log) {
    let log = Log::default();
    let service = start(&[folder.source()], &registry(), "node", &log).unwrap();
    requests::list(&service, "data", "", 1).await.unwrap();
    (service, log)
}

fn registry() -> Arc<dyn Registry> {
    memory::stores().registry
}

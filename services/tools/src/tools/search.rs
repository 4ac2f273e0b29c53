//! `search`: finds text in the served files.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::json;
use switchyard_files::{FilesError, FilesOptions, Hit, Root, WatchOptions};
use switchyard_state::TaskSupport;

use crate::{Annotations, Blocking, Definition, Reporter, Run, Tool, ToolError, ToolOutput};

/// How many searches run at a time; each keeps a disk and a processor busy.
const AT_ONCE: usize = 4;

/// How many matches are told of, unless the caller says otherwise.
const DEFAULT_LIMIT: f64 = 10.0;

/// How often a waiting client hears how far the search is.
const SIGN_OF_LIFE: Duration = Duration::from_millis(200);

/// Finds text in the served files.
pub struct Search {
    files: Vec<Root>,
    blocking: Blocking,
}

impl Search {
    pub(crate) const NAME: &str = "search";

    /// Searches these directories, one after the other.
    pub fn over(files: Vec<Root>) -> Self {
        Self { files, blocking: Blocking::new(AT_ONCE) }
    }

    fn search(&self, wanted: &Wanted, signs: &mut Signs, stop: &AtomicBool) -> Result<Found, FilesError> {
        let mut hits = Vec::new();
        for (place, root) in self.files.iter().enumerate() {
            // One more than wanted tells whether there are more.
            let room = (wanted.limit + 1).saturating_sub(hits.len());
            if room == 0 {
                break;
            }
            let is_last = place + 1 == self.files.len();
            hits.extend(root.search(&wanted.query, room, stop, &mut |done, total| signs.step(done, total, is_last))?);
            signs.next_root();
        }
        let more = hits.len() > wanted.limit;
        hits.truncate(wanted.limit);
        Ok(Found { matches: hits.into_iter().map(Match::from).collect(), more })
    }
}

#[async_trait]
impl Tool for Search {
    fn definition(&self) -> Definition {
        Definition {
            name: Self::NAME,
            title: "Search files",
            description: "Finds text in the names and contents of the files that this server offers as resources, \
                          whatever its case. Each match has the URI by which the file can be read.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "minLength": 2,
                        "maxLength": 1000,
                        "description": "The text to look for.",
                    },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": 100,
                        "default": DEFAULT_LIMIT as u64,
                        "description": "The most matches to return.",
                    },
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
            output_schema: json!({
                "type": "object",
                "properties": {
                    "matches": {
                        "type": "array",
                        "maxItems": 100,
                        "items": {
                            "type": "object",
                            "properties": {
                                "uri": {"type": "string", "format": "uri", "description": "The file."},
                                "line": {
                                    "type": "integer",
                                    "minimum": 1,
                                    "description": "The line, counted from 1; without it, the name matches.",
                                },
                                "text": {"type": "string", "description": "What the line or the name says."},
                            },
                            "required": ["uri", "text"],
                            "additionalProperties": false,
                        },
                    },
                    "more": {"type": "boolean", "description": "Whether the search ended early, at its limit."},
                },
                "required": ["matches", "more"],
                "additionalProperties": false,
            }),
            annotations: Annotations::read_only(),
        }
    }

    fn fingerprint(&self) -> String {
        self.files.iter().map(served).collect()
    }

    fn tasks(&self) -> TaskSupport {
        TaskSupport::Optional
    }

    async fn run(self: Arc<Self>, mut run: Run) -> Result<ToolOutput, ToolError> {
        let wanted = Wanted { limit: run.number("limit", DEFAULT_LIMIT) as usize, query: run.text("query") };
        let mut signs = Signs::new(run.reporter);
        let searcher = Arc::clone(&self);
        let found = self.blocking.run(move |stop| searcher.search(&wanted, &mut signs, stop));
        ToolOutput::structured(&found.await?.map_err(ToolError::internal)?)
    }
}

struct Wanted {
    query: String,
    limit: usize,
}

#[derive(Serialize)]
struct Found {
    matches: Vec<Match>,
    more: bool,
}

#[derive(Serialize)]
struct Match {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    text: String,
}

impl From<Hit> for Match {
    fn from(hit: Hit) -> Self {
        Self { uri: hit.uri, line: hit.line, text: hit.excerpt }
    }
}

/// Where a root is and which of its files are served, without how they are watched.
fn served(root: &Root) -> String {
    let options =
        FilesOptions { path: root.path().to_owned(), watch: WatchOptions::default(), ..root.options().clone() };
    serde_json::to_string(&options).unwrap_or_else(|_| root.prefix().to_owned())
}

/// Signs of life: none of a short search; of a long one now and then, and when it has seen everything.
struct Signs {
    reporter: Reporter,
    next: Instant,
    has_begun: bool,
    /// Files in roots that are done.
    before: u64,
    in_root: u64,
}

impl Signs {
    fn new(reporter: Reporter) -> Self {
        Self { reporter, next: Instant::now() + SIGN_OF_LIFE, has_begun: false, before: 0, in_root: 0 }
    }

    /// So many of the root's files are done. Nobody knows yet how many there are in the roots that follow.
    fn step(&mut self, done: u64, total: u64, is_last: bool) {
        self.in_root = done;
        let is_end = is_last && done >= total;
        if Instant::now() < self.next && !(is_end && self.has_begun) {
            return;
        }
        self.next = Instant::now() + SIGN_OF_LIFE;
        self.has_begun = true;
        let done = self.before + done;
        let (total, message) = match is_last {
            true => (Some(self.before + total), format!("searched {done} of {} files", self.before + total)),
            false => (None, format!("searched {done} files")),
        };
        self.reporter.progress(done as f64, total.map(|total| total as f64), message);
    }

    fn next_root(&mut self) {
        self.before += std::mem::take(&mut self.in_root);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs, task::Waker};

    use switchyard_proto::v1::{Context, Progress, call_event::Event};

    use super::*;

    fn reported(reporter: &Reporter) -> Option<Progress> {
        let reports = std::iter::from_fn(|| reporter.take(Waker::noop()));
        let progress =
            reports.filter_map(|report| if let Event::Progress(report) = report { Some(report) } else { None });
        progress.last()
    }

    /// A search that takes long, for it finds nothing in much text.
    fn long_search(folder: &std::path::Path) -> (Arc<Search>, Run) {
        let first = folder.join("0.txt");
        fs::write(&first, "a".repeat(1024 * 1024)).unwrap();
        (1..5000).for_each(|copy| fs::hard_link(&first, folder.join(format!("{copy}.txt"))).unwrap());
        let root = Root::open(&FilesOptions { path: folder.to_owned(), ..Default::default() }).unwrap();
        let reporter = Reporter::new(&Context { wants_progress: true, ..Default::default() });
        let arguments = json!({"query": "ab"}).as_object().unwrap().clone();
        (Arc::new(Search::over(vec![root])), Run { arguments, principal: None, reporter })
    }

    #[tokio::test]
    async fn a_long_search_tells_how_far_it_is_and_stops_when_it_is_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let (search, run) = long_search(folder.path());
        let reporter = run.reporter.clone();
        let first_report = async {
            loop {
                if let Some(report) = reported(&reporter) {
                    break report;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };

        let report = tokio::select! {
            _ = Arc::clone(&search).run(run) => panic!("the search takes long"),
            report = first_report => report,
        };
        assert_eq!(report.total, Some(5000.0));
        assert!(report.progress < 5000.0 && report.message.contains("of 5000 files"), "{report:?}");

        // The run was dropped; had it gone on, its last report would tell of all files.
        search.blocking.idle(AT_ONCE as u32).await;
        assert!(reported(&reporter).is_none_or(|report| report.progress < 5000.0));
    }
}

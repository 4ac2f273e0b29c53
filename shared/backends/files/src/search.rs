//! Searching the names and texts of served files.
//!
//! One file is in memory at a time and excerpts are short, so a search needs little memory however much it reads. Hits
//! come in the order of URIs, a file's name before its lines, so the same files give the same hits.

use std::{
    io::Read,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{FilesError, Root, media, uri};

/// The most characters of an excerpt.
const EXCERPT: usize = 200;

/// The most lines of one file among the hits, so that one file does not fill them all.
const LINES_OF_A_FILE: usize = 5;

/// How many files are taken from the picture at a time.
const PAGE: usize = 256;

/// A place where the text was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The file.
    pub uri: String,
    /// The line, counted from 1; `None` when the file's name has the text.
    pub line: Option<u64>,
    /// What is there: the line, or the part of it around the text, of at most 200 characters; or the name.
    pub excerpt: String,
}

impl Root {
    /// At most `limit` places in names and UTF-8 texts of served files that have `query`, whatever the case. Of one
    /// file, its name and at most five lines. Files above `maxSearchBytes` are searched by name only.
    ///
    /// Reads the picture that a watcher keeps; without one it looks at the whole tree first. Calls `progress` with
    /// the number of files done and of all files, at the start and then after each. Once `stop` is set it ends within
    /// the time of one file.
    ///
    /// # Errors
    /// [`FilesError::Cancelled`] when it was stopped.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Vec<Hit>, FilesError> {
        if !self.inner.watched.load(Ordering::Acquire) {
            self.refresh();
        }
        let query = Query::new(query);
        let mut hits = Vec::new();
        let mut done = 0;
        let mut after = String::new();
        progress(done, self.inner.picture.len() as u64);
        while hits.len() < limit {
            let (page, more) = self.inner.picture.page(&after, PAGE);
            for (key, _) in &page {
                if stop.load(Ordering::Relaxed) {
                    return Err(FilesError::Cancelled);
                }
                self.search_file(key, &query, limit - hits.len(), &mut hits);
                done += 1;
                progress(done, done.max(self.inner.picture.len() as u64));
                if hits.len() >= limit {
                    break;
                }
            }
            match page.last() {
                Some((key, _)) if more => after = key.to_string(),
                _ => break,
            }
        }
        Ok(hits)
    }

    fn search_file(&self, key: &str, query: &Query, room: usize, hits: &mut Vec<Hit>) {
        let Some(path) = uri::path(key) else { return };
        let mut hit = |line, excerpt| hits.push(Hit { uri: self.inner.uris.uri(key), line, excerpt });
        let mut room = room;
        let name = path.to_string_lossy();
        if let Some(at) = query.find(&name) {
            hit(None, excerpt(&name, at));
            room -= 1;
        }
        // What cannot be read, or is gone meanwhile, has no text.
        let Some(text) = self.text(&path) else { return };
        let found = text.lines().zip(1..).filter_map(|(line, number)| Some((number, line, query.find(line)?)));
        for (number, line, at) in found.take(room.min(LINES_OF_A_FILE)) {
            hit(Some(number), excerpt(line, at));
        }
    }

    /// The text of a file, if it is one and small enough.
    fn text(&self, path: &Path) -> Option<String> {
        let limit = self.inner.options.max_search_bytes;
        if media::by_name(path).is_some_and(|media| !media::may_be_text(media)) {
            return None;
        }
        let (real, stat) = self.inner.find(path).ok()?;
        if stat.size > limit {
            return None;
        }
        let (file, _) = self.inner.confined.file(&real).ok()?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).ok()?;
        let is_text = media::is_text(&bytes[..bytes.len().min(media::HEAD)]);
        is_text.then(|| String::from_utf8(bytes).ok()).flatten()
    }
}

/// What is looked for.
struct Query {
    lower: String,
    is_ascii: bool,
}

impl Query {
    fn new(query: &str) -> Self {
        Self { lower: query.to_lowercase(), is_ascii: query.is_ascii() }
    }

    /// Where `text` has it, as a place in bytes that may be a little off where letters change their length with
    /// their case.
    fn find(&self, text: &str) -> Option<usize> {
        if !self.is_ascii {
            return text.to_lowercase().find(&self.lower);
        }
        let wanted = self.lower.as_bytes();
        let Some(first) = wanted.first() else { return Some(0) };
        let text = text.as_bytes();
        let last = text.len().checked_sub(wanted.len())?;
        (0..=last).find(|at| {
            text[*at].eq_ignore_ascii_case(first) && text[*at..*at + wanted.len()].eq_ignore_ascii_case(wanted)
        })
    }
}

/// The part of `line` around the byte `at`.
fn excerpt(line: &str, at: usize) -> String {
    let line = line.trim_end();
    let before = line.char_indices().take_while(|(place, _)| *place < at).count();
    let start = if line.chars().nth(EXCERPT).is_none() { 0 } else { before.saturating_sub(EXCERPT / 4) };
    line.chars().skip(start).take(EXCERPT).collect::<String>().trim_start().to_owned()
}

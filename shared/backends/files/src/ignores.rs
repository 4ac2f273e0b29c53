//! What `.gitignore` files leave out.
//!
//! Every directory may add rules of its own, which count before those above it; inside an ignored directory nothing
//! is served. The files are read through the root's handle, kept while their time and size stay the same, and read
//! again otherwise, so that a read obeys a rule from the moment it is written. Rules above the root, where it lies
//! inside a repository, are read once.

use std::{
    collections::HashMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::confine::{Confined, Kind, Stat};

/// The name of the files that hold the rules.
pub(crate) const FILE: &str = ".gitignore";

/// The most bytes of one file that are obeyed.
const MAX_BYTES: u64 = 1024 * 1024;

/// The most directories whose rules are kept; one more, and the keeping begins anew.
const MAX_KEPT: usize = 10_000;

/// The rules of every directory of a root.
#[derive(Debug)]
pub(crate) struct Ignores {
    enabled: bool,
    above: Chain,
    kept: Mutex<HashMap<PathBuf, (Stat, Arc<Gitignore>)>>,
}

/// The rules that count in one directory: its own, then those above it.
pub(crate) type Chain = Option<Arc<Level>>;

/// The rules of one directory.
#[derive(Debug)]
pub(crate) struct Level {
    place: Place,
    rules: Arc<Gitignore>,
    above: Chain,
}

/// Where the rules' directory is.
#[derive(Debug)]
enum Place {
    /// At or below the root, here.
    Below(PathBuf),
    /// Above the root, which is here in it.
    Above(PathBuf),
}

impl Ignores {
    /// `root` is absolute and real.
    pub fn new(root: &Path, enabled: bool) -> Self {
        let above = if enabled { above(root) } else { None };
        Self { enabled, above, kept: Mutex::default() }
    }

    /// Whether the file or folder at `path` is ignored, by itself or with a folder above it.
    pub fn ignore(&self, confined: &Confined, path: &Path, is_folder: bool) -> bool {
        if !self.enabled {
            return false;
        }
        let mut chain = self.enter(confined, Path::new(""), None);
        let mut steps: Vec<&Path> = path.ancestors().filter(|step| !step.as_os_str().is_empty()).collect();
        while let Some(step) = steps.pop() {
            let is_last = steps.is_empty();
            if ignored(&chain, step, !is_last || is_folder) {
                return true;
            }
            if !is_last {
                chain = self.enter(confined, step, Some(&chain));
            }
        }
        false
    }

    /// The rules that count in `folder`, given those that count in the folder above it; `None` for the root itself.
    pub fn enter(&self, confined: &Confined, folder: &Path, above: Option<&Chain>) -> Chain {
        let above = above.unwrap_or(&self.above).clone();
        if !self.enabled {
            return None;
        }
        match self.rules(confined, folder) {
            Some(rules) => Some(Arc::new(Level { place: Place::Below(folder.to_owned()), rules, above })),
            None => above,
        }
    }

    fn rules(&self, confined: &Confined, folder: &Path) -> Option<Arc<Gitignore>> {
        let file = folder.join(FILE);
        let stat = confined.stat(&file).ok().filter(|stat| stat.kind == Kind::File)?;
        if let Some((seen, rules)) = self.kept.lock().expect("nothing panics while holding it").get(folder)
            && *seen == stat
        {
            return Some(rules.clone());
        }
        // What cannot be opened by us counts as absent, as it does for git.
        let (opened, stat) = confined.file(&file).ok()?;
        let rules = Arc::new(parse(opened));
        let mut kept = self.kept.lock().expect("nothing panics while holding it");
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(folder.to_owned(), (stat, rules.clone()));
        Some(rules)
    }
}

/// Whether the rules of `chain`, those of the folder that holds `path`, ignore it.
pub(crate) fn ignored(chain: &Chain, path: &Path, is_folder: bool) -> bool {
    let mut next = chain;
    while let Some(level) = next {
        let verdict = match &level.place {
            Place::Below(folder) => level.rules.matched(path.strip_prefix(folder).unwrap_or(path), is_folder),
            Place::Above(root) => level.rules.matched(root.join(path), is_folder),
        };
        match verdict {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => next = &level.above,
        }
    }
    false
}

/// The rules of the repository that `root` lies in, from its top down to the root's parent.
fn above(root: &Path) -> Chain {
    let top = root.ancestors().find(|folder| folder.join(".git").exists())?;
    let mut files = vec![(top, top.join(".git/info/exclude"))];
    let between: Vec<&Path> = root.ancestors().skip(1).take_while(|folder| folder.starts_with(top)).collect();
    files.extend(between.into_iter().rev().map(|folder| (folder, folder.join(FILE))));

    let mut chain = None;
    for (folder, file) in files {
        let Ok(opened) = fs::File::open(file) else { continue };
        let within = root.strip_prefix(folder).expect("the folder is an ancestor of the root").to_owned();
        chain = Some(Arc::new(Level { place: Place::Above(within), rules: Arc::new(parse(opened)), above: chain }));
    }
    chain
}

/// The rules in a file, as far as they can be understood.
fn parse(file: fs::File) -> Gitignore {
    let mut bytes = Vec::new();
    // What was read before an error still counts.
    let _ = file.take(MAX_BYTES).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let mut rules = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is no pattern ignores nothing.
        let _ = rules.add_line(None, line);
    }
    rules.build().unwrap_or_else(|error| {
        tracing::warn!(%error, "the patterns of a .gitignore file could not be used");
        Gitignore::empty()
    })
}

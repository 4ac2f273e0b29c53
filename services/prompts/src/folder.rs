//! The prompts of a folder: what its files say now, and what those that are broken said before.
//!
//! Every file named `*.md` is one prompt; hidden files, other files and folders within are left alone. A file that is
//! broken from the beginning is left out; one that becomes broken keeps serving what it said last, until it is mended
//! or removed. Of two files with one name the first in the order of file names is served. What is wrong is reported
//! once, and again only when it changes.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest, Sha256};

use crate::{PromptError, PromptOptions, catalog::Catalog, error::Broken, prompt::Prompt};

/// A folder of prompt files.
pub(crate) struct Folder {
    path: PathBuf,
    max_prompts: usize,
    max_file_bytes: u64,
    files: BTreeMap<OsString, Known>,
}

/// What a look at the folder found.
pub(crate) struct Scan {
    pub(crate) catalog: Catalog,
    /// What is newly wrong.
    pub(crate) reports: Vec<Report>,
}

/// A file that is not served as it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) file: String,
    pub(crate) problem: Broken,
}

/// A file, as it was when it was last looked at.
#[derive(Default)]
struct Known {
    /// The hash of its content; `None` when it could not be read.
    content: Option<[u8; 32]>,
    /// What it says, or said when it was last whole.
    prompt: Option<Arc<Prompt>>,
    /// Why it is no prompt now.
    broken: Option<Broken>,
    /// The last thing that was reported of it.
    reported: Option<Broken>,
}

impl Folder {
    pub(crate) fn new(path: &Path, options: &PromptOptions) -> Self {
        Self {
            path: path.to_owned(),
            max_prompts: options.max_prompts,
            max_file_bytes: options.max_file_bytes,
            files: BTreeMap::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the folder. Blocks; all files are read, as a change may leave size and time as they were.
    ///
    /// # Errors
    /// When the folder itself cannot be read. What was known stays known.
    pub(crate) fn scan(&mut self) -> Result<Scan, PromptError> {
        let names = self.names().map_err(|source| PromptError::Folder { path: self.path.clone(), source })?;
        let mut before = std::mem::take(&mut self.files);
        for name in names {
            let mut file = before.remove(&name).unwrap_or_default();
            match read(&self.path.join(&name), self.max_file_bytes) {
                Ok(Some(content)) => file.take(content),
                // It is no file, or was removed since it was listed.
                Ok(None) => continue,
                Err(broken) => {
                    file.content = None;
                    file.broken = Some(broken);
                }
            }
            self.files.insert(name, file);
        }
        Ok(self.collect())
    }

    fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let is_prompt = Path::new(&name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
            if is_prompt && !name.as_encoded_bytes().starts_with(b".") {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn collect(&mut self) -> Scan {
        let mut catalog = Catalog::default();
        let mut reports = Vec::new();
        for (name, file) in &mut self.files {
            let mut problem = file.broken.clone();
            if let Some(prompt) = &file.prompt {
                if catalog.len() == self.max_prompts {
                    problem = Some(Broken::new(None, format!("there are more than {} prompts", self.max_prompts)));
                } else if !catalog.add(Arc::clone(prompt)) {
                    let taken = format!("a file before it already serves the name `{}`", prompt.entry.name);
                    problem = problem.or(Some(Broken::new(None, taken)));
                }
            }
            if let Some(problem) = problem.clone().filter(|_| file.reported != problem) {
                reports.push(Report { file: name.to_string_lossy().into_owned(), problem });
            }
            file.reported = problem;
        }
        Scan { catalog, reports }
    }
}

impl Known {
    fn take(&mut self, content: Vec<u8>) {
        let hash: [u8; 32] = Sha256::digest(&content).into();
        if self.content == Some(hash) {
            return;
        }
        self.content = Some(hash);
        let text = String::from_utf8(content).map_err(|_| Broken::new(None, "the file is not UTF-8 text"));
        self.broken = match text.and_then(|text| Prompt::parse(&text)) {
            Ok(prompt) => {
                self.prompt = Some(Arc::new(prompt));
                None
            }
            Err(broken) => Some(broken),
        };
    }
}

/// The content of a file; `None` when there is none.
fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, Broken> {
    let cannot_read = |error: io::Error| Broken::new(None, format!("the file cannot be read: {error}"));
    // Looked at first, for opening a pipe would wait for its writer.
    match fs::metadata(path) {
        Ok(about) if about.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot_read(error)),
    }
    let mut content = Vec::new();
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(cannot_read)?,
    };
    file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(cannot_read)?;
    if content.len() as u64 > limit {
        return Err(Broken::new(None, format!("the file is larger than {limit} bytes")));
    }
    Ok(Some(content))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    struct Files {
        directory: tempfile::TempDir,
        folder: Folder,
    }

    impl Files {
        fn new(options: &PromptOptions) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let folder = Folder::new(directory.path(), options);
            Self { directory, folder }
        }

        fn write(&self, file: &str, content: impl AsRef<[u8]>) {
            fs::write(self.directory.path().join(file), content).unwrap();
        }

        fn prompt(&self, file: &str, name: &str, text: &str) {
            self.write(file, format!("---\nname: {name}\n---\n{text}"));
        }

        /// The names that are served, and the files that are newly reported.
        fn scan(&mut self) -> (Vec<String>, Vec<String>) {
            let scan = self.folder.scan().unwrap();
            let names = scan.catalog.entries().into_iter().map(|entry| entry.name).collect();
            (names, scan.reports.into_iter().map(|report| report.file).collect())
        }

        fn text(&mut self, name: &str) -> String {
            let prompt = self.folder.scan().unwrap().catalog.find(name).unwrap();
            String::from_utf8(prompt.render(&Default::default(), 1000).unwrap()).unwrap()
        }
    }

    #[test]
    fn every_markdown_file_of_the_folder_itself_is_a_prompt() {
        let mut files = Files::new(&PromptOptions::default());
        files.prompt("b.md", "two", "x");
        files.prompt("a.MD", "one", "x");
        files.write("readme.txt", "no prompt");
        files.write(".hidden.md", "no prompt");
        files.write("md", "no prompt");
        fs::create_dir(files.directory.path().join("folder.md")).unwrap();
        fs::write(files.directory.path().join("folder.md/c.md"), "no prompt").unwrap();

        assert_eq!(files.scan(), (vec!["one".into(), "two".into()], vec![]));
    }

    #[test]
    fn a_broken_file_is_reported_once_and_keeps_what_it_said() {
        let mut files = Files::new(&PromptOptions::default());
        files.prompt("a.md", "a", "first");
        files.write("b.md", "broken from the beginning");
        assert_eq!(files.scan(), (vec!["a".into()], vec!["b.md".into()]));

        files.write("a.md", "---\nname: a\n---\n{{");
        assert_eq!(files.scan(), (vec!["a".into()], vec!["a.md".into()]));
        assert_eq!(files.scan(), (vec!["a".into()], vec![]));
        assert!(files.text("a").contains("first"));

        files.write("a.md", "---\nname: a\n---\n\n{{");
        assert_eq!(files.scan().1, ["a.md"], "it is broken in another place now");

        files.prompt("a.md", "a", "second");
        files.prompt("b.md", "b", "mended");
        assert_eq!(files.scan(), (vec!["a".into(), "b".into()], vec![]));
        assert!(files.text("a").contains("second"));
    }

    #[test]
    fn a_broken_file_that_is_removed_serves_nothing_more() {
        let mut files = Files::new(&PromptOptions::default());
        files.prompt("a.md", "a", "x");
        files.scan();
        files.write("a.md", "");
        files.scan();

        fs::remove_file(files.directory.path().join("a.md")).unwrap();

        assert_eq!(files.scan(), (vec![], vec![]));
    }

    #[test]
    fn of_two_files_with_one_name_the_first_is_served() {
        let mut files = Files::new(&PromptOptions::default());
        files.prompt("b.md", "same", "of b");
        assert_eq!(files.scan(), (vec!["same".into()], vec![]));

        files.prompt("a.md", "same", "of a");
        assert_eq!(files.scan(), (vec!["same".into()], vec!["b.md".into()]));
        assert!(files.text("same").contains("of a"));

        fs::remove_file(files.directory.path().join("a.md")).unwrap();
        assert_eq!(files.scan(), (vec!["same".into()], vec![]));
        assert!(files.text("same").contains("of b"));
    }

    #[test]
    fn files_beyond_the_limits_are_reported() {
        let mut files = Files::new(&PromptOptions { max_prompts: 1, max_file_bytes: 40, ..PromptOptions::default() });
        files.prompt("a.md", "a", "x");
        files.prompt("b.md", "b", "x");
        files.prompt("c.md", "c", &"x".repeat(40));
        files.write("d.md", [0xff]);

        let scan = files.folder.scan().unwrap();

        let reports: Vec<_> = scan.reports.into_iter().map(|report| (report.file, report.problem.reason)).collect();
        let expected = [
            ("b.md", "there are more than 1 prompts"),
            ("c.md", "the file is larger than 40 bytes"),
            ("d.md", "the file is not UTF-8 text"),
        ];
        assert_eq!(reports, expected.map(|(file, reason)| (file.to_owned(), reason.to_owned())));
        assert_eq!(scan.catalog.len(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_an_error_and_nothing_is_forgotten() {
        let mut files = Files::new(&PromptOptions::default());
        files.prompt("a.md", "a", "x");
        files.scan();
        let elsewhere = files.directory.path().with_extension("elsewhere");
        fs::rename(files.directory.path(), &elsewhere).unwrap();

        assert!(matches!(files.folder.scan(), Err(PromptError::Folder { .. })));
        fs::rename(&elsewhere, files.directory.path()).unwrap();
        files.write("a.md", "broken");
        assert_eq!(files.scan(), (vec!["a".into()], vec!["a.md".into()]));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_pipes_are_not_waited_for() {
        let mut files = Files::new(&PromptOptions::default());
        files.prompt("a.txt", "a", "x");
        let at = |name: &str| files.directory.path().join(name);
        std::os::unix::fs::symlink(at("a.txt"), at("a.md")).unwrap();
        std::os::unix::fs::symlink(at("nowhere"), at("b.md")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("c.md")).status().unwrap();
        assert!(made.success());

        assert_eq!(files.scan(), (vec!["a".into()], vec![]));
    }
}

//! What is served, as far as names alone decide it.
//!
//! Hidden names and names that usually hold secrets are not served unless they are named, one by one: naming a
//! folder serves what is in it, but not the secrets in it. These rules read nothing from the disk.

use std::{borrow::Cow, ffi::OsStr, path::Path};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{FilesError, FilesOptions};

/// Names of keys, certificates with keys, password files and settings that hold secrets; in any case.
const SECRETS: &[&str] = &[
    "*.env",
    "*.env.*",
    "*.gpg",
    "*.jks",
    "*.kdb",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.keytab",
    "*.ovpn",
    "*.p12",
    "*.p8",
    "*.pem",
    "*.pfx",
    "*.pk8",
    "*.pkcs12",
    "*.ppk",
    "*_rsa",
    "*_dsa",
    "*_ecdsa",
    "*_ed25519",
    "_netrc",
    "credentials",
    "credentials.{csv,ini,json,toml,yaml,yml}",
    "htpasswd",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "id_rsa*",
    "secrets.{ini,json,toml,yaml,yml}",
];

/// What editors and people put behind the name of a copy, which is as secret as its original.
const COPIES: &[&str] = &["~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".tmp"];

/// What is served, by name.
#[derive(Debug)]
pub(crate) struct Rules {
    secrets: GlobSet,
    named: GlobSet,
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Rules {
    pub fn new(options: &FilesOptions) -> Result<Self, FilesError> {
        let include = patterns("include", &options.include)?;
        Ok(Self {
            secrets: patterns("secrets", SECRETS)?,
            named: patterns("serveHidden", &options.serve_hidden)?,
            include: (!options.include.is_empty()).then_some(include),
            exclude: patterns("exclude", &options.exclude)?,
        })
    }

    /// Whether the file at `path` is served, and every folder on the way to it.
    pub fn serve(&self, path: &Path) -> bool {
        let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        self.serve_file(path) && folders.into_iter().all(|folder| self.serve_folder(folder))
    }

    /// Whether the file at `path` is served if its folder is.
    pub fn serve_file(&self, path: &Path) -> bool {
        self.serve_folder(path) && self.include.as_ref().is_none_or(|include| include.is_match(path))
    }

    /// Whether the folder at `path` is entered if the one above it is.
    pub fn serve_folder(&self, path: &Path) -> bool {
        let Some(name) = path.file_name() else { return false };
        !self.exclude.is_match(path) && (!self.is_hidden(name) || self.named.is_match(path))
    }

    fn is_hidden(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        name.starts_with('.') || self.secrets.is_match(original(&name).as_ref())
    }
}

/// The name without the marks of a copy.
fn original(name: &str) -> Cow<'_, str> {
    let mut name = Cow::Borrowed(name);
    let mark = |name: &str| COPIES.iter().find(|mark| name.to_ascii_lowercase().ends_with(*mark)).copied();
    while let Some(mark) = mark(&name) {
        let kept = name.len() - mark.len();
        name = name[..kept].to_owned().into();
    }
    name
}

fn patterns<S: AsRef<str>>(option: &'static str, patterns: &[S]) -> Result<GlobSet, FilesError> {
    let wrong = |pattern: &str, source| FilesError::Pattern { option, pattern: pattern.to_owned(), source };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns.iter().map(AsRef::as_ref) {
        let plain = pattern.trim_end_matches('/');
        let anchored = match plain.strip_prefix('/') {
            Some(rooted) => rooted.to_owned(),
            None if plain.contains('/') => plain.to_owned(),
            None => format!("**/{plain}"),
        };
        let glob = GlobBuilder::new(&anchored)
            .literal_separator(true)
            .case_insensitive(option == "secrets")
            .build()
            .map_err(|source| wrong(pattern, source))?;
        set.add(glob);
    }
    set.build().map_err(|source| wrong("", source))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rules(change: impl FnOnce(&mut FilesOptions)) -> Rules {
        let mut options = FilesOptions::default();
        change(&mut options);
        Rules::new(&options).unwrap()
    }

    fn texts(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
    }

    #[test]
    fn hidden_files_and_secrets_are_not_served_at_any_depth_in_any_case() {
        let rules = rules(|_| ());

        for path in [
            ".env",
            ".ENV.local",
            "prod.env",
            "a/b/.git/config",
            ".git",
            "server.pem",
            "tls/SERVER.KEY",
            "server.key.bak",
            "server.pem~",
            "server.key.old.bak",
            "id_rsa",
            "id_rsa.pub",
            "ssh/id_ed25519",
            "deploy_rsa",
            "store.p12",
            "Credentials.json",
            "secrets.yaml",
            "server.key/readme.md",
        ] {
            assert!(!rules.serve(Path::new(path)), "{path}");
        }
        for path in ["plan.md", "docs/environment.md", "keys.md", "monkey", "src/key.rs", "a..b", "tokens.txt~"] {
            assert!(rules.serve(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_is_named_is_served_but_not_the_secrets_in_a_named_folder() {
        let rules = rules(|options| options.serve_hidden = texts(&[".github", "deploy/.env"]));

        assert!(rules.serve(Path::new(".github/workflows/ci.yml")));
        assert!(rules.serve(Path::new("sub/.github/x")));
        assert!(rules.serve(Path::new("deploy/.env")));
        assert!(!rules.serve(Path::new(".github/.env")));
        assert!(!rules.serve(Path::new("other/.env")));
        assert!(!rules.serve(Path::new(".env")));
    }

    #[test]
    fn only_what_is_included_and_not_excluded_is_served() {
        let rules = rules(|options| {
            options.include = texts(&["*.md", "src/**"]);
            options.exclude = texts(&["target/", "/drafts", "docs/*.tmp.md"]);
        });

        for path in ["a.md", "docs/deep/a.md", "src/main.rs", "sub/drafts/a.md"] {
            assert!(rules.serve(Path::new(path)), "{path}");
        }
        for path in ["a.txt", "target/a.md", "src/target/a.rs", "drafts/a.md", "docs/x.tmp.md"] {
            assert!(!rules.serve(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_broken_pattern_is_named() {
        let options = FilesOptions { exclude: texts(&["a[b"]), ..FilesOptions::default() };

        let error = Rules::new(&options).unwrap_err();

        assert_eq!(error.to_string(), "`a[b` in `exclude` is no valid pattern");
    }
}

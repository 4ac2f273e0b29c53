//! URIs and the paths they stand for.
//!
//! Below a root every path has one URI and one *key*, the part of the URI after the root's. Bytes that a path may
//! hold and a URI may not, valid UTF-8 or not, are percent-encoded one by one. A URI that writes the same path
//! in another way is understood; one whose parts are not plain names (dot segments, encoded slashes, NUL, a query)
//! stands for no path at all, so none can stand for two.

use std::{
    borrow::Cow,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// What is percent-encoded in a name: everything that RFC 3986 does not allow in a path segment as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// The URIs below one root.
#[derive(Debug)]
pub(crate) struct Uris {
    /// The root's own, with a slash at its end.
    pub prefix: String,
}

impl Uris {
    /// `root` is absolute and real.
    pub fn new(root: &Path) -> Self {
        let key = key(root);
        Self { prefix: if key.is_empty() { "file:///".to_owned() } else { format!("file:///{key}/") } }
    }

    /// The URI of the file whose key is `key`.
    pub fn uri(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// The path that `uri` stands for, relative to the root; `None` when it is not one below the root.
    pub fn path(&self, uri: &str) -> Option<PathBuf> {
        path(uri.strip_prefix(&self.prefix)?)
    }

    /// Where `uri` stands among the keys: those that follow it in the order of URIs are those greater than the
    /// answer. `None` when it comes after all of them.
    pub fn position<'a>(&self, uri: &'a str) -> Option<&'a str> {
        match uri.strip_prefix(&self.prefix) {
            Some(key) => Some(key),
            None => (uri < self.prefix.as_str()).then_some(""),
        }
    }
}

/// A path's names, encoded and joined by slashes.
pub(crate) fn key(path: &Path) -> String {
    let mut key = String::with_capacity(path.as_os_str().len() + 8);
    for component in path.components() {
        if let Component::Normal(name) = component {
            if !key.is_empty() {
                key.push('/');
            }
            key.extend(percent_encode(name.as_bytes(), ENCODED));
        }
    }
    key
}

/// The path of plain names that a key stands for, if it is one.
pub(crate) fn path(key: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in key.split('/') {
        path.push(OsStr::from_bytes(&name(part)?));
    }
    Some(path)
}

/// The name that one part of a key stands for.
fn name(part: &str) -> Option<Cow<'_, [u8]>> {
    if part.contains(['?', '#']) || !has_whole_escapes(part.as_bytes()) {
        return None;
    }
    let name: Cow<'_, [u8]> = percent_decode_str(part).into();
    let plain = !matches!(&*name, b"" | b"." | b"..") && !name.iter().any(|byte| matches!(byte, b'/' | 0));
    plain.then_some(name)
}

fn has_whole_escapes(part: &[u8]) -> bool {
    let hex = |at: usize| part.get(at).is_some_and(u8::is_ascii_hexdigit);
    part.iter().enumerate().all(|(at, byte)| *byte != b'%' || (hex(at + 1) && hex(at + 2)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn uris() -> Uris {
        Uris::new(Path::new("/srv/data"))
    }

    #[test]
    fn a_path_of_any_bytes_comes_back_from_its_uri() {
        for bytes in
            [&b"plan.md"[..], b"a b/c%d", "zażółć/日本.txt".as_bytes(), b"caf\xe9\xff", b"q?r#s", b"x\\y", b"[1]"]
        {
            let path = Path::new(OsStr::from_bytes(bytes));

            let uri = uris().uri(&key(path));

            assert!(uri.is_ascii(), "{uri}");
            assert_eq!(uris().path(&uri).as_deref(), Some(path), "{uri}");
        }
        assert_eq!(uris().uri(&key(Path::new("a b/ł"))), "file:///srv/data/a%20b/%C5%82");
    }

    #[test]
    fn another_spelling_of_a_uri_stands_for_the_same_path_and_a_double_encoded_one_for_a_different_name() {
        for uri in ["file:///srv/data/a%2db", "file:///srv/data/%61-b", "file:///srv/data/a%2Db"] {
            assert_eq!(uris().path(uri).as_deref(), Some(Path::new("a-b")), "{uri}");
        }
        assert_eq!(uris().path("file:///srv/data/%252e%252e").as_deref(), Some(Path::new("%2e%2e")));
    }

    #[test]
    fn field_case_96_a_uri_that_is_no_plain_path_below_the_root_stands_for_nothing() {
        for uri in [
            "",
            "file:///srv/data",
            "file:///srv/data/",
            "file:///srv/data/.",
            "file:///srv/data/..",
            "file:///srv/data/../data/x",
            "file:///srv/data/a/../../etc/passwd",
            "file:///srv/data/%2e%2e/etc/passwd",
            "file:///srv/data/.%2E/etc/passwd",
            "file:///srv/data/a%2f..%2f..%2fetc",
            "file:///srv/data/a%2Fb",
            "file:///srv/data//etc/passwd",
            "file:///srv/data/%00",
            "file:///srv/data/a%00.txt",
            "file:///srv/data/a%",
            "file:///srv/data/a%2",
            "file:///srv/data/a%zz",
            "file:///srv/data/a?b",
            "file:///srv/data/a#b",
            "file:///srv/data/a/",
            "file:///srv/data-secret/x",
            "file:///srv/dat/x",
            "file:///etc/passwd",
            "file://localhost/srv/data/x",
            "file://other/srv/data/x",
            "file:/srv/data/x",
            "FILE:///srv/data/x",
            "http:///srv/data/x",
            "/srv/data/x",
            "x",
        ] {
            assert_eq!(uris().path(uri), None, "{uri}");
        }
    }

    #[test]
    fn the_whole_file_system_can_be_a_root() {
        let uris = Uris::new(Path::new("/"));

        assert_eq!(uris.prefix, "file:///");
        assert_eq!(uris.path("file:///etc/hosts").as_deref(), Some(Path::new("etc/hosts")));
    }

    #[test]
    fn any_text_has_a_place_among_the_keys() {
        assert_eq!(uris().position("file:///srv/data/m"), Some("m"));
        assert_eq!(uris().position(""), Some(""));
        assert_eq!(uris().position("file:///srv/aaa"), Some(""));
        assert_eq!(uris().position("file:///srv/zzz"), None);
    }
}

//! Media types: by the name, and by the content where the name does not tell.

use std::path::Path;

/// What cannot be told any better.
const UNKNOWN: &str = "application/octet-stream";

/// How much of a file is looked at, in bytes.
pub(crate) const HEAD: usize = 4096;

/// Endings that mean something else to programmers than to the registry of media types.
const SOURCES: &[(&str, &str)] = &[
    ("cts", "text/x-typescript"),
    ("dart", "text/x-dart"),
    ("go", "text/x-go"),
    ("java", "text/x-java"),
    ("jsonl", "application/jsonl"),
    ("jsx", "text/javascript"),
    ("kt", "text/x-kotlin"),
    ("mod", "text/plain"),
    ("mts", "text/x-typescript"),
    ("pl", "text/x-perl"),
    ("py", "text/x-python"),
    ("sum", "text/plain"),
    ("ts", "text/x-typescript"),
    ("tsx", "text/x-typescript"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// How files of some kinds begin.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"BZh", "application/x-bzip2"),
    (b"\x7fELF", "application/x-executable"),
    (b"\0asm", "application/wasm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
];

/// Types that are text though they are not called so.
const TEXTUAL: &[&str] = &[
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/jsonl",
    "application/sql",
    "application/toml",
    "application/x-httpd-php",
    "application/x-javascript",
    "application/x-latex",
    "application/x-msdownload",
    "application/x-ndjson",
    "application/x-perl",
    "application/x-sh",
    "application/x-sql",
    "application/x-subrip",
    "application/x-tcl",
    "application/x-tex",
    "application/x-texinfo",
    "application/x-yaml",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
];

/// The type that a name tells.
pub(crate) fn by_name(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if let Some((_, media)) = SOURCES.iter().find(|(name, _)| *name == ending) {
        return Some(media);
    }
    mime_guess::from_ext(&ending).first_raw().filter(|media| *media != UNKNOWN)
}

/// The type that the first [`HEAD`] bytes of a file tell.
pub(crate) fn by_content(head: &[u8]) -> &'static str {
    if let Some((_, media)) = BEGINNINGS.iter().find(|(beginning, _)| head.starts_with(beginning)) {
        // Text may well begin with "BM" or "ID3".
        if !is_text(head) || *media == "application/pdf" {
            return media;
        }
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    if is_text(head) { "text/plain" } else { UNKNOWN }
}

/// Whether content of this type may be given as text, if it is valid UTF-8.
pub(crate) fn may_be_text(media: &str) -> bool {
    media.starts_with("text/") || media.ends_with("+json") || media.ends_with("+xml") || TEXTUAL.contains(&media)
}

/// Whether the beginning of a file looks like UTF-8 text. Its last character may be cut.
pub(crate) fn is_text(head: &[u8]) -> bool {
    let whole = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() >= HEAD,
    };
    whole && !head.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_type_as_a_programmer_means_it() {
        for (name, media) in [
            ("a.md", "text/markdown"),
            ("a.RS", "text/x-rust"),
            ("a.json", "application/json"),
            ("a.ts", "text/x-typescript"),
            ("go.mod", "text/plain"),
            ("a.svg", "image/svg+xml"),
            ("a.png", "image/png"),
            ("a.toml", "text/x-toml"),
        ] {
            assert_eq!(by_name(Path::new(name)), Some(media), "{name}");
        }
        for name in ["LICENSE", "a.unheard-of", "a.bin"] {
            assert_eq!(by_name(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn content_tells_the_type_where_the_name_does_not() {
        assert_eq!(by_content(b""), "text/plain");
        assert_eq!(by_content("plain zażółć".as_bytes()), "text/plain");
        assert_eq!(by_content(b"BM stands for bitmap"), "text/plain");
        assert_eq!(by_content(b"%PDF-1.7 ..."), "application/pdf");
        assert_eq!(by_content(b"\x89PNG\r\n\x1a\n\0\0"), "image/png");
        assert_eq!(by_content(b"RIFF\0\0\0\0WEBPVP8 "), "image/webp");
        assert_eq!(by_content(b"nul\0inside"), UNKNOWN);
        assert_eq!(by_content(b"latin-1 caf\xe9"), UNKNOWN);
    }

    #[test]
    fn a_character_cut_by_the_end_of_the_head_is_still_text() {
        let mut head = vec![b'a'; HEAD - 1];
        head.push("ł".as_bytes()[0]);

        assert!(is_text(&head));
        assert!(!is_text(&head[HEAD - 3..]));
    }

    #[test]
    fn code_and_structured_formats_are_text_and_pictures_are_not() {
        for media in ["text/plain", "application/json", "image/svg+xml", "application/x-sh"] {
            assert!(may_be_text(media), "{media}");
        }
        for media in ["image/png", "application/pdf", UNKNOWN, "video/mp4"] {
            assert!(!may_be_text(media), "{media}");
        }
    }
}

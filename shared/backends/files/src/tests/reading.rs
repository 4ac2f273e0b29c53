//! Bytes come back as they are, and limits are named.

use std::fs;

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Tree, uri};
use crate::{Body, FilesError, FilesOptions, Root};

#[test]
fn every_file_comes_back_byte_for_byte() {
    let tree = Tree::new();
    let root = tree.root();
    let mut random = StdRng::seed_from_u64(7);
    let names = ["a.bin", "a.txt", "a.json", "a.png", "plain", "a.md", "a.unheard-of"];
    let pieces: [&[u8]; 8] =
        [b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", "ł😀".as_bytes(), b"{\"a\": 1}", b"\xe9", b"line\n"];
    for round in 0..400 {
        let bytes: Vec<u8> = match round % 3 {
            0 => (0..random.random_range(0..9000)).map(|_| random.random()).collect(),
            1 => (0..random.random_range(0..40)).flat_map(|_| pieces[random.random_range(0..8)].to_vec()).collect(),
            _ => "zażółć 日本\n".repeat(random.random_range(0..900)).into_bytes(),
        };
        let name = names[random.random_range(0..names.len())];
        tree.write(name, &bytes);

        let contents = root.read(&uri(&root, name)).unwrap();

        let back = match contents.body {
            Body::Text(text) => text.into_bytes(),
            Body::Bytes(bytes) => bytes,
        };
        assert_eq!(back, bytes, "{name} in round {round}");
        assert_eq!(contents.mime_type, root.describe(&uri(&root, name)).unwrap().mime_type);
    }
}

#[test]
fn text_is_text_and_the_rest_is_bytes() {
    let tree = Tree::new();
    let root = tree.root();
    for (name, bytes, mime_type, is_text) in [
        ("a.md", "# zażółć".as_bytes(), "text/markdown", true),
        ("a.json", b"{}", "application/json", true),
        ("a.svg", b"<svg/>", "image/svg+xml", true),
        ("LICENSE", b"Permission is granted", "text/plain", true),
        ("empty", b"", "text/plain", true),
        ("latin.txt", b"caf\xe9", "text/plain", false),
        ("a.png", b"looks like text", "image/png", false),
        ("picture", b"\x89PNG\r\n\x1a\n\0\0\0", "image/png", false),
        ("blob", b"\0\x01\x02\xff", "application/octet-stream", false),
    ] {
        tree.write(name, bytes);

        let contents = root.read(&uri(&root, name)).unwrap();

        assert_eq!((contents.mime_type, matches!(contents.body, Body::Text(_))), (mime_type, is_text), "{name}");
    }
}

#[test]
fn a_file_above_the_limit_is_listed_and_reading_it_names_the_limit() {
    let tree = Tree::with(&[("ten.txt", "0123456789"), ("eleven.txt", "0123456789a")]);
    let root = tree.root_with(|options| options.max_read_bytes = 10);
    root.refresh();

    assert_eq!(root.list(None, 10).files.len(), 2);
    assert!(root.read(&uri(&root, "ten.txt")).is_ok());
    let error = root.read(&uri(&root, "eleven.txt")).unwrap_err();
    assert!(matches!(error, FilesError::TooLarge { size: 11, limit: 10, .. }));
    assert!(error.to_string().ends_with("has 11 bytes, and at most 10 (`maxReadBytes`) are read"), "{error}");
}

#[test]
fn a_file_is_described_with_size_type_names_and_time() {
    let tree = Tree::with(&[("docs/a b.md", "text")]);
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_736_694_058_500);
    fs::File::options().append(true).open(tree.at("docs/a b.md")).unwrap().set_modified(time).unwrap();
    let root = tree.root();

    let file = root.describe(&uri(&root, "docs/a%20b.md")).unwrap();

    assert_eq!(file.uri, uri(&root, "docs/a%20b.md"));
    assert_eq!((&*file.name, &*file.title), ("docs/a b.md", "a b.md"));
    assert_eq!((file.mime_type, file.size), ("text/markdown", 4));
    assert_eq!(file.modified, "2025-01-12T15:00:58Z");
    assert_eq!(root.describe(&uri(&root, "docs/a%20%62.md")).unwrap(), file);
}

#[test]
fn a_root_that_cannot_be_served_says_why() {
    let tree = Tree::with(&[("file", "")]);
    let open = |change: &dyn Fn(&mut FilesOptions)| {
        let mut options = tree.options();
        change(&mut options);
        Root::open(&options).unwrap_err().to_string()
    };

    assert!(open(&|options| options.path = "/no/such/folder".into()).contains("`/no/such/folder` cannot be served"));
    assert!(open(&|options| options.path = tree.at("file")).contains("cannot be served"));
    assert!(open(&|options| options.readonly = false).contains("writing is not supported yet"));
    assert!(open(&|options| options.include = vec!["{".to_owned()]).contains("`{` in `include`"));
}

#[test]
fn a_root_is_called_as_it_is_told_or_like_its_directory() {
    let tree = Tree::new();

    assert_eq!(tree.root().name(), "data");
    assert_eq!(tree.root_with(|options| options.name = Some("docs".to_owned())).name(), "docs");
    assert!(tree.root().prefix().ends_with("/data/"));
}

#[test]
fn options_are_read_with_their_defaults_and_unknown_ones_are_refused() {
    let options: FilesOptions = serde_json::from_str(
        r#"{"path": "/data", "maxReadBytes": 5, "watch": {"mode": "rescan", "rescanEvery": "1m"}}"#,
    )
    .unwrap();

    assert_eq!(options.max_read_bytes, 5);
    assert!(options.readonly && options.gitignore);
    assert_eq!(options.watch.rescan_every.as_secs(), 60);
    assert!(serde_json::from_str::<FilesOptions>(r#"{"pth": "/data"}"#).is_err());
}

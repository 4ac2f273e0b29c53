//! Nothing outside the root, and nothing that is not served, can be reached in any way.

use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink, net::UnixListener},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use super::{Tree, listed, text, uri};
use crate::{Body, FilesError, Root};

const SECRET: &str = "top secret";

/// A tree with a secret outside, and links that lead there in every way.
fn tempting_tree() -> Tree {
    let tree = Tree::with(&[
        ("plan.md", "plan"),
        ("sub/inner.md", "inner"),
        (".env", SECRET),
        (".hidden/deep/x", SECRET),
        ("sub/.git/config", SECRET),
        ("server.pem", SECRET),
        ("../data-secret/x", SECRET),
        ("../data-secret/deep/y", SECRET),
        ("../outside.txt", SECRET),
    ]);
    tree.link("absolute", tree.at("../outside.txt"));
    tree.link("relative", "../outside.txt");
    tree.link("sub/up", "../../outside.txt");
    tree.link("sibling", "../data-secret/x");
    tree.link("folder-out", "../data-secret");
    tree.link("chain", "chain2");
    tree.link("chain2", "folder-out/x");
    tree.link("through-folder-out", "folder-out/deep/y");
    tree.link("back-in", "../data/../outside.txt");
    tree.link("magic", "/proc/self/root/etc/hostname");
    tree.link("loop", "loop");
    tree.link("dangling", "nothing");
    tree.link("notes.txt", ".env");
    tree.link("sub/config.txt", ".git/config");
    tree.link("certificate.txt", "server.pem");
    tree.link("two-steps.txt", "notes.txt");
    tree.link("dot", ".");
    tree.link("window", ".hidden");
    tree
}

#[test]
fn field_case_96_nothing_outside_the_root_is_read_described_listed_or_found() {
    let tree = tempting_tree();
    let outside = tree.at("../outside.txt").canonicalize().unwrap();
    for root in tree.roots() {
        let mut uris: Vec<String> = [
            "absolute",
            "relative",
            "sub/up",
            "sibling",
            "folder-out",
            "folder-out/x",
            "folder-out/deep/y",
            "window/deep/x",
            "dot/sub/inner.md",
            "folder-out/new",
            "chain",
            "chain2",
            "through-folder-out",
            "back-in",
            "magic",
            "loop",
            "loop/x",
            "dangling",
            "dot",
            "dot/plan.md",
            "..",
            "../outside.txt",
            "../data/plan.md",
            "%2e%2e/outside.txt",
            "%2E%2E/outside.txt",
            ".%2e/outside.txt",
            "sub/../../outside.txt",
            "sub/%2e%2e/%2e%2e/outside.txt",
            "..%2foutside.txt",
            "%2e%2e%2foutside.txt",
            "sub%2finner.md",
            "%252e%252e/outside.txt",
            "../data-secret/x",
            "%2fetc%2fpasswd",
            "/etc/passwd",
            "//etc/passwd",
            "plan.md%00",
            "plan.md%00.txt",
            "./plan.md",
            "sub//inner.md",
            "plan.md/",
            "plan.md/x",
            "sub",
            "sub/",
            "",
            "..;/outside.txt",
            "%c0%ae%c0%ae/outside.txt",
            "..%5coutside.txt",
        ]
        .map(|path| uri(&root, path))
        .into();
        uris.push(format!("file://{}", outside.display()));
        uris.push(format!("{}-secret/x", root.prefix().trim_end_matches('/')));
        uris.push(root.prefix().replacen("file:///", "file://other/", 1) + "plan.md");
        uris.push(root.prefix().replacen("file:///", "http:///", 1) + "plan.md");
        uris.push(root.prefix().replacen("file:///", "/", 1) + "plan.md");
        uris.push("file:///etc/passwd".to_owned());

        for uri in uris {
            let read = root.read(&uri).unwrap_err();
            assert!(matches!(&read, FilesError::NotFound { uri: told } if *told == uri), "{uri}: {read}");
            let described = root.describe(&uri).unwrap_err();
            assert!(matches!(described, FilesError::NotFound { .. }), "{uri}: {described}");
        }
        assert_eq!(listed(&root), ["plan.md", "sub/inner.md"]);
        assert_eq!(root.search(SECRET, 100, &AtomicBool::new(false), &mut |_, _| ()).unwrap(), []);
    }
}

#[test]
fn hidden_files_and_secrets_look_as_if_they_did_not_exist_also_behind_links() {
    let tree = tempting_tree();
    for root in tree.roots() {
        for path in
            [".env", "sub/.git/config", "server.pem", "notes.txt", "two-steps.txt", "sub/config.txt", "certificate.txt"]
        {
            let hidden = root.read(&uri(&root, path)).unwrap_err().to_string();
            let missing = root.read(&uri(&root, "missing")).unwrap_err().to_string();
            assert_eq!(hidden.replace(path, "missing"), missing, "{path}");
        }
    }
}

#[test]
fn a_link_to_a_served_file_is_served_under_its_own_path_and_a_linked_folder_is_not_entered() {
    let tree = Tree::with(&[("sub/real.md", "text"), ("other/deep.md", "deep")]);
    tree.link("alias.md", "sub/real.md");
    tree.link("sub/up.md", "../other/deep.md");
    tree.link("folder", "other");
    tree.link("behind-folder.md", "folder/deep.md");
    for root in tree.roots() {
        assert_eq!(text(&root, "alias.md").unwrap(), "text");
        assert_eq!(text(&root, "sub/up.md").unwrap(), "deep");
        assert_eq!(text(&root, "behind-folder.md").unwrap(), "deep");
        assert_eq!(text(&root, "folder/deep.md"), None);
        assert_eq!(root.read(&uri(&root, "alias.md")).unwrap().uri, uri(&root, "alias.md"));
        assert_eq!(root.describe(&uri(&root, "alias.md")).unwrap().size, 4);
        assert_eq!(listed(&root), ["alias.md", "behind-folder.md", "other/deep.md", "sub/real.md", "sub/up.md"]);
    }
}

#[test]
fn named_hidden_files_are_served() {
    let tree = tempting_tree();
    let root = tree.root_with(|options| options.serve_hidden = vec![".env".to_owned()]);

    assert_eq!(text(&root, ".env").unwrap(), SECRET);
    assert_eq!(text(&root, "notes.txt").unwrap(), SECRET);
    assert_eq!(text(&root, "server.pem"), None);
    assert_eq!(listed(&root), [".env", "notes.txt", "plan.md", "sub/inner.md", "two-steps.txt"]);
}

#[test]
fn a_pipe_a_socket_and_a_device_neither_block_nor_exist() {
    let tree = Tree::new();
    let _socket = UnixListener::bind(tree.at("socket")).unwrap();
    mknodat(CWD, tree.at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    tree.link("to-pipe", "pipe");
    tree.link("to-device", "/dev/zero");
    for root in tree.roots() {
        for path in ["pipe", "socket", "to-pipe", "to-device", "pipe/x"] {
            assert_eq!(text(&root, path), None, "{path}");
            assert!(root.describe(&uri(&root, path)).is_err(), "{path}");
        }
        assert_eq!(listed(&root), Vec::<String>::new());
    }
}

/// Reads `path` while what is there is exchanged with `other` again and again; what was read.
fn read_during_exchanges(tree: &Tree, root: &Root, path: &str, exchanged: &str, other: &str) -> Vec<Option<String>> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let (one, two) = (tree.at(exchanged), tree.at(other));
                renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // More often where the other thread has its turns at bad moments only.
        let mut read = Vec::new();
        while read.len() < 3000 || (read.len() < 3_000_000 && read.iter().rev().take(3000).all(Option::is_none)) {
            read.push(text(root, path));
        }
        stop.store(true, Ordering::Relaxed);
        read
    })
}

#[test]
fn field_case_96_a_file_exchanged_for_a_link_while_it_is_read_never_gives_what_is_outside() {
    let tree = Tree::with(&[("file.txt", "fine"), ("../outside.txt", SECRET), (".env", SECRET)]);
    symlink(tree.at("../outside.txt"), tree.at("../out")).unwrap();
    symlink(".env", tree.at("../hidden")).unwrap();
    mknodat(CWD, tree.at("../pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    for root in tree.roots() {
        for other in ["../out", "../hidden", "../pipe"] {
            let read = read_during_exchanges(&tree, &root, "file.txt", "file.txt", other);

            assert!(read.iter().flatten().all(|text| text == "fine"), "{other}");
            assert!(read.iter().any(Option::is_some), "{other}");
            if fs::symlink_metadata(tree.at("file.txt")).unwrap().is_file() {
                continue;
            }
            renameat_with(CWD, tree.at("file.txt"), CWD, tree.at(other), RenameFlags::EXCHANGE).unwrap();
        }
    }
}

#[test]
fn field_case_96_a_folder_exchanged_for_a_link_while_it_is_gone_through_never_gives_what_is_outside() {
    let tree = Tree::with(&[
        ("a/folder/file.txt", "fine"),
        ("a/folder/deep/file.txt", "fine"),
        ("../outside/file.txt", SECRET),
        ("../outside/deep/file.txt", SECRET),
        (".hidden/file.txt", SECRET),
        (".hidden/deep/file.txt", SECRET),
    ]);
    symlink(tree.at("../outside"), tree.at("../out")).unwrap();
    symlink("../.hidden", tree.at("../hidden")).unwrap();
    tree.link("link.txt", "a/folder/file.txt");
    for root in tree.roots() {
        for other in ["../out", "../hidden"] {
            for path in ["a/folder/file.txt", "a/folder/deep/file.txt", "link.txt"] {
                let read = read_during_exchanges(&tree, &root, path, "a/folder", other);

                assert!(read.iter().flatten().all(|text| text == "fine"), "{path} {other}");
                assert!(read.iter().any(Option::is_some), "{path} {other}");
                if fs::symlink_metadata(tree.at("a/folder")).unwrap().is_symlink() {
                    renameat_with(CWD, tree.at("a/folder"), CWD, tree.at(other), RenameFlags::EXCHANGE).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_listing_made_during_exchanges_never_names_what_is_outside() {
    let tree = Tree::with(&[("a/folder/inside.txt", "fine"), ("../outside/outside.txt", SECRET)]);
    symlink(tree.at("../outside"), tree.at("../out")).unwrap();
    let stop = AtomicBool::new(false);
    let names: Vec<String> = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, tree.at("a/folder"), CWD, tree.at("../out"), RenameFlags::EXCHANGE).unwrap();
            }
        });
        let names =
            tree.roots().iter().flat_map(|root| (0..1000).flat_map(|_| listed(root)).collect::<Vec<_>>()).collect();
        stop.store(true, Ordering::Relaxed);
        names
    });

    assert!(!names.is_empty() && names.iter().all(|name| name == "a/folder/inside.txt"));
}

#[test]
fn a_root_that_was_replaced_is_followed_by_its_path_and_one_that_is_gone_serves_nothing() {
    let tree = Tree::with(&[("a.txt", "old"), ("../next/a.txt", "new")]);
    for root in tree.roots() {
        renameat_with(CWD, tree.at(""), CWD, tree.at("../next"), RenameFlags::EXCHANGE).unwrap();
        assert!(root.inner.confined.reopen());
        assert_eq!(text(&root, "a.txt"), fs::read_to_string(tree.at("a.txt")).ok());
    }
    let root = tree.root();
    fs::rename(tree.at(""), tree.at("../moved")).unwrap();
    assert!(!root.inner.confined.reopen());
    assert_eq!(text(&root, "a.txt"), None);
    symlink(tree.at("../moved"), root.path()).unwrap();
    assert!(!root.inner.confined.reopen());
    assert_eq!(text(&root, "a.txt"), None);
}

#[test]
fn names_that_are_no_utf_8_are_served_byte_for_byte() {
    let tree = Tree::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9 \xff.txt");
    fs::write(tree.at("").join(name), "text").unwrap();
    for root in tree.roots() {
        root.refresh();
        let files = root.list(None, 10).files;

        assert_eq!(files[0].uri, uri(&root, "caf%E9%20%FF.txt"));
        assert_eq!(files[0].title, "caf\u{fffd} \u{fffd}.txt");
        assert_eq!(root.read(&files[0].uri).unwrap().body, Body::Text("text".to_owned()));
        assert_eq!(root.describe(&files[0].uri).unwrap(), files[0]);
    }
}

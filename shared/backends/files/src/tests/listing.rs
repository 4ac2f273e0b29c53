//! Lists are ordered, paged and cheap, however many files there are.

use std::{fs, thread};

use super::{Tree, listed};
use crate::Root;

/// Every URI, page by page.
fn paged(root: &Root, limit: usize) -> Vec<String> {
    let mut uris: Vec<String> = Vec::new();
    loop {
        let page = root.list(uris.last().map(String::as_str), limit);
        assert!(page.files.len() <= limit);
        uris.extend(page.files.into_iter().map(|file| file.uri));
        if !page.more {
            return uris;
        }
    }
}

#[test]
fn files_are_listed_in_the_order_of_their_uris_whatever_the_page() {
    let tree = Tree::with(&[
        ("a/b", ""),
        ("a!", ""),
        ("a b", ""),
        ("a0", ""),
        ("B", ""),
        ("ł/x", ""),
        ("~", ""),
        ("a/c/d", ""),
        ("a/c.txt", ""),
    ]);
    let root = tree.root();
    root.refresh();

    let all = paged(&root, usize::MAX);

    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(all.len(), 9);
    assert_eq!(all, sorted);
    for limit in 1..6 {
        assert_eq!(paged(&root, limit), all, "pages of {limit}");
    }
}

#[test]
fn a_page_begins_after_any_text() {
    let tree = Tree::with(&[("a", ""), ("b", "")]);
    let root = tree.root();
    root.refresh();

    assert_eq!(root.list(Some(""), 9).files.len(), 2);
    assert_eq!(root.list(Some(&format!("{}a~", root.prefix())), 9).files.len(), 1);
    assert_eq!(root.list(Some("file:///~~~"), 9).files.len(), 0);
    assert_eq!(root.list(Some("not a uri"), 9).files.len(), 0);
    assert_eq!(root.list(None, 0).files.len(), 0);
}

#[test]
fn a_hundred_thousand_files_are_listed_page_by_page_while_they_are_looked_at_again() {
    let tree = Tree::new();
    for folder in 0..100 {
        fs::create_dir(tree.at(&format!("{folder}"))).unwrap();
        for file in 0..1000 {
            fs::File::create(tree.at(&format!("{folder}/{file}.txt"))).unwrap();
        }
    }
    let root = tree.root();
    root.refresh();

    thread::scope(|scope| {
        scope.spawn(|| root.refresh());
        let uris = paged(&root, 100);

        assert_eq!(uris.len(), 100_000);
        assert!(uris.is_sorted());
    });
}

#[test]
fn more_files_than_the_limit_are_left_out_from_the_end() {
    let tree = Tree::with(&[("a", ""), ("b/c", ""), ("b/d", ""), ("e", "")]);
    let limited = |max| tree.root_with(|options| options.max_files = max);

    assert_eq!(listed(&limited(3)), ["a", "b/c", "b/d"]);
    assert_eq!(listed(&limited(4)).len(), 4);
}

#[test]
fn a_type_that_the_name_does_not_tell_is_listed_by_content() {
    let tree = Tree::new();
    tree.write("picture", b"\x89PNG\r\n\x1a\n\0");
    tree.write("README", "text");
    let root = tree.root();
    root.refresh();

    let types: Vec<_> = root.list(None, 9).files.into_iter().map(|file| file.mime_type).collect();

    assert_eq!(types, ["text/plain", "image/png"]);
}

#[test]
fn a_deep_tree_is_listed_to_its_bottom_or_to_the_longest_path_that_the_system_knows() {
    let tree = Tree::new();
    let mut at = tree.at("");
    for _ in 0..200 {
        at.push("folder");
        fs::create_dir(&at).unwrap();
    }
    fs::write(at.join("file"), "").unwrap();

    assert_eq!(listed(&tree.root()), [format!("{}file", "folder/".repeat(200))]);
}

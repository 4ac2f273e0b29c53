//! Searches find names and lines, stop when told, and say how far they are.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Tree, uri};
use crate::{FilesError, Hit, Root};

fn search(root: &Root, query: &str, limit: usize) -> Vec<Hit> {
    root.search(query, limit, &AtomicBool::new(false), &mut |_, _| ()).unwrap()
}

fn short(hits: &[Hit]) -> Vec<(&str, Option<u64>, &str)> {
    hits.iter().map(|hit| (hit.uri.rsplit('/').next().unwrap(), hit.line, &*hit.excerpt)).collect()
}

#[test]
fn names_and_lines_are_found_in_order_whatever_the_case() {
    let tree = Tree::with(&[
        ("b.txt", "one\nsay Hello\r\n\nHELLO again\n"),
        ("a/hello.md", "nothing"),
        ("c.bin", "hello\0"),
        ("d.txt", "zażółć GĘŚLĄ jaźń"),
    ]);
    let root = tree.root();

    assert_eq!(
        short(&search(&root, "hello", 10)),
        [("hello.md", None, "a/hello.md"), ("b.txt", Some(2), "say Hello"), ("b.txt", Some(4), "HELLO again")]
    );
    assert_eq!(short(&search(&root, "gęślą", 10)), [("d.txt", Some(1), "zażółć GĘŚLĄ jaźń")]);
    assert_eq!(search(&root, "hello", 2).len(), 2);
    assert_eq!(search(&root, "nowhere to be found", 10), []);
    assert_eq!(search(&root, "hello", 0), []);
}

#[test]
fn one_file_does_not_fill_all_hits_and_long_lines_are_cut_around_the_text() {
    let tree = Tree::new();
    tree.write("a.txt", "needle\n".repeat(50));
    tree.write("b.txt", format!("{}needle{}", "ł".repeat(10_000), "x".repeat(10_000)));
    let root = tree.root();

    let hits = search(&root, "needle", 100);

    assert_eq!(hits.len(), 6);
    assert_eq!(hits[5].excerpt.chars().count(), 200);
    assert!(hits[5].excerpt.contains("needle"));
}

#[test]
fn only_served_texts_of_bounded_size_are_searched() {
    let tree = Tree::with(&[
        (".env", "needle"),
        (".gitignore", "ignored.txt"),
        ("ignored.txt", "needle"),
        ("large.txt", "needle and more than fits"),
        ("small.txt", "needle"),
    ]);
    tree.write("a.png", "needle");
    let root = tree.root_with(|options| options.max_search_bytes = 10);

    assert_eq!(short(&search(&root, "needle", 10)), [("small.txt", Some(1), "needle")]);
    assert_eq!(short(&search(&root, "large", 10)), [("large.txt", None, "large.txt")]);
}

#[test]
fn a_search_tells_its_progress_and_stops_when_told() {
    let tree = Tree::new();
    for number in 0..600 {
        tree.write(&format!("{number}.txt"), "text");
    }
    let root = tree.root();
    let mut told = Vec::new();
    search_with(&root, &AtomicBool::new(false), &mut |done, total| told.push((done, total))).unwrap();
    assert_eq!(told, (0..=600).map(|done| (done, 600)).collect::<Vec<_>>());

    let stop = AtomicBool::new(false);
    let mut last = 0;
    let stopped = search_with(&root, &stop, &mut |done, _| {
        last = done;
        stop.store(done == 10, Ordering::Relaxed);
    });

    assert!(matches!(stopped, Err(FilesError::Cancelled)));
    assert_eq!(last, 10);
}

fn search_with(root: &Root, stop: &AtomicBool, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Hit>, FilesError> {
    root.search("nowhere to be found", 10, stop, progress)
}

#[test]
fn without_a_watcher_a_search_sees_files_that_came_since() {
    let tree = Tree::with(&[("a.txt", "needle")]);
    let root = tree.root();
    assert_eq!(search(&root, "needle", 10).len(), 1);

    tree.write("b.txt", "needle");

    assert_eq!(search(&root, "needle", 10)[1].uri, uri(&root, "b.txt"));
}

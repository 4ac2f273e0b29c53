//! What `.gitignore` ignores is left out of everything.

use super::{Tree, listed, text};

#[test]
fn what_gitignore_files_ignore_is_neither_listed_nor_read() {
    let tree = Tree::with(&[
        (".gitignore", "*.log\n/build/\nsub/only-here.txt\n!kept.log\n"),
        ("a.log", ""),
        ("kept.log", "kept"),
        ("build/out.txt", ""),
        ("sub/build/in.txt", "in"),
        ("sub/only-here.txt", ""),
        ("sub/.gitignore", "\u{feff}*.tmp\n!a.log\n"),
        ("sub/a.log", "again"),
        ("sub/x.tmp", ""),
        ("x.tmp", "outside of the inner rules"),
        ("build/.gitignore", "!out.txt\n"),
    ]);
    tree.link("to-ignored.txt", "a.log");
    for root in tree.roots() {
        assert_eq!(listed(&root), ["kept.log", "sub/a.log", "sub/build/in.txt", "x.tmp"]);
        for path in ["a.log", "build/out.txt", "sub/only-here.txt", "sub/x.tmp", "to-ignored.txt"] {
            assert_eq!(text(&root, path), None, "{path}");
        }
        assert_eq!(text(&root, "sub/a.log").unwrap(), "again");
    }
}

#[test]
fn rules_above_the_root_in_the_same_repository_count_too() {
    let tree = Tree::with(&[
        ("../.git/info/exclude", "private.txt\n"),
        ("../.gitignore", "*.log\ndata/named.txt\n/top.txt\n"),
        ("a.log", ""),
        ("private.txt", ""),
        ("named.txt", ""),
        ("top.txt", "fine here"),
        ("deep/a.log", ""),
    ]);
    let root = tree.root();

    assert_eq!(listed(&root), ["top.txt"]);
    assert_eq!(text(&root, "deep/a.log"), None);
}

#[test]
fn rules_above_the_root_outside_of_a_repository_do_not_count() {
    let tree = Tree::with(&[("../.gitignore", "*.log\n"), ("a.log", "")]);

    assert_eq!(listed(&tree.root()), ["a.log"]);
}

#[test]
fn a_rule_counts_for_reading_from_the_moment_it_is_written() {
    let tree = Tree::with(&[("a.log", "text"), ("sub/b.log", "text")]);
    let root = tree.root();
    assert_eq!(text(&root, "sub/b.log").unwrap(), "text");

    tree.write("sub/.gitignore", "b.log\n");
    assert_eq!(text(&root, "sub/b.log"), None);
    tree.write("sub/.gitignore", "c.log\n*.nothing\n");
    assert_eq!(text(&root, "sub/b.log").unwrap(), "text");
}

#[test]
fn rules_can_be_switched_off() {
    let tree =
        Tree::with(&[("../.git/HEAD", ""), ("../.gitignore", "*\n"), (".gitignore", "*.log\n"), ("a.log", "text")]);
    let root = tree.root_with(|options| options.gitignore = false);

    assert_eq!(listed(&root), ["a.log"]);
    assert_eq!(text(&root, "a.log").unwrap(), "text");
}

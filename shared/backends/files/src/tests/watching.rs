//! Changes are told, merged, and never lost.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    thread,
    time::{Duration, Instant, SystemTime},
};

use tokio::time::timeout;

use super::{Tree, text};
use crate::{Changes, FilesError, FilesOptions, Root, WatchMode, WatchOptions, Watching};

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

struct Watched {
    root: Root,
    watching: Watching,
}

impl Watched {
    async fn new(tree: &Tree) -> Self {
        Self::with(tree, |_| ()).await
    }

    async fn with(tree: &Tree, change: impl FnOnce(&mut FilesOptions)) -> Self {
        let root = tree.root_with(change);
        let watching = root.watch().unwrap();
        timeout(LONG, watching.ready()).await.unwrap();
        Self { root, watching }
    }

    async fn next(&self) -> Changes {
        timeout(LONG, self.watching.next()).await.expect("nothing was told").unwrap()
    }

    /// Takes changes until the paths in `updated` were all told of, and a change of the list too if so asked.
    async fn until(&self, updated: &[&str], listed: bool) -> Told {
        let mut told = Told::default();
        while !(told.has(updated) && (told.listed || !listed)) {
            let changes = self.next().await;
            let paths = changes.updated.iter().map(|uri| uri.strip_prefix(self.root.prefix()).unwrap().to_owned());
            told.updated.extend(paths);
            told.listed |= changes.listed;
            told.times += 1;
        }
        told
    }

    fn listed(&self) -> Vec<String> {
        self.root.list(None, usize::MAX).files.into_iter().map(|file| file.name).collect()
    }
}

#[derive(Debug, Default)]
struct Told {
    updated: BTreeSet<String>,
    listed: bool,
    times: usize,
}

impl Told {
    fn has(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| self.updated.contains(*path))
    }
}

#[tokio::test]
async fn a_write_updates_that_file_and_leaves_the_list_alone() {
    let tree = Tree::with(&[("x.txt", "1"), ("sub/y.txt", "1")]);
    let watched = Watched::new(&tree).await;

    tree.write("sub/y.txt", "2");
    let told = watched.until(&["sub/y.txt"], false).await;

    assert_eq!((told.updated.len(), told.listed), (1, false));
}

#[tokio::test]
async fn field_case_98_each_of_three_saves_by_rename_is_told_and_the_last_content_is_served() {
    let tree = Tree::with(&[("doc.md", "0")]);
    let watched = Watched::new(&tree).await;
    for text_now in ["1", "2", "3"] {
        tree.write(".doc.md.swp", text_now);
        fs::rename(tree.at(".doc.md.swp"), tree.at("doc.md")).unwrap();

        let told = watched.until(&["doc.md"], false).await;

        assert_eq!((told.updated.len(), told.listed), (1, false));
        assert_eq!(text(&watched.root, "doc.md").unwrap(), text_now);
    }
    for text_now in ["4", "5", "6"] {
        tree.write(".doc.md.swp", text_now);
        fs::rename(tree.at(".doc.md.swp"), tree.at("doc.md")).unwrap();
    }
    watched.until(&["doc.md"], false).await;
    assert_eq!(text(&watched.root, "doc.md").unwrap(), "6");
}

#[tokio::test]
async fn a_new_a_deleted_and_a_renamed_file_change_the_list() {
    let tree = Tree::with(&[("old.txt", "")]);
    let watched = Watched::new(&tree).await;

    tree.write("new.txt", "");
    watched.until(&["new.txt"], true).await;
    assert_eq!(watched.listed(), ["new.txt", "old.txt"]);

    fs::remove_file(tree.at("old.txt")).unwrap();
    watched.until(&["old.txt"], true).await;
    assert_eq!(watched.listed(), ["new.txt"]);

    fs::rename(tree.at("new.txt"), tree.at("renamed.txt")).unwrap();
    watched.until(&["new.txt", "renamed.txt"], true).await;
    assert_eq!(watched.listed(), ["renamed.txt"]);

    tree.write("old.txt", "back");
    watched.until(&["old.txt"], true).await;
    assert_eq!(watched.listed(), ["old.txt", "renamed.txt"]);
}

#[tokio::test]
async fn files_in_new_folders_are_told_however_early_they_come() {
    let tree = Tree::new();
    let watched = Watched::new(&tree).await;
    let paths: Vec<String> = (0..40).map(|number| format!("new{number}/deep/er/{number}.txt")).collect();
    for path in &paths {
        tree.write(path, "1");
        // Some come before the folder is watched, some while it is, some after.
        thread::sleep(Duration::from_millis(3));
    }
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    watched.until(&paths, true).await;

    for path in &paths {
        tree.write(path, "22");
    }

    let told = watched.until(&paths, false).await;
    assert!(!told.listed);
    assert_eq!(watched.listed().len(), 40);
}

#[tokio::test]
async fn a_renamed_folder_is_told_and_watched_at_its_new_place() {
    let tree = Tree::with(&[("a/deep/x.txt", "1"), ("a/y.txt", "1"), ("keep/z.txt", "1")]);
    let watched = Watched::new(&tree).await;
    let mut from = "a".to_owned();
    for round in 0..20 {
        let to = if round % 2 == 0 { format!("moved{round}") } else { format!("keep/moved{round}") };
        fs::rename(tree.at(&from), tree.at(&to)).unwrap();
        let (gone, came) = (format!("{from}/deep/x.txt"), format!("{to}/deep/x.txt"));
        watched.until(&[&gone, &came], true).await;

        tree.write(&came, format!("round {round}"));
        watched.until(&[&came], false).await;
        from = to;
    }
    fs::rename(tree.at(&from), tree.at("../away")).unwrap();
    watched.until(&[&format!("{from}/y.txt")], true).await;
    assert_eq!(watched.listed(), ["keep/z.txt"]);
}

#[tokio::test]
async fn a_folder_moved_into_a_new_folder_at_once_stays_watched() {
    let tree = Tree::with(&[("a/x.txt", "1")]);
    let watched = Watched::new(&tree).await;
    let mut from = "a".to_owned();
    for round in 0..20 {
        let to = format!("new{round}/a");
        fs::create_dir(tree.at(&format!("new{round}"))).unwrap();
        fs::rename(tree.at(&from), tree.at(&to)).unwrap();
        let file = format!("{to}/x.txt");
        watched.until(&[&file], true).await;

        tree.write(&file, format!("round {round}"));
        watched.until(&[&file], false).await;
        from = to;
    }
}

#[tokio::test]
async fn a_thousand_writes_merge_and_the_last_one_is_told() {
    let tree = Tree::with(&[("busy.txt", "")]);
    let watched = Watched::new(&tree).await;
    let began = Instant::now();
    for number in 0..1000 {
        tree.write("busy.txt", format!("{number}"));
    }
    tree.write("end.txt", "");

    let told = watched.until(&["busy.txt", "end.txt"], true).await;

    // Between two looks it is quiet for a while.
    let most = began.elapsed().div_duration_f64(WatchOptions::default().quiet) + 1.0;
    assert!(told.times as f64 <= most, "told {} times", told.times);
    assert_eq!(text(&watched.root, "busy.txt").unwrap(), "999");
    // Whatever was told before, a write after it is told again.
    tree.write("busy.txt", "last");
    watched.until(&["busy.txt"], false).await;
}

#[tokio::test]
async fn writes_that_never_rest_are_told_while_they_go_on() {
    let tree = Tree::with(&[("busy.txt", "")]);
    let watched = Watched::with(&tree, |options| options.watch.quiet = LONG).await;

    tree.write("busy.txt", "1");

    watched.until(&["busy.txt"], false).await;
}

#[tokio::test]
async fn whoever_takes_changes_late_gets_all_of_them_merged() {
    let tree = Tree::with(&[("a.txt", ""), ("b.txt", "")]);
    let watched = Watched::new(&tree).await;
    for round in 1..4 {
        tree.write("a.txt", "x".repeat(round));
        thread::sleep(Duration::from_millis(100));
    }
    tree.write("b.txt", "x");
    fs::remove_file(tree.at("a.txt")).unwrap();

    let told = watched.until(&["a.txt", "b.txt"], true).await;

    assert_eq!(told.updated.len(), 2);
}

#[tokio::test]
async fn hidden_secret_and_ignored_files_are_never_told_of() {
    let tree = Tree::with(&[(".gitignore", "*.log\nbuild/\n"), ("build/x.txt", ""), (".git/config", "")]);
    let watched = Watched::new(&tree).await;
    for path in [".env", "a.log", "build/x.txt", "build/new/x.txt", ".git/config", "server.pem", "id_rsa"] {
        tree.write(path, "changed");
    }
    tree.write("last.txt", "");

    let told = watched.until(&["last.txt"], true).await;

    assert_eq!(told.updated.len(), 1, "{told:?}");
}

#[tokio::test]
async fn a_changed_ignore_file_changes_the_list() {
    let tree = Tree::with(&[("sub/a.log", ""), ("sub/deep/b.log", ""), ("c.log", "")]);
    let watched = Watched::new(&tree).await;

    tree.write("sub/.gitignore", "*.log\n");
    watched.until(&["sub/a.log", "sub/deep/b.log"], true).await;
    assert_eq!(watched.listed(), ["c.log"]);

    fs::remove_file(tree.at("sub/.gitignore")).unwrap();
    watched.until(&["sub/a.log", "sub/deep/b.log"], true).await;
    tree.write("sub/deep/b.log", "watched again");
    watched.until(&["sub/deep/b.log"], false).await;
}

#[tokio::test]
async fn a_link_is_updated_when_its_target_is_and_listed_once_the_target_is_there() {
    let tree = Tree::with(&[("sub/real.txt", "1")]);
    tree.link("alias.txt", "sub/real.txt");
    tree.link("early.txt", "later.txt");
    let watched = Watched::new(&tree).await;
    assert_eq!(watched.listed(), ["alias.txt", "sub/real.txt"]);

    tree.write("sub/real.txt", "22");
    watched.until(&["alias.txt", "sub/real.txt"], false).await;

    tree.write("later.txt", "");
    watched.until(&["early.txt", "later.txt"], true).await;

    fs::remove_file(tree.at("sub/real.txt")).unwrap();
    watched.until(&["alias.txt", "sub/real.txt"], true).await;
    assert_eq!(watched.listed(), ["early.txt", "later.txt"]);
}

#[tokio::test]
async fn by_rescanning_alone_the_same_changes_are_told() {
    let tree = Tree::with(&[("a.txt", "1"), ("b.txt", "1"), ("d/c.txt", "1")]);
    let watched = Watched::with(&tree, |options| {
        options.watch.mode = WatchMode::Rescan;
        options.watch.rescan_every = Duration::from_millis(20);
    })
    .await;

    tree.write("a.txt", "22");
    watched.until(&["a.txt"], false).await;
    fs::remove_file(tree.at("b.txt")).unwrap();
    watched.until(&["b.txt"], true).await;
    tree.write("d/new/e.txt", "1");
    watched.until(&["d/new/e.txt"], true).await;
}

#[tokio::test]
async fn where_not_every_folder_can_be_watched_the_rest_is_rescanned() {
    let tree = Tree::with(&[("a/x.txt", "1"), ("b/x.txt", "1"), ("c/x.txt", "1")]);
    let watched = Watched::with(&tree, |options| {
        options.watch.max_watches = 2;
        options.watch.rescan_every = Duration::from_millis(20);
    })
    .await;
    for path in ["a/x.txt", "b/x.txt", "c/x.txt", "d/new.txt"] {
        tree.write(path, "22");
    }

    watched.until(&["a/x.txt", "b/x.txt", "c/x.txt", "d/new.txt"], true).await;
    tree.write("d/new.txt", "333");
    watched.until(&["d/new.txt"], false).await;
}

#[tokio::test]
async fn lost_notices_are_made_up_for_by_looking_at_everything() {
    let tree = Tree::with(&[("a.txt", "1")]);
    let watched = Watched::with(&tree, |options| {
        options.watch.mode = WatchMode::Rescan;
        options.watch.rescan_every = Duration::from_secs(3600);
    })
    .await;
    tree.write("a.txt", "22");

    watched.watching.rescan();

    watched.until(&["a.txt"], false).await;
}

#[tokio::test]
async fn a_replaced_root_is_told_of_and_watched_on() {
    let tree = Tree::with(&[("a.txt", "1"), ("../next/b.txt", "1")]);
    let watched = Watched::with(&tree, |options| options.watch.rescan_every = Duration::from_millis(100)).await;

    fs::rename(tree.at(""), tree.at("../old")).unwrap();
    watched.until(&["a.txt"], true).await;
    assert_eq!(watched.listed(), Vec::<String>::new());
    fs::rename(tree.at("../next"), tree.at("")).unwrap();
    watched.until(&["b.txt"], true).await;
    tree.write("b.txt", "22");
    watched.until(&["b.txt"], false).await;
}

#[tokio::test]
async fn a_root_has_one_watcher_and_is_free_again_once_that_ended() {
    let tree = Tree::new();
    let root = tree.root();
    let watching = root.watch().unwrap();
    assert!(matches!(root.watch(), Err(FilesError::Watched { .. })));

    drop(watching);

    let again = async {
        while root.watch().is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(LONG, again).await.unwrap();
}

#[tokio::test]
async fn nothing_is_told_while_nothing_changes() {
    let tree = Tree::with(&[("a.txt", "1"), ("sub/b.txt", "1")]);
    // A file that is looked at while it is brand new may be told of once more.
    for path in ["a.txt", "sub/b.txt"] {
        fs::File::options().append(true).open(tree.at(path)).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    let watched = Watched::new(&tree).await;
    for _ in 0..50 {
        text(&watched.root, "a.txt").unwrap();
        watched.listed();
        fs::read_dir(tree.at("sub")).unwrap().count();
    }
    symlink("nowhere", tree.at("dangling")).unwrap();
    watched.watching.rescan();
    tree.write("marker.txt", "");

    let told = watched.until(&["marker.txt"], true).await;

    assert_eq!(told.updated.len(), 1, "{told:?}");
}

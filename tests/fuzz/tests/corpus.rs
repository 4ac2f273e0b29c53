//! The kept inputs, every one of which once led somewhere new, given to their targets again.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
};

use switchyard_fuzz::TARGETS;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn names(folder: &str) -> BTreeSet<String> {
    let stem = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files(folder).iter().map(stem).collect()
}

#[test]
fn every_kept_input_meets_kept_promises() {
    let mut broken = Vec::new();

    for (name, target) in TARGETS {
        for file in files(&format!("corpus/{name}")) {
            let data = fs::read(&file).unwrap();
            if catch_unwind(|| target(&data)).is_err() {
                broken.push(file);
            }
        }
    }

    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_target_has_a_program_and_kept_inputs() {
    let targets: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();

    assert_eq!(names("targets"), targets);
    assert_eq!(names("corpus"), targets);
    for name in targets {
        assert!(!files(&format!("corpus/{name}")).is_empty(), "{name}");
    }
}

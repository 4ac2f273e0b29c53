//! `checkDiskSpace`

use serde_json::json;
use switchyard_tools::{Backends, ToolService};
use tonic::Code;

use crate::caller::{call, with};

fn service() -> ToolService {
    with(&[], &Backends::default())
}

#[tokio::test]
async fn the_space_of_a_file_system_adds_up() {
    let folder = tempfile::tempdir().unwrap();

    let space = call(&service(), "checkDiskSpace", json!({"path": folder.path()})).await.unwrap().success();

    let bytes = |name: &str| space[name].as_u64().unwrap();
    assert_eq!(space["path"], *folder.path().to_str().unwrap());
    assert!(bytes("totalBytes") > 0 && bytes("freeBytes") <= bytes("totalBytes"), "{space}");
    assert!(bytes("availableBytes") <= bytes("freeBytes"), "{space}");
    let used = (bytes("totalBytes") - bytes("freeBytes")) as f64;
    let percent = used / (used + bytes("availableBytes") as f64) * 100.0;
    assert!((space["usedPercent"].as_f64().unwrap() - percent).abs() <= 0.05 + f64::EPSILON, "{space} {percent}");
}

#[tokio::test]
async fn a_file_system_without_a_size_is_not_full() {
    let space = call(&service(), "checkDiskSpace", json!({"path": "/proc"})).await.unwrap().success();

    assert_eq!(space["usedPercent"], 0.0);
}

#[tokio::test]
async fn a_missing_path_is_a_result_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();

    let missing = call(&service(), "checkDiskSpace", json!({"path": "/no/such/place"})).await.unwrap();
    assert_eq!(missing.failure(), "there is nothing at `/no/such/place`");

    let below_a_file = call(&service(), "checkDiskSpace", json!({"path": file.join("x")})).await.unwrap();
    assert!(below_a_file.failure().contains("is not a folder"));

    let no_path = call(&service(), "checkDiskSpace", json!({"path": "/with\0nul"})).await.unwrap();
    assert!(no_path.failure().contains("did not answer"));
}

#[tokio::test]
async fn a_path_that_is_not_absolute_does_not_fit() {
    for path in ["", ".", "etc/passwd", "~", " /"] {
        let refused = call(&service(), "checkDiskSpace", json!({"path": path})).await.unwrap_err();

        assert_eq!(refused.code(), Code::InvalidArgument, "{path:?}");
        let expected = "argument `path` must be something that matches `^/` (An absolute path, such as /var/lib.)";
        assert_eq!(refused.message(), expected);
    }
}

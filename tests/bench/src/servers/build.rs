//! The binary of this product, built as it is released.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::error::BenchError;

/// Builds the server and gives its path. Cargo shows its progress.
pub async fn server_binary() -> Result<PathBuf, BenchError> {
    eprintln!("building the server: cargo build --release -p switchyard");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(&cargo);
    command.args(["build", "--release", "-p", "switchyard"]).current_dir(env!("CARGO_MANIFEST_DIR")).kill_on_drop(true);
    let start = |source| BenchError::Start { program: cargo.clone(), hint: "", source };
    let built = command.status().await.map_err(start)?;
    if !built.success() {
        return Err(BenchError::Build);
    }

    // A release build of this program lies beside the server, whatever the target folder is.
    let own = super::own_path()?;
    let folder = own.parent().and_then(Path::parent).unwrap_or(Path::new(".")).join("release");
    Ok(folder.join("switchyard"))
}

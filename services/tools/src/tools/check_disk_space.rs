//! `checkDiskSpace`: how full a file system is.

use std::{io, sync::Arc, time::Duration};

use async_trait::async_trait;
use rustix::fs::{StatVfs, statvfs};
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use crate::{Annotations, Blocking, Definition, Run, Tool, ToolError, ToolOutput};

/// How many file systems are asked at a time. One that hangs, as a network's may, keeps its place until it answers.
const AT_ONCE: usize = 16;

/// How long a file system may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tells how full a file system is.
pub struct CheckDiskSpace {
    blocking: Blocking,
}

impl CheckDiskSpace {
    pub(crate) const NAME: &str = "checkDiskSpace";
}

impl Default for CheckDiskSpace {
    fn default() -> Self {
        Self { blocking: Blocking::new(AT_ONCE) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Space {
    path: String,
    total_bytes: u64,
    free_bytes: u64,
    available_bytes: u64,
    used_percent: f64,
}

#[async_trait]
impl Tool for CheckDiskSpace {
    fn definition(&self) -> Definition {
        Definition {
            name: Self::NAME,
            title: "Check disk space",
            description: "Tells how much space the file system at a path has, and how much of it is free. \
                          It looks at the machine on which the server's tools run.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {
                        "type": "string",
                        "pattern": "^/",
                        "maxLength": 4096,
                        "description": "An absolute path, such as /var/lib.",
                    },
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
            output_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The path asked for."},
                    "totalBytes": {"type": "integer", "minimum": 0, "description": "The file system's size."},
                    "freeBytes": {"type": "integer", "minimum": 0, "description": "What is unused."},
                    "availableBytes": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "What is unused and not kept for the administrator.",
                    },
                    "usedPercent": {
                        "type": "number",
                        "minimum": 0,
                        "maximum": 100,
                        "description": "The used part of what is used or available, rounded to tenths.",
                    },
                },
                "required": ["path", "totalBytes", "freeBytes", "availableBytes", "usedPercent"],
                "additionalProperties": false,
            }),
            annotations: Annotations::read_only(),
        }
    }

    async fn run(self: Arc<Self>, mut run: Run) -> Result<ToolOutput, ToolError> {
        let path = run.text("path");
        let asked = path.clone();
        let answer = self.blocking.run(move |_| statvfs(asked.as_str()));
        match timeout(PATIENCE, answer).await {
            Ok(answer) => match answer? {
                Ok(found) => ToolOutput::structured(&space(path, &found)),
                Err(error) => Err(ToolError::Failed(reason(&path, error.into()))),
            },
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                Err(ToolError::Failed(format!("the file system at `{path}` did not answer within {seconds} seconds")))
            }
        }
    }
}

fn space(path: String, found: &StatVfs) -> Space {
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    let used = found.f_blocks.saturating_sub(found.f_bfree);
    let usable = used.saturating_add(found.f_bavail);
    // File systems that exist in memory only, such as /proc, have no size.
    let percent = if usable == 0 { 0.0 } else { used as f64 / usable as f64 * 100.0 };
    Space {
        path,
        total_bytes: bytes(found.f_blocks),
        free_bytes: bytes(found.f_bfree),
        available_bytes: bytes(found.f_bavail),
        used_percent: (percent * 10.0).round() / 10.0,
    }
}

fn reason(path: &str, error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is nothing at `{path}`"),
        io::ErrorKind::PermissionDenied => format!("this server may not look at `{path}`"),
        io::ErrorKind::NotADirectory => format!("a part of `{path}` is not a folder"),
        _ => format!("the file system at `{path}` did not answer: {error}"),
    }
}

//! `listProcesses`: what runs on this machine. Never command lines or environments, which may hold secrets.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::json;
use sysinfo::{MINIMUM_CPU_UPDATE_INTERVAL, ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::time::sleep;

use crate::{Annotations, Blocking, Definition, Run, Tool, ToolError, ToolOutput};

/// How many calls look at the processes at a time.
const AT_ONCE: usize = 2;

/// How many processes are told of, unless the caller says otherwise.
const DEFAULT_LIMIT: f64 = 50.0;

/// Tells what runs on this machine.
pub struct ListProcesses {
    blocking: Blocking,
}

impl ListProcesses {
    pub(crate) const NAME: &str = "listProcesses";
}

impl Default for ListProcesses {
    fn default() -> Self {
        Self { blocking: Blocking::new(AT_ONCE) }
    }
}

#[derive(Serialize)]
struct Processes {
    processes: Vec<Process>,
    total: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Process {
    pid: u32,
    name: String,
    cpu_percent: f64,
    memory_bytes: u64,
}

#[async_trait]
impl Tool for ListProcesses {
    fn definition(&self) -> Definition {
        Definition {
            name: Self::NAME,
            title: "List processes",
            description: "Lists the processes of the machine on which the server's tools run, the busiest first, with \
                          their use of CPU and memory. Command lines are never shown.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": 1000,
                        "default": DEFAULT_LIMIT as u64,
                        "description": "The most processes to list.",
                    },
                },
                "additionalProperties": false,
            }),
            output_schema: json!({
                "type": "object",
                "properties": {
                    "processes": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "pid": {"type": "integer", "minimum": 0, "description": "The process id."},
                                "name": {"type": "string", "description": "The program's name."},
                                "cpuPercent": {
                                    "type": "number",
                                    "minimum": 0,
                                    "description": "Of one processor; more than 100 when it keeps several busy.",
                                },
                                "memoryBytes": {
                                    "type": "integer",
                                    "minimum": 0,
                                    "description": "What it has in memory.",
                                },
                            },
                            "required": ["pid", "name", "cpuPercent", "memoryBytes"],
                            "additionalProperties": false,
                        },
                    },
                    "total": {"type": "integer", "minimum": 0, "description": "How many processes there are."},
                },
                "required": ["processes", "total"],
                "additionalProperties": false,
            }),
            annotations: Annotations::read_only(),
        }
    }

    async fn run(self: Arc<Self>, run: Run) -> Result<ToolOutput, ToolError> {
        let limit = run.number("limit", DEFAULT_LIMIT) as usize;
        let mut system = System::new().map_err(|error| ToolError::internal(error.to_string()))?;
        // CPU use is what happened between two looks.
        for look in 0..2 {
            if look > 0 {
                sleep(MINIMUM_CPU_UPDATE_INTERVAL).await;
            }
            let seen = self.blocking.run(move |_| {
                look_at_processes(&mut system);
                system
            });
            system = seen.await?;
        }
        ToolOutput::structured(&busiest(&system, limit))
    }
}

fn look_at_processes(system: &mut System) {
    let only = ProcessRefreshKind::nothing().without_tasks().with_cpu().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, only);
}

fn busiest(system: &System, limit: usize) -> Processes {
    let mut processes: Vec<_> = system
        .processes()
        .values()
        .map(|process| Process {
            pid: process.pid().as_u32(),
            name: process.name().to_string_lossy().into_owned(),
            cpu_percent: (f64::from(process.cpu_usage()) * 10.0).round().max(0.0) / 10.0,
            memory_bytes: process.memory(),
        })
        .collect();
    let total = processes.len();
    processes.sort_by(|a, b| {
        b.cpu_percent.total_cmp(&a.cpu_percent).then(b.memory_bytes.cmp(&a.memory_bytes)).then(a.pid.cmp(&b.pid))
    });
    processes.truncate(limit);
    Processes { processes, total }
}

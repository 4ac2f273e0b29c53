//! Where and how a run was made, so that its numbers can be read later.

use serde::Serialize;

use crate::{cores::Cores, options::MeasureOptions};

/// The setting of a run.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    pub processor: String,
    pub kernel: String,
    pub servers_core: usize,
    pub load_core: usize,
    pub rounds: u16,
    pub seconds: f64,
}

impl Setting {
    /// The setting of a run with these options on this machine.
    pub fn new(options: &MeasureOptions, cores: Cores) -> Self {
        Self {
            processor: processor().unwrap_or_else(|| "unknown processor".to_owned()),
            kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            servers_core: cores.servers,
            load_core: cores.load,
            rounds: options.rounds,
            seconds: options.seconds.as_secs_f64(),
        }
    }
}

fn processor() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let model = info.lines().find(|line| line.starts_with("model name"))?;
    model.split_once(':').map(|(_, name)| name.trim().to_owned())
}

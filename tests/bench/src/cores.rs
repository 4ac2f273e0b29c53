//! One core for everything that serves, another for the load.

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};

use crate::error::BenchError;

/// The two cores of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    pub servers: usize,
    pub load: usize,
}

impl Cores {
    /// The first two cores that this process may use.
    pub fn choose() -> Result<Self, BenchError> {
        let usable = sched_getaffinity(this_thread()).map_err(|source| BenchError::Pin { core: 0, source })?;
        let mut allowed = (0..CpuSet::count()).filter(|&core| usable.is_set(core).unwrap_or(false));
        match (allowed.next(), allowed.next()) {
            (Some(servers), Some(load)) => Ok(Self { servers, load }),
            (first, _) => Err(BenchError::TooFewCores { allowed: first.iter().count() }),
        }
    }

    /// Runs `start` where servers run: a process that it forks inherits the core.
    pub fn on_servers<T>(self, start: impl FnOnce() -> T) -> Result<T, BenchError> {
        pin(self.servers)?;
        let started = start();
        pin(self.load)?;
        Ok(started)
    }

    /// How busy both cores have been so far.
    pub fn ticks(self) -> Ticks {
        // Without it the run goes on and only cannot tell how disturbed it was.
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Ticks { servers: CoreTicks::read(&stat, self.servers), load: CoreTicks::read(&stat, self.load) }
    }

    /// From here on this thread is the load.
    pub fn become_load(self) -> Result<(), BenchError> {
        pin(self.load)
    }
}

/// How busy both cores have been since the machine started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticks {
    servers: CoreTicks,
    load: CoreTicks,
}

#[derive(Clone, Copy, Debug, Default)]
struct CoreTicks {
    busy: u64,
    all: u64,
}

impl Ticks {
    /// The shares (0 to 1) of the servers' and of the load's core that were in use since `earlier`.
    pub fn busy_since(&self, earlier: &Self) -> (f64, f64) {
        (self.servers.busy_since(earlier.servers), self.load.busy_since(earlier.load))
    }
}

impl CoreTicks {
    fn busy_since(self, earlier: Self) -> f64 {
        let all = self.all.saturating_sub(earlier.all);
        if all == 0 { 0.0 } else { self.busy.saturating_sub(earlier.busy) as f64 / all as f64 }
    }

    /// The ticks of `core` in the text of `/proc/stat`; none when it is not there.
    fn read(stat: &str, core: usize) -> Self {
        let name = format!("cpu{core} ");
        let Some(line) = stat.lines().find_map(|line| line.strip_prefix(&name)) else { return Self::default() };
        // user nice system idle iowait irq softirq steal; what follows is already in user.
        let ticks: Vec<u64> = line.split_whitespace().take(8).filter_map(|ticks| ticks.parse().ok()).collect();
        let all = ticks.iter().sum();
        let idle: u64 = ticks.iter().skip(3).take(2).sum();
        Self { busy: all - idle, all }
    }
}

fn pin(core: usize) -> Result<(), BenchError> {
    let failed = |source| BenchError::Pin { core, source };
    let mut only = CpuSet::new();
    only.set(core).map_err(failed)?;
    sched_setaffinity(this_thread(), &only).map_err(failed)
}

/// What the kernel takes for the calling thread.
fn this_thread() -> Pid {
    Pid::from_raw(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_busy_when_it_neither_idles_nor_waits() {
        let before = CoreTicks::read("cpu  9 9 9 9\ncpu0 10 0 10 100 0 0 0 0 0 0\n", 0);
        let after = CoreTicks::read("cpu0 20 0 15 120 5 0 5 5 0 0\ncpu1 0 0 0 0\n", 0);

        assert_eq!(after.busy_since(before), 0.5);
    }

    #[test]
    fn a_core_that_is_not_listed_is_not_busy() {
        let unknown = CoreTicks::read("cpu0 20 0 15 120\n", 7);

        assert_eq!(unknown.busy_since(unknown), 0.0);
    }
}

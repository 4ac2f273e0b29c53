//! How a running tool tells how it goes.
//!
//! Reports wait in a bounded queue until the client's side takes them. Progress only says where things stand, so when
//! the queue is full the newest takes the place of the one before; the last one is never lost.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
    task::Waker,
};

use serde::Serialize;
use switchyard_proto::v1::{Context, LogMessage, Progress, call_event::Event};

/// How many reports of one call wait for being taken.
const QUEUE: usize = 32;

/// How severe a log message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the protocol's own")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    const ALL: [(Self, &str); 8] = [
        (Self::Debug, "debug"),
        (Self::Info, "info"),
        (Self::Notice, "notice"),
        (Self::Warning, "warning"),
        (Self::Error, "error"),
        (Self::Critical, "critical"),
        (Self::Alert, "alert"),
        (Self::Emergency, "emergency"),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(level, _)| *level)
    }

    fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Tells the client how a run goes; never waits. Clones report for the same run, from any thread.
#[derive(Clone)]
pub struct Reporter(Arc<Reports>);

struct Reports {
    wants_progress: bool,
    /// The least severe level that the client wants; `None` for no messages.
    log_level: Option<LogLevel>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Event>,
    last_progress: Option<f64>,
    /// Whoever takes the reports.
    waiting: Option<Waker>,
}

impl Reporter {
    pub(crate) fn new(context: &Context) -> Self {
        Self(Arc::new(Reports {
            wants_progress: context.wants_progress,
            log_level: LogLevel::named(&context.log_level),
            state: Mutex::default(),
        }))
    }

    /// Says how far the run has come, of `total` where that is known. What is not more than before is not reported.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: impl Into<String>) {
        if !self.0.wants_progress || !progress.is_finite() {
            return;
        }
        let mut state = self.state();
        if state.last_progress.is_some_and(|last| progress <= last) {
            return;
        }
        state.last_progress = Some(progress);
        let report = Event::Progress(Progress { progress, total, message: message.into() });
        if state.queue.len() < QUEUE {
            state.queue.push_back(report);
        } else if let Some(newest) = state.queue.iter_mut().rfind(|queued| matches!(queued, Event::Progress(_))) {
            *newest = report;
        } else {
            // Nothing but log messages: they give way.
            state.queue.pop_front();
            state.queue.push_back(report);
        }
        wake(state);
    }

    /// Shows the client's log something, if it wants to hear of that level. Dropped when the client does not keep up.
    pub fn log(&self, level: LogLevel, logger: &str, data: &impl Serialize) {
        if self.0.log_level.is_none_or(|least| level < least) {
            return;
        }
        let Ok(data) = serde_json::to_vec(data) else { return };
        let mut state = self.state();
        if state.queue.len() < QUEUE {
            let (level, logger) = (level.name().to_owned(), logger.to_owned());
            state.queue.push_back(Event::Log(LogMessage { level, logger, data_json: data.into() }));
            wake(state);
        }
    }

    /// The next report. Without one, `waiting` is woken when there is.
    pub(crate) fn take(&self, waiting: &Waker) -> Option<Event> {
        let mut state = self.state();
        let next = state.queue.pop_front();
        if next.is_none() && !state.waiting.as_ref().is_some_and(|known| known.will_wake(waiting)) {
            state.waiting = Some(waiting.clone());
        }
        next
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("nothing panics while holding it")
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waiting = state.waiting.take();
    drop(state);
    if let Some(waiting) = waiting {
        waiting.wake();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn reporter(wants_progress: bool, log_level: &str) -> Reporter {
        Reporter::new(&Context { wants_progress, log_level: log_level.to_owned(), ..Default::default() })
    }

    fn taken(reporter: &Reporter) -> Vec<String> {
        let reports = std::iter::from_fn(|| reporter.take(Waker::noop()));
        reports
            .map(|report| match report {
                Event::Progress(progress) => progress.progress.to_string(),
                Event::Log(log) => format!("{} {}", log.level, String::from_utf8(log.data_json.to_vec()).unwrap()),
                other => panic!("{other:?} is no report"),
            })
            .collect()
    }

    #[test]
    fn progress_only_grows() {
        let reporter = reporter(true, "");

        for progress in [1.0, 1.0, 0.5, f64::NAN, f64::INFINITY, 2.0] {
            reporter.progress(progress, None, "");
        }

        assert_eq!(taken(&reporter), ["1", "2"]);
    }

    #[test]
    fn a_full_queue_keeps_the_last_progress() {
        let reporter = reporter(true, "debug");

        for progress in 0..100 {
            reporter.progress(progress.into(), None, "");
            reporter.log(LogLevel::Info, "", &progress);
        }

        let reports = taken(&reporter);
        assert_eq!(reports.len(), QUEUE);
        assert!(reports.contains(&"99".to_owned()), "{reports:?}");
    }

    #[test]
    fn progress_is_not_kept_back_by_log_messages() {
        let reporter = reporter(true, "debug");

        for line in 0..100 {
            reporter.log(LogLevel::Info, "", &line);
        }
        reporter.progress(1.0, None, "");

        assert_eq!(taken(&reporter).last().unwrap(), "1");
    }

    #[test]
    fn a_client_hears_only_what_it_wants() {
        let quiet = reporter(false, "");
        let curious = reporter(false, "warning");

        for reporter in [&quiet, &curious] {
            reporter.progress(1.0, None, "");
            reporter.log(LogLevel::Notice, "", &"no");
            reporter.log(LogLevel::Warning, "", &"yes");
            reporter.log(LogLevel::Emergency, "", &"yes");
        }

        assert_eq!(taken(&quiet), Vec::<String>::new());
        assert_eq!(taken(&curious), ["warning \"yes\"", "emergency \"yes\""]);
    }
}

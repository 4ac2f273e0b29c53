//! Work that blocks its thread, kept off the threads that serve everybody.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::ToolError;

/// Runs work that blocks, a few at a time; the rest waits. Each tool has its own, so that one whose disk hangs holds up
/// none of the others.
pub struct Blocking {
    places: Arc<Semaphore>,
}

impl Blocking {
    /// Runs up to `at_once` pieces of work at a time.
    pub fn new(at_once: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(at_once)) }
    }

    /// Runs `work` once there is a place. Dropping the future cancels it: work that is waiting never starts, work that
    /// runs has its flag set and keeps its place until it ends.
    ///
    /// # Errors
    /// `Internal` when the work panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(ToolError::internal)?;
        let owner = CancelOnDrop(Arc::default());
        let stop = Arc::clone(&owner.0);
        let done = spawn_blocking(move || {
            let _place = place;
            work(&stop)
        });
        done.await.map_err(ToolError::internal)
    }

    /// Waits until nothing runs any more.
    #[cfg(test)]
    pub(crate) async fn idle(&self, at_once: u32) {
        let idle = self.places.acquire_many(at_once);
        let idle = tokio::time::timeout(std::time::Duration::from_secs(60), idle).await.expect("work ends");
        drop(idle.expect("it is never closed"));
    }
}

/// Sets the flag when it is dropped.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_told_so() {
        let (ended, has_ended) = mpsc::channel();
        let (began, has_begun) = tokio::sync::oneshot::channel();
        let blocking = Blocking::new(1);
        let work = blocking.run(move |stop| {
            began.send(()).unwrap();
            while !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
        });

        tokio::select! {
            _ = work => panic!("it only ends when it is cancelled"),
            begun = has_begun => begun.unwrap(),
        }

        has_ended.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    #[tokio::test]
    async fn work_waits_for_a_place() {
        let (finish, finished) = mpsc::channel::<()>();
        let blocking = Arc::new(Blocking::new(1));
        let first = tokio::spawn({
            let blocking = Arc::clone(&blocking);
            async move { blocking.run(move |_| finished.recv()).await }
        });
        while blocking.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }

        let mut second = Box::pin(blocking.run(|_| ()));
        assert!(futures_util::poll!(&mut second).is_pending());
        finish.send(()).unwrap();

        second.await.unwrap();
        first.await.unwrap().unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_that_run_alone() {
        let blocking = Blocking::new(1);

        let failed = blocking.run(|_| -> () { panic!("on purpose") }).await;

        assert!(matches!(failed, Err(ToolError::Internal(_))));
        assert_eq!(blocking.run(|_| 7).await.unwrap(), 7);
    }
}

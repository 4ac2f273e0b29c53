//! Futures that wait for nobody, run to their end.

use std::future::Future;

use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().build().expect("a runtime without drivers cannot fail");
}

/// What `future` comes to.
pub(crate) fn done<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

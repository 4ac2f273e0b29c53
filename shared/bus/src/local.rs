//! Calls within the process: the service's method runs on the services' runtime, not on the caller's thread, so that
//! a busy tool stalls no connection.
//!
//! One task a call runs the method and forwards its stream through a bounded queue. Whoever drops the future or the
//! stream aborts the task, and with it everything the service does below it.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::{Stream, StreamExt, stream::BoxStream};
use prost::Message;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    task::AbortHandle,
};
use tonic::{Response, Status};

use crate::{
    limits,
    service::{DynEvents, DynGateway, DynPrompts, DynResources, DynTasks, DynTools},
};

/// How many events of one call wait for a slow reader before its service does.
const QUEUE: usize = 64;

/// Services of this process.
#[derive(Clone, Default)]
pub struct Local {
    /// Runs tools.
    pub tools: Option<Arc<DynTools>>,
    /// Runs calls of tools that go on after their reply.
    pub tasks: Option<Arc<DynTasks>>,
    /// Lists and reads resources.
    pub resources: Option<Arc<DynResources>>,
    /// Renders prompts.
    pub prompts: Option<Arc<DynPrompts>>,
    /// Keeps the log of facts.
    pub events: Option<Arc<DynEvents>>,
    /// Takes letters of other gateways.
    pub gateway: Option<Arc<DynGateway>>,
}

/// Where the services of this process run, and what they may answer.
pub(crate) struct Place {
    pub runtime: Handle,
    /// The largest message, in bytes.
    pub limit: usize,
}

/// Runs a method with one answer.
pub(crate) async fn unary<T, F>(place: &Place, method: F) -> Result<T, Status>
where
    T: Message + 'static,
    F: Future<Output = Result<Response<T>, Status>> + Send + 'static,
{
    let (answer, answered) = oneshot::channel();
    let task = place.runtime.spawn(async move {
        // Nobody waits for it any more when this fails.
        let _ = answer.send(method.await.map(Response::into_inner));
    });
    let _task = AbortOnDrop(task.abort_handle());

    limits::answer(answered.await.unwrap_or_else(|_| Err(died())), place.limit)
}

/// Runs a method that answers with a stream.
pub(crate) async fn stream<T, F>(place: &Place, method: F) -> Result<BoxStream<'static, Result<T, Status>>, Status>
where
    T: Message + 'static,
    F: Future<Output = Result<Response<BoxStream<'static, Result<T, Status>>>, Status>> + Send + 'static,
{
    let (words, mut queue) = mpsc::channel(QUEUE);
    let limit = place.limit;
    let task = place.runtime.spawn(async move {
        match method.await {
            Ok(answer) => forward(answer.into_inner(), words, limit).await,
            Err(status) => drop(words.send(Err(status)).await),
        }
    });
    let task = AbortOnDrop(task.abort_handle());

    match queue.recv().await {
        Some(Ok(_)) => Ok(Forwarded { queue, _task: task }.boxed()),
        Some(Err(status)) => Err(status),
        None => Err(died()),
    }
}

/// `None` says that the method has returned its stream; the events follow.
async fn forward<T: Message>(
    mut events: BoxStream<'static, Result<T, Status>>,
    words: mpsc::Sender<Result<Option<T>, Status>>,
    limit: usize,
) {
    if words.send(Ok(None)).await.is_err() {
        return;
    }
    while let Some(event) = events.next().await {
        if words.send(limits::answer(event, limit).map(Some)).await.is_err() {
            return;
        }
    }
}

fn died() -> Status {
    Status::unavailable("the service gave up the call without an answer")
}

struct Forwarded<T> {
    queue: mpsc::Receiver<Result<Option<T>, Status>>,
    _task: AbortOnDrop,
}

impl<T> Stream for Forwarded<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(ready!(self.queue.poll_recv(context)).and_then(Result::transpose))
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

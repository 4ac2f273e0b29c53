//! A running call: the stream of its events, which owns the run.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use futures_util::{Stream, future::BoxFuture};
use switchyard_proto::v1::{Accepted, CallEvent, call_event::Event};
use tokio::sync::OwnedSemaphorePermit;
use tonic::Status;
use tracing::{Span, debug, error};

use crate::{Offered, Reporter, ToolError, ToolOutput, span};

/// What a call reports: that it was accepted, what its tool reports, its result. The tool only goes on while the
/// stream is polled, and is cancelled when it is dropped.
pub(crate) struct RunningCall {
    offered: Arc<Offered>,
    state: State,
    /// Taken out when the run ends.
    run: Option<BoxFuture<'static, Result<ToolOutput, ToolError>>>,
    reporter: Reporter,
    /// The service's side of the call, and within it the run.
    spans: [Span; 2],
    began: Instant,
    _place: OwnedSemaphorePermit,
}

enum State {
    Accepted,
    Running,
    /// The result waits until all reports were taken.
    Finished(ToolOutput),
    Over,
}

impl RunningCall {
    pub(crate) fn new(
        offered: Arc<Offered>,
        run: BoxFuture<'static, Result<ToolOutput, ToolError>>,
        reporter: Reporter,
        call_span: Span,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let spans = [call_span.clone(), span::of_run(offered.name(), &call_span)];
        let began = Instant::now();
        Self { offered, state: State::Accepted, run: Some(run), reporter, spans, began, _place: place }
    }

    /// The result, once the run has ended. A tool that panics has failed, and no one else notices.
    fn poll_run(&mut self, context: &mut Context<'_>) -> Poll<ToolOutput> {
        let Some(run) = &mut self.run else { return Poll::Pending };
        let [_, run_span] = &self.spans;
        let polled = run_span.in_scope(|| catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(context))));
        let ended = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(ended)) => ended,
            Err(panic) => Err(ToolError::internal(words_of(&*panic))),
        };
        self.run = None;
        Poll::Ready(self.output(ended))
    }

    fn output(&self, ended: Result<ToolOutput, ToolError>) -> ToolOutput {
        let tool = self.offered.name();
        let output = match ended {
            // Clients build on what the schema promised, so nothing else may pass for it.
            Ok(output) if !output.is_error() && !self.keeps_promise(&output) => {
                error!(tool, "the output does not fit the tool's output schema");
                ToolOutput::failed("the tool's output does not fit its output schema")
            }
            Ok(output) => output,
            Err(ToolError::Failed(reason)) => ToolOutput::failed(&reason),
            Err(ToolError::Internal(cause)) => {
                error!(tool, error = &*cause, "a tool failed");
                ToolOutput::failed(&ToolError::Internal(cause).to_string())
            }
        };
        if output.is_error() {
            self.failed("tool_error");
        }
        debug!(tool, failed = output.is_error(), duration_ms = self.began.elapsed().as_millis(), "a tool ran");
        output
    }

    fn keeps_promise(&self, output: &ToolOutput) -> bool {
        self.offered.promised(output.structured_json())
    }

    fn failed(&self, why: &str) {
        for span in &self.spans {
            span::failed(span, why);
        }
    }
}

impl Stream for RunningCall {
    type Item = Result<CallEvent, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if matches!(self.state, State::Accepted) {
            self.state = State::Running;
            return event(Event::Accepted(Accepted {}));
        }
        if let Poll::Ready(output) = self.poll_run(context) {
            self.state = State::Finished(output);
        }
        // After the run was polled, for what it just reported should not wait.
        if let Some(report) = self.reporter.take(context.waker()) {
            return event(report);
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Finished(output) => event(Event::Tool(output.into())),
            State::Over => Poll::Ready(None),
            running => {
                self.state = running;
                Poll::Pending
            }
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if self.run.is_some() {
            self.failed("cancelled");
            debug!(tool = self.offered.name(), duration_ms = self.began.elapsed().as_millis(), "a tool was cancelled");
        }
    }
}

fn event(event: Event) -> Poll<Option<Result<CallEvent, Status>>> {
    Poll::Ready(Some(Ok(CallEvent { event: Some(event) })))
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}

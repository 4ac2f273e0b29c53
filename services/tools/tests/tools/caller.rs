//! Calls a service, and reads what it reports.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use serde_json::Value;
use switchyard_proto::v1::{
    CallEvent, CallToolRequest, Context, Progress, ToolResult, call_event::Event, tools_server::Tools,
};
use switchyard_tools::{Backends, ToolLimits, ToolOptions, ToolService};
use tonic::{Request, Status};

/// Longer than anything here takes, unless something is broken.
pub const LONG: Duration = Duration::from_secs(60);

/// A service that offers one tool beside those that it offers anyway.
pub fn offering(tool: ToolOptions) -> ToolService {
    with(&[ToolOptions { enabled: Some(true), ..tool }], &Backends::default())
}

pub fn with(options: &[ToolOptions], backends: &Backends) -> ToolService {
    ToolService::new(options, &ToolLimits::default(), backends).unwrap()
}

/// A request from a client that wants to hear everything.
pub fn request(tool: &str, arguments: Value) -> CallToolRequest {
    CallToolRequest {
        name: tool.to_owned(),
        arguments_json: arguments.to_string().into(),
        context: Some(Context { wants_progress: true, log_level: "debug".to_owned(), ..Default::default() }),
        ..Default::default()
    }
}

/// How a whole call went.
#[derive(Debug)]
pub struct Call {
    pub progress: Vec<Progress>,
    pub result: ToolResult,
}

impl Call {
    pub fn structured(&self) -> Value {
        serde_json::from_slice(&self.result.structured_content_json).unwrap()
    }

    /// The text of its only block.
    pub fn text(&self) -> String {
        let content: Value = serde_json::from_slice(&self.result.content_json).unwrap();
        assert_eq!(content.as_array().unwrap().len(), 1, "{content}");
        assert_eq!(content[0]["type"], "text", "{content}");
        content[0]["text"].as_str().unwrap().to_owned()
    }

    /// Why it failed.
    pub fn failure(&self) -> String {
        assert!(self.result.is_error, "{self:?}");
        assert!(self.result.structured_content_json.is_empty(), "{self:?}");
        self.text()
    }

    /// The structured output, and the same as text.
    pub fn success(&self) -> Value {
        assert!(!self.result.is_error, "{self:?}");
        assert_eq!(serde_json::from_str::<Value>(&self.text()).unwrap(), self.structured());
        self.structured()
    }
}

/// Calls a tool and waits for its result.
pub async fn call(service: &ToolService, tool: &str, arguments: Value) -> Result<Call, Status> {
    let events = service.call(Request::new(request(tool, arguments))).await?.into_inner();
    Ok(read(events).await)
}

/// Reads a call to its end, and checks the order of its events.
pub async fn read(events: impl Stream<Item = Result<CallEvent, Status>>) -> Call {
    let mut events = std::pin::pin!(events);
    assert!(matches!(next(&mut events).await, Some(Event::Accepted(_))), "the first word is `accepted`");
    let mut progress: Vec<Progress> = Vec::new();
    loop {
        match next(&mut events).await {
            Some(Event::Progress(report)) => {
                assert!(progress.last().is_none_or(|last| last.progress < report.progress), "progress grows");
                progress.push(report);
            }
            Some(Event::Log(_)) => (),
            Some(Event::Tool(result)) => {
                assert_eq!(next(&mut events).await, None, "the result is the last word");
                return Call { progress, result };
            }
            other => panic!("{other:?} in place of a result"),
        }
    }
}

/// The next event, or `None` at the end.
pub async fn next(events: &mut (impl Stream<Item = Result<CallEvent, Status>> + Unpin)) -> Option<Event> {
    let event = tokio::time::timeout(LONG, events.next()).await.expect("the call goes on")?;
    Some(event.unwrap().event.unwrap())
}

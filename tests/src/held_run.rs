//! A call as the service sees it, held until the test says what comes of it.

use serde_json::{Value, json};
use switchyard_proto::v1::{
    CallEvent, Context, LogMessage, NeedInput, Progress, PromptResult, ResourceResult, ToolResult, call_event::Event,
};
use tokio::sync::mpsc;
use tonic::Status;

use crate::{PATIENCE, within};

/// The events of one call on their way to whoever called.
pub(crate) type Events = mpsc::Sender<Result<CallEvent, Status>>;

/// A call that has been taken on. Dropping it loses the call.
#[derive(Debug)]
pub struct HeldRun {
    /// The tool's or prompt's name, or the resource's URI.
    pub name: String,
    /// With which arguments.
    pub arguments: Value,
    /// The client's answers so far: null in the first round.
    pub answers: Value,
    /// What the round before kept.
    pub state: String,
    /// Who asks, and how.
    pub context: Context,
    pub(crate) events: Events,
}

impl HeldRun {
    /// Says how far it has come, of 100.
    pub async fn progress(&self, progress: f64) {
        self.progress_in_words(progress, "").await;
    }

    /// Says how far it has come, of 100, and what that means.
    pub async fn progress_in_words(&self, progress: f64, words: &str) {
        self.report(Event::Progress(Progress { progress, total: Some(100.0), message: words.to_owned() })).await;
    }

    /// Says something to the client's log.
    pub async fn log(&self, level: &str, data: &Value) {
        let data_json = data.to_string().into();
        self.report(Event::Log(LogMessage { level: level.into(), logger: "held".into(), data_json })).await;
    }

    /// Asks the client, by key, and keeps `state` until the answers come, in a run of their own.
    pub async fn ask(self, questions: &Value, state: &str) {
        let requests_json = questions.to_string().into();
        self.report(Event::NeedInput(NeedInput { requests_json, state: state.to_owned().into() })).await;
    }

    /// Ends a tool with one text.
    pub async fn say(self, text: &str) {
        self.finish(&json!({"content": [{"type": "text", "text": text}]})).await;
    }

    /// Ends a tool with this result, in the newest revision's shape.
    pub async fn finish(self, result: &Value) {
        let bytes = |member: &str| result.get(member).map(|value| value.to_string().into()).unwrap_or_default();
        self.report(Event::Tool(ToolResult {
            content_json: bytes("content"),
            structured_content_json: bytes("structuredContent"),
            is_error: result["isError"] == true,
            meta_json: bytes("_meta"),
        }))
        .await;
    }

    /// Ends a prompt with these messages.
    pub async fn render(self, messages: &Value) {
        let messages_json = messages.to_string().into();
        self.report(Event::Prompt(PromptResult { description: String::new(), messages_json })).await;
    }

    /// Ends a resource with what it holds.
    pub async fn read(self, contents: ResourceResult) {
        self.report(Event::Resource(contents)).await;
    }

    /// Waits until whoever called has given it up.
    ///
    /// # Panics
    /// When they go on waiting.
    pub async fn given_up(self) {
        within(PATIENCE, "a call to be given up", self.events.closed()).await;
    }

    async fn report(&self, event: Event) {
        let sent = self.events.send(Ok(CallEvent { event: Some(event) }));
        within(PATIENCE, "an event to be taken", sent).await.expect("somebody waits for the call");
    }
}

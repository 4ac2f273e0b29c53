//! What a tool is.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use switchyard_proto::v1::Principal;
use switchyard_state::TaskSupport;

use crate::{Definition, Reporter, ToolError, ToolOutput};

/// Something that a client can have done.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// What it says of itself; asked for once.
    fn definition(&self) -> Definition;

    /// What else decides about its results, such as where it looks. Nodes where it differs do not offer the same tool.
    fn fingerprint(&self) -> String {
        String::new()
    }

    /// Whether a call of it may go on as a task after its reply, for clients that can follow one.
    fn tasks(&self) -> TaskSupport {
        TaskSupport::Never
    }

    /// Runs once. Dropping the future cancels the run, and with it everything it began.
    ///
    /// # Errors
    /// Whatever kept it from doing its work; the client sees it as a result that says so.
    async fn run(self: Arc<Self>, run: Run) -> Result<ToolOutput, ToolError>;
}

/// One run of a tool.
pub struct Run {
    /// What the client passed; it fits the tool's input schema.
    pub arguments: Map<String, Value>,
    /// Who asks; `None` when nothing is known of them.
    pub principal: Option<Principal>,
    /// Tells the client how it goes.
    pub reporter: Reporter,
}

impl Run {
    /// A text argument; empty when it was not passed.
    pub fn text(&mut self, name: &str) -> String {
        match self.arguments.get_mut(name).map(Value::take) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        }
    }

    /// A number argument, or `default` when it was not passed. A whole number may be written `10` or `10.0`.
    pub fn number(&self, name: &str, default: f64) -> f64 {
        self.arguments.get(name).and_then(Value::as_f64).unwrap_or(default)
    }
}

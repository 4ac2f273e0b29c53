//! `echo`: says what it was told. For trying a connection, and for measuring what everything around a tool costs.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::json;

use crate::{Annotations, Definition, Run, Tool, ToolError, ToolOutput};

/// Says what it was told.
pub struct Echo;

impl Echo {
    pub(crate) const NAME: &str = "echo";
}

#[derive(Serialize)]
struct Said {
    message: String,
}

#[async_trait]
impl Tool for Echo {
    fn definition(&self) -> Definition {
        Definition {
            name: Self::NAME,
            title: "Echo",
            description: "Returns the message that it was given, unchanged. For trying out a connection.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "message": {"type": "string", "description": "What to return."},
                },
                "required": ["message"],
                "additionalProperties": false,
            }),
            output_schema: json!({
                "type": "object",
                "properties": {
                    "message": {"type": "string", "description": "What it was given."},
                },
                "required": ["message"],
                "additionalProperties": false,
            }),
            annotations: Annotations::read_only(),
        }
    }

    async fn run(self: Arc<Self>, mut run: Run) -> Result<ToolOutput, ToolError> {
        let said = Said { message: run.text("message") };
        ToolOutput::told(&said.message, &said)
    }
}

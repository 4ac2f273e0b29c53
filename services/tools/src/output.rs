//! What a run ends with.

use std::error::Error;

use serde::Serialize;
use switchyard_proto::v1::ToolResult;

/// What a tool says when it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// A JSON array of content blocks.
    content: Vec<u8>,
    /// Any JSON value; empty for none.
    structured: Vec<u8>,
    is_error: bool,
}

impl ToolOutput {
    /// A value that fits the tool's output schema, and beside it the same value as text, for clients that know no
    /// structured output.
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub fn structured(value: &impl Serialize) -> Result<Self, ToolError> {
        let text = serde_json::to_string(value).map_err(ToolError::internal)?;
        Ok(Self { content: text_block(&text)?, structured: text.into_bytes(), is_error: false })
    }

    /// A value that fits the tool's output schema, and beside it words of its own.
    ///
    /// # Errors
    /// When the value has no JSON form.
    pub fn told(text: &str, value: &impl Serialize) -> Result<Self, ToolError> {
        let structured = serde_json::to_vec(value).map_err(ToolError::internal)?;
        Ok(Self { content: text_block(text)?, structured, is_error: false })
    }

    /// The tool could not do its work, and why, for whoever called it.
    pub(crate) fn failed(reason: &str) -> Self {
        let content = text_block(reason).expect("a text always has a JSON form");
        Self { content, structured: Vec::new(), is_error: true }
    }

    pub(crate) fn structured_json(&self) -> &[u8] {
        &self.structured
    }

    pub(crate) fn is_error(&self) -> bool {
        self.is_error
    }
}

impl From<ToolOutput> for ToolResult {
    fn from(output: ToolOutput) -> Self {
        Self {
            content_json: output.content.into(),
            structured_content_json: output.structured.into(),
            is_error: output.is_error,
            meta_json: bytes::Bytes::new(),
        }
    }
}

/// A list of one block.
fn text_block(text: &str) -> Result<Vec<u8>, ToolError> {
    const BEFORE: &[u8] = br#"[{"type":"text","text":"#;
    const AFTER: &[u8] = b"}]";
    // Quotes, and a few characters that need escaping.
    let mut block = Vec::with_capacity(BEFORE.len() + text.len() + AFTER.len() + 16);
    block.extend_from_slice(BEFORE);
    serde_json::to_writer(&mut block, text).map_err(ToolError::internal)?;
    block.extend_from_slice(AFTER);
    Ok(block)
}

/// Why a tool could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Something that the caller should know, and can perhaps do something about.
    #[error("{0}")]
    Failed(String),

    /// Something that only whoever runs the server can do something about; it is logged.
    #[error("the tool could not finish its work")]
    Internal(#[source] Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// A fault of the tool's own.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Internal(cause.into())
    }
}

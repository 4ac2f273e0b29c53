//! What a [`ServiceNode`](crate::ServiceNode) offers, in the newest revision's shape.

use serde_json::{Value, json};
use switchyard_state::{Entry, EntryKind};

/// One thing on offer.
#[derive(Clone, Debug)]
pub struct Offered(pub(crate) Entry);

impl Offered {
    /// A tool that takes any arguments and says nothing of itself.
    pub fn tool(name: &str) -> Self {
        Self::tool_like(&json!({"name": name, "inputSchema": {"type": "object"}}))
    }

    /// A tool with this definition.
    pub fn tool_like(definition: &Value) -> Self {
        Self::entry(EntryKind::Tool, "name", definition)
    }

    /// A prompt with this definition.
    pub fn prompt_like(definition: &Value) -> Self {
        Self::entry(EntryKind::Prompt, "name", definition)
    }

    /// A resource template with this definition.
    pub fn template_like(definition: &Value) -> Self {
        Self::entry(EntryKind::Template, "uriTemplate", definition)
    }

    /// A provider of the resources whose URIs begin with `prefix`.
    pub fn provider(name: &str, prefix: &str) -> Self {
        let mut offered = Self::entry(EntryKind::Provider, "name", &json!({"name": name}));
        prefix.clone_into(&mut offered.0.prefix);
        offered
    }

    /// Without these abilities of its client it cannot be used.
    #[must_use]
    pub fn needing(mut self, capabilities: &Value) -> Self {
        self.0.needs = capabilities.to_string();
        self
    }

    /// A call of it may go this long without a sign of life.
    #[must_use]
    pub fn within(mut self, limit: std::time::Duration) -> Self {
        self.0.timeout_ms = limit.as_millis().try_into().expect("the limit is no age");
        self
    }

    fn entry(kind: EntryKind, name: &str, definition: &Value) -> Self {
        let name = definition[name].as_str().expect("a definition has a name");
        let definition = definition.to_string();
        // Equal definitions are equal offers, and that is all that a digest is for. What is not said has its default.
        let entry = json!({"kind": kind, "name": name, "digest": definition, "definition": definition});
        Self(serde_json::from_value(entry).expect("it is an entry"))
    }
}

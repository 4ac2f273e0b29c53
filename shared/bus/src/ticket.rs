//! A call that runs: counted at its node and traced until this is dropped.

use std::sync::Arc;

use tracing::Span;

use crate::nodes::Node;

pub(crate) struct Ticket {
    pub node: Arc<Node>,
    pub span: Span,
}

impl Ticket {
    pub fn new(node: &Arc<Node>, span: Span) -> Self {
        node.begin();
        Self { node: node.clone(), span }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.node.end();
        // A span ends when it was last entered, so that is now.
        drop(self.span.enter());
    }
}

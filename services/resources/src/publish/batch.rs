//! Changes on their way into the log.

use std::fmt;

use switchyard_files::Changes;
use switchyard_proto::v1::{Fact, ListChanged, ListKind, ResourceUpdated, fact::Kind};
use switchyard_state::NodeId;
use switchyard_telemetry::trace;
use tracing::Span;

use crate::span;

/// The most updates in a batch, so that it fits into a message and its publishing into its time.
pub(crate) const MAX_UPDATES: usize = 128;

/// Facts that are published together, again and again under the same ids until it works, and the trace they belong to.
pub(crate) struct Batch {
    pub facts: Vec<Fact>,
    pub span: Span,
}

/// Numbers the facts of one provider on one node, so that the log knows a repeat.
#[derive(Debug)]
pub(crate) struct Numbers {
    producer: String,
    next: u64,
}

impl Numbers {
    pub fn new(node: &NodeId, prefix: &str) -> Self {
        Self { producer: format!("{node}/{prefix}"), next: 0 }
    }

    fn next(&mut self) -> String {
        self.next += 1;
        format!("{}#{}", self.producer, self.next)
    }
}

impl Batch {
    pub fn new(provider: &str, changes: Changes, numbers: &mut Numbers) -> Self {
        let span = span::of_changes(provider, changes.updated.len(), changes.listed);
        let traceparent = trace::context_of(&span).traceparent;
        let listed = changes.listed.then(|| Kind::ListChanged(ListChanged { list: ListKind::Resources.into() }));
        let updated = changes.updated.into_iter().map(|uri| Kind::ResourceUpdated(ResourceUpdated { uri }));
        let fact = |kind| Fact { producer_id: numbers.next(), traceparent: traceparent.clone(), kind: Some(kind) };
        Self { facts: updated.chain(listed).map(fact).collect(), span }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} facts", self.facts.len())
    }
}

//! The prompts that are served now.

use std::{collections::BTreeMap, sync::Arc};

use switchyard_state::Entry;

use crate::prompt::Prompt;

/// Prompts by their names.
#[derive(Clone, Default)]
pub(crate) struct Catalog(BTreeMap<String, Arc<Prompt>>);

impl Catalog {
    /// Adds a prompt unless there is one of its name. `false` when there is.
    pub(crate) fn add(&mut self, prompt: Arc<Prompt>) -> bool {
        if self.0.contains_key(&prompt.entry.name) {
            return false;
        }
        self.0.insert(prompt.entry.name.clone(), prompt);
        true
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<Prompt>> {
        self.0.get(name).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// What this node offers, ordered by name.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.0.values().map(|prompt| prompt.entry.clone()).collect()
    }
}

//! The prompts that are served when no folder is configured.

use std::sync::Arc;

use crate::{catalog::Catalog, prompt::Prompt};

const SAMPLES: [&str; 3] = [
    include_str!("../samples/code_review.md"),
    include_str!("../samples/commit_message.md"),
    include_str!("../samples/explain_error.md"),
];

pub(crate) fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    for sample in SAMPLES {
        let prompt = Prompt::parse(sample).map_err(|broken| broken.reason);
        catalog.add(Arc::new(prompt.expect("the samples are part of the program and tested with it")));
    }
    catalog
}

//! One thing that is wrong with a message.

use std::fmt;

use jsonschema::{ValidationError, error::ValidationErrorKind};

/// The most of a value that a fault shows, in characters.
const SHOWN: usize = 300;

/// Where in a message something is wrong, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A JSON pointer; empty for the whole.
    pub path: String,
    /// What is wrong there.
    pub what: String,
}

impl Fault {
    /// Something wrong at `path`.
    pub(crate) fn new(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into() }
    }

    /// The same, in the message that the instance was a part of.
    pub(crate) fn below(self, path: &str) -> Self {
        Self { path: format!("{path}{}", self.path), ..self }
    }

    /// What a validator found. Of alternatives that all fail, those with the fewest faults are told.
    pub(crate) fn all_of(error: &ValidationError<'_>) -> Vec<Self> {
        if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = error.kind() {
            let alternatives = context.iter().map(|errors| errors.iter().flat_map(Self::all_of).collect::<Vec<_>>());
            // A wrong constant means that another alternative was meant.
            let nearest = alternatives.min_by_key(|faults| {
                let is_other =
                    |fault: &&Self| ["was expected", "is not one of"].iter().any(|why| fault.what.contains(why));
                (faults.iter().filter(is_other).count(), faults.len())
            });
            if let Some(nearest) = nearest {
                return nearest;
            }
        }
        let what: String = error.to_string().chars().take(SHOWN).collect();
        vec![Self::new(error.instance_path().as_str(), what)]
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at `{}`: {}", self.path, self.what)
    }
}

//! Where a value stands in the configuration, such as `resources[0].path`.

use std::fmt;

/// The way from the root of the configuration to one value. The empty path is the configuration itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(Vec<Step>);

/// One step of a [`KeyPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    /// Into a section.
    Key(String),
    /// Into a list.
    Item(usize),
}

impl KeyPath {
    /// The path of keys that `text` joins with dots, such as `server.port`.
    pub(crate) fn of_keys(text: &str) -> Self {
        Self(text.split('.').map(|key| Step::Key(key.to_owned())).collect())
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    pub(crate) fn item(&self, index: usize) -> Self {
        self.with(Step::Item(index))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The path of what holds this value; `None` at the root.
    pub(crate) fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// Whether this is `other`, or a section or list around it.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// The keys on the way, without the items of lists.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item(_) => None,
        })
    }

    pub(crate) fn is_in_list(&self) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Item(_)))
    }

    /// The last key on the way; `None` when there is none.
    pub(crate) fn last_key(&self) -> Option<&str> {
        match self.0.last()? {
            Step::Key(key) => Some(key),
            Step::Item(_) => None,
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return formatter.write_str("the configuration");
        }
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => formatter.write_str(key)?,
                Step::Key(key) => write!(formatter, ".{key}")?,
                Step::Item(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

//! Who asks.

/// The user or program behind a request, once it has been authenticated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Principal {
    /// Names it within whoever vouches for it; empty for anonymous.
    pub id: String,
    /// What it may do, in the words of the configuration.
    pub roles: Vec<String>,
}

impl Principal {
    /// Somebody unknown.
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// Whether nobody vouches for it.
    pub fn is_anonymous(&self) -> bool {
        self.id.is_empty()
    }
}

//! The requests that clients send, as a table of facts.

use crate::Revision;

/// A request that this server answers in some revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each is the method it is named after
pub enum Method {
    Initialize,
    Ping,
    Discover,
    ToolsList,
    ToolsCall,
    ResourcesList,
    ResourcesRead,
    ResourceTemplatesList,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    SubscriptionsListen,
    PromptsList,
    PromptsGet,
    Complete,
    LoggingSetLevel,
    TasksGet,
    TasksUpdate,
    TasksCancel,
}

/// Who may keep an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheScope {
    /// Anybody.
    Public,
    /// Only the one who asked, because the answer depends on who that is.
    Private,
}

impl CacheScope {
    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 18] = [
        Self::Initialize,
        Self::Ping,
        Self::Discover,
        Self::ToolsList,
        Self::ToolsCall,
        Self::ResourcesList,
        Self::ResourcesRead,
        Self::ResourceTemplatesList,
        Self::ResourcesSubscribe,
        Self::ResourcesUnsubscribe,
        Self::SubscriptionsListen,
        Self::PromptsList,
        Self::PromptsGet,
        Self::Complete,
        Self::LoggingSetLevel,
        Self::TasksGet,
        Self::TasksUpdate,
        Self::TasksCancel,
    ];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::Discover => "server/discover",
            Self::ToolsList => "tools/list",
            Self::ToolsCall => "tools/call",
            Self::ResourcesList => "resources/list",
            Self::ResourcesRead => "resources/read",
            Self::ResourceTemplatesList => "resources/templates/list",
            Self::ResourcesSubscribe => "resources/subscribe",
            Self::ResourcesUnsubscribe => "resources/unsubscribe",
            Self::SubscriptionsListen => "subscriptions/listen",
            Self::PromptsList => "prompts/list",
            Self::PromptsGet => "prompts/get",
            Self::Complete => "completion/complete",
            Self::LoggingSetLevel => "logging/setLevel",
            Self::TasksGet => "tasks/get",
            Self::TasksUpdate => "tasks/update",
            Self::TasksCancel => "tasks/cancel",
        }
    }

    /// The method of that name, where `revision` has it.
    pub fn named(name: &str, revision: Revision) -> Option<Self> {
        let method = Self::ALL.into_iter().find(|method| method.name() == name)?;
        method.exists_in(revision).then_some(method)
    }

    /// Whether a revision has this method.
    pub const fn exists_in(self, revision: Revision) -> bool {
        match self {
            Self::Initialize
            | Self::Ping
            | Self::ResourcesSubscribe
            | Self::ResourcesUnsubscribe
            | Self::LoggingSetLevel => revision.has_sessions(),
            Self::Discover | Self::SubscriptionsListen | Self::TasksGet | Self::TasksUpdate | Self::TasksCancel => {
                !revision.has_sessions()
            }
            _ => true,
        }
    }

    /// Whether it runs as a call of its own: it may take long, report what it does, ask its client, and be cancelled.
    pub const fn is_call(self) -> bool {
        matches!(self, Self::ToolsCall | Self::ResourcesRead | Self::PromptsGet)
    }

    /// The parameter that the `Mcp-Name` header repeats, where it must.
    pub const fn named_by(self) -> Option<&'static str> {
        match self {
            Self::ToolsCall | Self::PromptsGet => Some("name"),
            Self::ResourcesRead => Some("uri"),
            Self::TasksGet | Self::TasksUpdate | Self::TasksCancel => Some("taskId"),
            _ => None,
        }
    }

    /// How long a client may keep the answer without asking again, in milliseconds, or `None` where an answer
    /// says nothing of it. Lists also announce their changes; a resource may change at any moment.
    pub const fn ttl_ms(self) -> Option<u64> {
        match self {
            Self::Discover => Some(3_600_000),
            Self::ToolsList | Self::PromptsList | Self::ResourceTemplatesList => Some(60_000),
            Self::ResourcesList => Some(5_000),
            Self::ResourcesRead => Some(0),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handshake_belongs_to_sessions_and_discovery_to_the_stateless_revision() {
        assert_eq!(Method::named("initialize", Revision::V2026_07_28), None);
        assert_eq!(Method::named("ping", Revision::V2026_07_28), None);
        assert_eq!(Method::named("server/discover", Revision::V2025_11_25), None);
        assert_eq!(Method::named("resources/subscribe", Revision::V2025_11_25), Some(Method::ResourcesSubscribe));
        assert_eq!(Method::named("tools/call", Revision::V2026_07_28), Some(Method::ToolsCall));
        assert_eq!(Method::named("TOOLS/CALL", Revision::V2026_07_28), None);
    }

    #[test]
    fn tasks_are_looked_at_in_the_stateless_revision_only_and_never_listed() {
        assert_eq!(Method::named("tasks/get", Revision::V2026_07_28), Some(Method::TasksGet));
        for unknown in ["tasks/get", "tasks/update", "tasks/cancel"] {
            assert_eq!(Method::named(unknown, Revision::V2025_11_25), None);
        }
        for removed in ["tasks/result", "tasks/list"] {
            assert_eq!(Method::named(removed, Revision::V2026_07_28), None);
        }
    }
}

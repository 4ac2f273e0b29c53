//! The revisions of the protocol, as a table of facts.

use std::fmt;

/// A revision of the protocol that this server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first: stdio and HTTP+SSE.
    V2024_11_05,
    /// Streamable HTTP, batches, tool annotations, audio.
    V2025_03_26,
    /// Structured output, resource links, the version header; no more batches.
    V2025_06_18,
    /// Icons; argument errors are results.
    V2025_11_25,
    /// Stateless: no handshake, no sessions.
    V2026_07_28,
}

/// The newest revision with a handshake: what a client is offered that asks for one we do not know.
pub const LATEST_LEGACY: Revision = Revision::V2025_11_25;

impl Revision {
    /// Every revision, newest first.
    pub const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of that name, if this server speaks it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// Its place in a table with an entry for each revision.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether a client opens a session with `initialize`, or describes itself on every request.
    pub const fn has_sessions(self) -> bool {
        !matches!(self, Self::V2026_07_28)
    }

    /// Whether an unsupported `MCP-Protocol-Version` header of a request in a session is an error; before, the
    /// header had no meaning.
    pub const fn checks_version_header(self) -> bool {
        matches!(self, Self::V2025_06_18 | Self::V2025_11_25)
    }

    /// The JSON-RPC code for a resource that does not exist.
    pub const fn resource_not_found(self) -> i32 {
        match self {
            Self::V2026_07_28 => -32602,
            _ => -32002,
        }
    }

    /// Whether arguments that a tool's schema rejects are the tool's failed result, which a model can read and
    /// mend, or a protocol error.
    pub const fn rejects_arguments_as_result(self) -> bool {
        matches!(self, Self::V2025_11_25 | Self::V2026_07_28)
    }

    /// Whether an error may leave out the id of a request whose id nobody could read; before, the schema demands
    /// an id, and `null` is what JSON-RPC says.
    pub const fn omits_unknown_id(self) -> bool {
        matches!(self, Self::V2025_11_25 | Self::V2026_07_28)
    }

    /// Whether every result says its type, and lists and reads say how long they may be kept.
    pub const fn has_result_type(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }

    /// Whether tools have `annotations`, and content may be audio.
    pub const fn has_tool_annotations(self) -> bool {
        !matches!(self, Self::V2024_11_05)
    }

    /// Whether progress may come with words.
    pub const fn has_progress_messages(self) -> bool {
        !matches!(self, Self::V2024_11_05)
    }

    /// Whether there are `title`, `_meta` on definitions, resource links, `lastModified` and structured output.
    pub const fn has_titles(self) -> bool {
        matches!(self, Self::V2025_06_18 | Self::V2025_11_25 | Self::V2026_07_28)
    }

    /// Whether definitions have `icons`, and `initialize` names a description of the server.
    pub const fn has_icons(self) -> bool {
        matches!(self, Self::V2025_11_25 | Self::V2026_07_28)
    }

    /// Whether a client may be asked to fill in a form.
    pub const fn has_elicitation(self) -> bool {
        !matches!(self, Self::V2024_11_05 | Self::V2025_03_26)
    }

    /// Whether a client may be asked to visit a page.
    pub const fn has_url_elicitation(self) -> bool {
        matches!(self, Self::V2025_11_25 | Self::V2026_07_28)
    }

    /// Whether forms propose values of every kind, and have choices with titles and several choices at once.
    pub const fn has_form_choices(self) -> bool {
        matches!(self, Self::V2025_11_25 | Self::V2026_07_28)
    }

    /// Whether a client's model may be given tools, and messages to it have several parts.
    pub const fn has_sampling_tools(self) -> bool {
        matches!(self, Self::V2025_11_25 | Self::V2026_07_28)
    }

    /// Whether several messages may come in one body, as an array.
    pub const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// Whether a client may go on with a stream that broke off, by the id of the last event that it got.
    pub const fn can_resume(self) -> bool {
        matches!(self, Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25)
    }

    /// Whether a stream begins with an event that has an id and no data, and says when to come back. Clients of older
    /// revisions take such an event for a message.
    pub const fn primes_streams(self) -> bool {
        matches!(self, Self::V2025_11_25)
    }

    /// Whether structured output and its schema may be anything, or only objects.
    pub const fn structures_anything(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_is_found_by_its_name_and_no_other() {
        for revision in Revision::ALL {
            assert_eq!(Revision::named(revision.name()), Some(revision));
        }
        assert_eq!(Revision::named("2024-10-07"), None);
        assert_eq!(Revision::named(""), None);
    }

    #[test]
    fn only_the_newest_has_no_sessions() {
        let with_sessions: Vec<_> = Revision::ALL.into_iter().filter(|revision| revision.has_sessions()).collect();

        assert_eq!(with_sessions[0], LATEST_LEGACY);
        assert_eq!(with_sessions.len(), 4);
    }
}

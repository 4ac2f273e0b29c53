//! Names of events: what a client of a session sends back as `Last-Event-ID` when its stream broke off.
//!
//! A name says which stream the event was of, so that only that stream's events are ever repeated. It comes back from
//! a client, so nothing in it is trusted: whoever looks for its stream looks within the client's own session.

use std::fmt;

use switchyard_state::Offset;

/// How long the name of an event may be, in bytes. Ours are shorter.
const LONGEST: usize = 512;

/// One event of a session's streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventId {
    /// Of the stream that carries the reply to a call.
    Reply {
        /// The stream.
        stream: String,
        /// The event's number in the reply's log; 0 is the place before the first.
        number: u64,
    },
    /// Of a standing stream.
    Standing(Passed),
}

/// A place that a standing stream has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The stream.
    pub stream: String,
    /// The epoch of the event log.
    pub epoch: String,
    /// The offset there.
    pub offset: Offset,
}

impl EventId {
    /// Reads what a client sent back. `None` for what was never a name of ours.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let (kind, rest) = text.split_once('/')?;
        let (rest, number) = rest.rsplit_once('/')?;
        let number = number.parse().ok()?;
        let id = match kind {
            "reply" => Self::Reply { stream: rest.to_owned(), number },
            "standing" => {
                let (stream, epoch) = rest.rsplit_once('/')?;
                let (stream, epoch) = (stream.to_owned(), epoch.to_owned());
                Self::Standing(Passed { stream, epoch, offset: Offset(number) })
            }
            _ => return None,
        };
        // A number can be written in several ways, of which one is ours.
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply { stream, number } => write!(formatter, "reply/{stream}/{number}"),
            Self::Standing(Passed { stream, epoch, offset }) => {
                write!(formatter, "standing/{stream}/{epoch}/{}", offset.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_as_what_it_was_given_for() {
        let passed = Passed { stream: "node.with/slash.1".into(), epoch: "e".into(), offset: Offset(7) };
        for id in [EventId::Reply { stream: "a".into(), number: 3 }, EventId::Standing(passed)] {
            assert_eq!(EventId::parse(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn what_was_never_a_name_is_none() {
        let long = format!("reply/{}/1", "x".repeat(LONGEST));
        for text in [
            "",
            "7",
            "reply/7",
            "reply/a/-1",
            "reply/a/x",
            "reply/a/+1",
            "reply/a/01",
            "standing/a/1",
            "other/a/1",
            "réply/a/1",
            &long,
        ] {
            assert_eq!(EventId::parse(text), None, "{text}");
        }
    }
}

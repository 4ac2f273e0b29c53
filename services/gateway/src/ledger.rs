//! What is open at this gateway, for letters of other gateways to ask about: calls that run, streams that stand, and
//! conversations whose client can reach us only through whichever gateway takes its next request.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use switchyard_state::NodeId;
use tokio::sync::mpsc;

use crate::{asking::Desk, calls::CallTable};

/// How many messages of one client wait for its conversation to take them.
const MESSAGES: usize = 64;

/// The calls, streams and conversations of one gateway.
#[derive(Clone)]
pub struct Ledger {
    /// Calls that run.
    pub(crate) calls: Arc<CallTable>,
    /// Questions that wait for their clients' answers.
    pub(crate) desk: Arc<Desk>,
    streams: Arc<Mutex<HashSet<String>>>,
    conversations: Arc<Mutex<HashMap<String, mpsc::Sender<Bytes>>>>,
}

/// A stream's entry; dropping it strikes the stream out.
pub(crate) struct OpenStream {
    ledger: Ledger,
    stream: String,
}

/// A conversation's entry, with the messages that come in for it; dropping it strikes the conversation out.
pub(crate) struct OpenConversation {
    ledger: Ledger,
    conversation: String,
    messages: mpsc::Receiver<Bytes>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handed {
    /// Its conversation will take it.
    Over,
    /// Too many wait already.
    Full,
    /// No such conversation is open here.
    Nobody,
}

impl Ledger {
    /// An empty one for node `node`, for at most `max_calls` calls at a time.
    pub fn new(node: NodeId, max_calls: usize) -> Self {
        Self {
            calls: CallTable::new(max_calls),
            desk: Desk::new(node),
            streams: Arc::default(),
            conversations: Arc::default(),
        }
    }

    /// Enters a stream that is open from now on.
    pub(crate) fn open(&self, stream: &str) -> OpenStream {
        self.streams.lock().expect("nothing panics while holding it").insert(stream.to_owned());
        OpenStream { ledger: self.clone(), stream: stream.to_owned() }
    }

    /// Whether a stream is open here.
    pub(crate) fn is_open(&self, stream: &str) -> bool {
        self.streams.lock().expect("nothing panics while holding it").contains(stream)
    }

    /// Enters a conversation that takes messages from now on.
    pub(crate) fn converse(&self, conversation: &str) -> OpenConversation {
        let (sender, messages) = mpsc::channel(MESSAGES);
        self.conversations.lock().expect("nothing panics while holding it").insert(conversation.to_owned(), sender);
        OpenConversation { ledger: self.clone(), conversation: conversation.to_owned(), messages }
    }

    /// Hands a message to a conversation of this gateway.
    pub(crate) fn hand_over(&self, conversation: &str, message: Bytes) -> Handed {
        let conversations = self.conversations.lock().expect("nothing panics while holding it");
        let Some(conversation) = conversations.get(conversation) else { return Handed::Nobody };
        match conversation.try_send(message) {
            Ok(()) => Handed::Over,
            Err(mpsc::error::TrySendError::Full(_)) => Handed::Full,
            Err(mpsc::error::TrySendError::Closed(_)) => Handed::Nobody,
        }
    }
}

impl OpenConversation {
    /// The next message. Dropping the future loses none.
    pub async fn next(&mut self) -> Bytes {
        self.messages.recv().await.expect("the ledger keeps the sender for as long as this entry lives")
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.ledger.streams.lock().expect("nothing panics while holding it").remove(&self.stream);
    }
}

impl Drop for OpenConversation {
    fn drop(&mut self) {
        let mut conversations = self.ledger.conversations.lock().expect("nothing panics while holding it");
        conversations.remove(&self.conversation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_open_for_as_long_as_its_entry_lives() {
        let ledger = Ledger::new(NodeId("n".into()), 1);
        let entry = ledger.open("a");

        assert!(ledger.is_open("a"));
        drop(entry);
        assert!(!ledger.is_open("a"));
    }

    #[tokio::test]
    async fn a_conversation_takes_messages_for_as_long_as_its_entry_lives() {
        let ledger = Ledger::new(NodeId("n".into()), 1);
        let mut entry = ledger.converse("a");

        assert_eq!(ledger.hand_over("a", Bytes::from_static(b"1")), Handed::Over);
        assert_eq!(ledger.hand_over("b", Bytes::from_static(b"2")), Handed::Nobody);
        assert_eq!(entry.next().await, "1");

        drop(entry);
        assert_eq!(ledger.hand_over("a", Bytes::from_static(b"3")), Handed::Nobody);
    }

    #[test]
    fn messages_that_nobody_takes_are_bounded() {
        let ledger = Ledger::new(NodeId("n".into()), 1);
        let _entry = ledger.converse("a");

        let handed: Vec<_> = (0..=MESSAGES).map(|_| ledger.hand_over("a", Bytes::new())).collect();

        assert_eq!(handed[MESSAGES - 1], Handed::Over);
        assert_eq!(handed[MESSAGES], Handed::Full);
    }
}

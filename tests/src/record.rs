//! What a client said, by which everything that it hears is judged.
//!
//! Each message that reaches a client of these tests is held against the official schema of the revision that it was
//! sent in: the one that its session negotiated, or the stateless one where the request that it belongs to describes
//! itself. What breaks a rule fails the test at once.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use switchyard_schemas::{Fault, Schema};

use crate::{MODERN, meta};

/// By whose rules a server speaks to somebody whose revision is not known yet: the newest with sessions.
const UNDECIDED: &str = "2025-11-25";

/// The record of one session, one connection, or one request that belongs to neither. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<Said>>);

#[derive(Debug, Default)]
struct Said {
    /// What the session negotiated.
    revision: Option<&'static str>,
    /// The requests by the JSON text of their ids; an id may have been used again.
    asked: HashMap<String, Vec<Asked>>,
    /// The revisions of requests by the JSON text of their progress tokens.
    tokens: HashMap<String, Option<&'static str>>,
    /// Whether a stateless request was among them.
    is_mixed: bool,
    /// Messages of a server that is none of ours are passed on to the client.
    is_relayed: bool,
}

#[derive(Clone, Debug)]
struct Asked {
    method: String,
    /// `None` for that of the session.
    revision: Option<&'static str>,
}

/// The records of sessions by their ids, which nobody can guess, so all of a process share one table.
static SESSIONS: LazyLock<Mutex<HashMap<String, Record>>> = LazyLock::new(Mutex::default);

impl Record {
    /// The record that a request over HTTP belongs to. `version` and `session` are what its headers name, `stream` is
    /// the connection that its address names, where HTTP+SSE gave it out.
    pub fn of(body: &[u8], version: Option<&str>, session: Option<&str>, stream: Option<&str>) -> Self {
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let known = |id: &str| sessions().get(id).cloned().unwrap_or_default();
        let record = match (stream, session) {
            (Some(stream), _) => known(stream),
            _ if is_modern(&message) => Self::stateless(),
            _ if message["method"] == "initialize" => Self::default(),
            _ if version == Some(MODERN) => Self::stateless(),
            (None, Some(session)) => known(session),
            (None, None) => Self::default(),
        };
        record.sent(body);
        record
    }

    fn stateless() -> Self {
        Self(Arc::new(Mutex::new(Said { revision: Some(MODERN), ..Said::default() })))
    }

    /// From now on, whoever names this session continues this record.
    pub fn opened(&self, session: &str) {
        sessions().insert(session.to_owned(), self.clone());
    }

    /// What is heard from now on was said by somebody who is not tested, and passed on; it is not judged.
    pub fn relay(&self) {
        self.said().is_relayed = true;
    }

    /// Notes what the client says. What is no message says nothing.
    pub fn sent(&self, bytes: &[u8]) {
        let mut said = self.said();
        match serde_json::from_slice(bytes) {
            Ok(Value::Array(messages)) => messages.iter().for_each(|message| said.note(message)),
            Ok(message) => said.note(&message),
            Err(_) => {}
        }
    }

    /// Judges what the client hears.
    ///
    /// # Panics
    /// When it breaks a rule of its revision.
    pub fn heard(&self, message: &Value) {
        let failure = {
            let mut said = self.said();
            said.negotiate(message);
            if said.is_relayed { None } else { said.failure(message) }
        };
        if let Some(failure) = failure {
            panic!("{failure}");
        }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        // Another test's failure must not spread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    fn note(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else { return };
        let revision = is_modern(message).then_some(MODERN);
        self.is_mixed |= revision.is_some();
        if let Some(token) = message.pointer("/params/_meta/progressToken") {
            self.tokens.insert(token.to_string(), revision);
        }
        if let Some(id) = message.get("id") {
            let asked = Asked { method: method.to_owned(), revision };
            self.asked.entry(id.to_string()).or_default().push(asked);
        }
    }

    /// The answer to a handshake decides by which rules it is judged itself.
    fn negotiate(&mut self, message: &Value) {
        let is_handshake = |asked: &Asked| asked.method == "initialize" && asked.revision.is_none();
        let chosen = message.pointer("/result/protocolVersion").and_then(Value::as_str);
        let answers = self.asked.get(&message["id"].to_string());
        if let (Some(chosen), true) = (chosen, answers.is_some_and(|asked| asked.iter().any(is_handshake))) {
            let schema = Schema::of(chosen).unwrap_or_else(|| panic!("`{chosen}` is no revision: {message}"));
            self.revision = Some(schema.revision());
        }
    }

    /// What is wrong with a message, unless it is right by the rules of one of those that it may belong to. The messages
    /// of a batch belong to requests of their own.
    fn failure(&self, message: &Value) -> Option<String> {
        if let Value::Array(messages) = message
            && !messages.is_empty()
            && self.revision.and_then(Schema::of).is_some_and(Schema::has_batches)
        {
            return messages.iter().find_map(|message| self.failure(message));
        }
        let mut first = None;
        for (revision, asked) in self.judges(message) {
            let schema = Schema::of(revision).expect("revisions come from the schemas");
            let faults = schema.message(message, asked.as_deref());
            if faults.is_empty() {
                return None;
            }
            first.get_or_insert_with(|| told(revision, asked.as_deref(), &faults, message));
        }
        first
    }

    /// The revisions by whose rules a message may have been sent, each with the method of the request it answers.
    fn judges(&self, message: &Value) -> Vec<(&'static str, Option<String>)> {
        let of_session = self.revision.unwrap_or(UNDECIDED);
        if message.get("method").is_none() && !message.is_array() {
            let asked = message.get("id").and_then(|id| self.asked.get(&id.to_string()));
            let judge = |asked: &Asked| (asked.revision.unwrap_or(of_session), Some(asked.method.clone()));
            return asked.map_or_else(|| vec![(of_session, None)], |asked| asked.iter().map(judge).collect());
        }
        if message.pointer("/params/_meta").is_some_and(|tags| tags.get(meta("subscriptionId")).is_some()) {
            return vec![(MODERN, None)];
        }
        let token = message.pointer("/params/progressToken");
        if let Some(revision) = token.and_then(|token| self.tokens.get(&token.to_string())) {
            return vec![(revision.unwrap_or(of_session), None)];
        }
        let modern = self.is_mixed.then_some((MODERN, None));
        [(of_session, None)].into_iter().chain(modern).collect()
    }
}

/// Whether a message describes itself, as those of the stateless revision do.
fn is_modern(message: &Value) -> bool {
    let Some(tags) = message.pointer("/params/_meta") else { return false };
    ["protocolVersion", "clientCapabilities", "clientInfo", "logLevel"].iter().any(|tag| tags.get(meta(tag)).is_some())
}

fn told(revision: &str, asked: Option<&str>, faults: &[Fault], message: &Value) -> String {
    let faults: Vec<_> = faults.iter().map(|fault| format!("\n  {fault}")).collect();
    let about = asked.map(|method| format!(" in answer to `{method}`")).unwrap_or_default();
    format!("the server sent what {revision} does not allow{about}:{}\n  in {message}", faults.concat())
}

fn sessions() -> MutexGuard<'static, HashMap<String, Record>> {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

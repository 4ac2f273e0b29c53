//! Questions of a call to its client, in the way of the client's era.
//!
//! A stateless client gets them as the call's result, and comes again with its answers and the sealed state. A client
//! with a session gets each as a request on the call's own stream; its answers come in at any gateway and find their
//! way by the question's id, which names this node. What a client cannot be asked is refused at once.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use serde_json::{Map, Value, json};
use switchyard_mcp::{
    Id, Revision, RpcError,
    questions::{self, Questions},
    results,
};
use switchyard_proto::v1::NeedInput;
use switchyard_state::NodeId;
use tokio::sync::oneshot;

use crate::{
    calls::Round,
    seal::{Purpose, Seal},
};

/// The most that a service may want to know again in a later round, in bytes.
const MAX_STATE: usize = 64 * 1024;

/// How a call's client is asked.
pub enum Asking {
    /// By the call's result.
    ByResult {
        /// Seals what has to come back.
        seal: Arc<Seal>,
        /// What the sealed state is good for.
        purpose: Purpose,
        /// What the client can do.
        capabilities: Value,
    },
    /// By requests on the call's stream.
    OnStream {
        /// Where answers are waited for.
        desk: Arc<Desk>,
        /// The session.
        session: String,
        /// What the client can do.
        capabilities: Value,
    },
}

/// How a call goes on once its service asked something.
pub enum Asked {
    /// It is over; this is its result.
    Result(String),
    /// It waits for answers to these messages.
    Questions(Vec<String>, Waiting),
}

impl Asking {
    /// Asks what a service wants to know.
    ///
    /// # Errors
    /// -32021 where a stateless client lacks an ability, -32603 where the service asked in a form that nobody knows.
    pub fn ask(&self, need: &NeedInput, revision: Revision) -> Result<Asked, RpcError> {
        if need.state.len() > MAX_STATE {
            return Err(RpcError::internal("the service wants to keep more than 64 KiB between two rounds"));
        }
        let asked = Questions::read(&need.requests_json)?;
        match self {
            Self::ByResult { seal, purpose, capabilities } => {
                if let Some(missing) = asked.missing(capabilities) {
                    let error = RpcError::new(
                        RpcError::MISSING_CAPABILITY,
                        "this needs an ability that the client did not declare",
                    );
                    return Err(error.with_data(json!({ "requiredCapabilities": missing })));
                }
                let state = seal.close(&need.state, purpose)?;
                Ok(Asked::Result(results::input_required(&asked.json(), &state, revision)))
            }
            Self::OnStream { desk, session, capabilities } => {
                Ok(desk.ask(session, &asked, capabilities, need.state.clone(), revision))
            }
        }
    }
}

/// Where the answers of this node's clients are waited for.
pub struct Desk {
    node: NodeId,
    next: AtomicU64,
    /// By session and question id; an entry leaves with its answer, or with the call that waits for it.
    open: Mutex<HashMap<(String, String), oneshot::Sender<Value>>>,
}

/// Answers that are waited for, and those that are there.
pub struct Waiting {
    answers: Map<String, Value>,
    open: Vec<Open>,
    state: Bytes,
}

/// A question without an answer; dropping it gives it up.
struct Open {
    key: String,
    answer: oneshot::Receiver<Value>,
    desk: Arc<Desk>,
    entry: (String, String),
}

impl Desk {
    /// Nobody has been asked yet.
    pub fn new(node: NodeId) -> Arc<Self> {
        Arc::new(Self { node, next: AtomicU64::new(0), open: Mutex::default() })
    }

    fn ask(
        self: &Arc<Self>,
        session: &str,
        asked: &Questions,
        capabilities: &Value,
        state: Bytes,
        revision: Revision,
    ) -> Asked {
        let mut waiting = Waiting { answers: Map::new(), open: Vec::new(), state };
        let mut messages = Vec::new();
        for (key, question) in asked.iter() {
            let id = format!("{}.{}", self.node, self.next.fetch_add(1, Ordering::Relaxed));
            let message = match questions::missing(question, capabilities) {
                None => questions::request(&id, question, revision),
                Some(_) => None,
            };
            let Some(message) = message else {
                let refused = questions::refused(
                    RpcError::METHOD_NOT_FOUND,
                    "the client did not declare that it can be asked this",
                );
                waiting.answers.insert(key.clone(), refused);
                continue;
            };
            let (sender, answer) = oneshot::channel();
            let entry = (session.to_owned(), id);
            self.open.lock().expect("nothing panics while holding it").insert(entry.clone(), sender);
            waiting.open.push(Open { key: key.clone(), answer, desk: self.clone(), entry });
            messages.push(message);
        }
        Asked::Questions(messages, waiting)
    }

    /// The node that asked the question of this id, or `None` when none of ours did.
    pub fn node_of(id: &Id) -> Option<NodeId> {
        let id: String = serde_json::from_str(id.as_json()).ok()?;
        id.split_once('.').map(|(node, _)| NodeId(node.to_owned()))
    }

    /// Whether a node is the one of this desk.
    pub fn is_of(&self, node: &NodeId) -> bool {
        self.node == *node
    }

    /// Hands a client's answer to the call that waits for it. `false` when none does.
    pub fn answer(&self, session: &str, id: &Id, message: &[u8]) -> bool {
        let Ok(id) = serde_json::from_str::<String>(id.as_json()) else { return false };
        let waiting = self.open.lock().expect("nothing panics while holding it").remove(&(session.to_owned(), id));
        waiting.is_some_and(|waiting| waiting.send(questions::answered(message)).is_ok())
    }
}

impl Waiting {
    /// Resolves when every question has its answer. Dropping the future loses none.
    pub async fn answered(&mut self) {
        while let Some(open) = self.open.last_mut() {
            let answer = (&mut open.answer).await;
            let open = self.open.pop().expect("it was just looked at");
            let answer = answer.unwrap_or_else(|_| questions::refused(RpcError::INTERNAL, "the question was given up"));
            self.answers.insert(open.key.clone(), answer);
        }
    }

    /// The round that begins with these answers.
    pub fn into_round(mut self) -> Round {
        let answers = std::mem::take(&mut self.answers);
        Round { responses: Value::Object(answers).to_string().into(), state: self.state.clone() }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.desk.open.lock().expect("nothing panics while holding it").remove(&self.entry);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn asked(capabilities: Value) -> (Arc<Desk>, Vec<String>, Waiting) {
        let desk = Desk::new(NodeId("n1".into()));
        let questions = json!({ "name": { "method": "elicitation/create", "params": { "message": "?" } } });
        let questions = Questions::read(questions.to_string().as_bytes()).unwrap();
        match desk.ask("s", &questions, &capabilities, Bytes::from("state"), Revision::V2025_11_25) {
            Asked::Questions(messages, waiting) => (desk, messages, waiting),
            Asked::Result(_) => panic!("it asks on the stream"),
        }
    }

    fn id_of(message: &str) -> Id {
        let message: Value = serde_json::from_str(message).unwrap();
        Id::from_json(&message["id"].to_string()).unwrap()
    }

    #[tokio::test]
    async fn an_answer_of_the_same_session_reaches_the_call_once() {
        let (desk, messages, mut waiting) = asked(json!({ "elicitation": {} }));
        let id = id_of(&messages[0]);
        assert_eq!(Desk::node_of(&id), Some(NodeId("n1".into())));

        assert!(!desk.answer("other", &id, b"{}"));
        assert!(desk.answer("s", &id, br#"{"result":{"action":"accept"}}"#));
        assert!(!desk.answer("s", &id, br#"{"result":{}}"#));

        waiting.answered().await;
        let round = waiting.into_round();
        assert_eq!(round.responses, r#"{"name":{"action":"accept"}}"#);
        assert_eq!(round.state, "state");
    }

    #[tokio::test]
    async fn a_client_that_cannot_be_asked_refuses_at_once() {
        let (_, messages, mut waiting) = asked(json!({}));

        waiting.answered().await;

        assert!(messages.is_empty());
        assert!(String::from_utf8_lossy(&waiting.into_round().responses).contains("error"));
    }

    #[test]
    fn a_call_that_ends_gives_its_questions_up() {
        let (desk, messages, waiting) = asked(json!({ "elicitation": {} }));

        drop(waiting);

        assert!(!desk.answer("s", &id_of(&messages[0]), b"{}"));
        assert!(desk.open.lock().unwrap().is_empty());
    }
}

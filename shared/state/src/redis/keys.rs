//! The names of everything that a cluster keeps in Redis.
//!
//! All begin with the one hash tag `{switchyard:NAME}:`, so they lie in one slot and one script may change any of
//! them. Nothing stays for ever:
//!
//! | key              | type   | what                                                   | goes away                                  |
//! |------------------|--------|--------------------------------------------------------|--------------------------------------------|
//! | `log`            | stream | the event log; ids are `OFFSET-0`                      | entries by number and age; with `log:head` |
//! | `log:head`       | hash   | `epoch`, and the `last` offset                         | [`IDLE`] after the last append or read     |
//! | `log:seen:ID`    | string | the epoch and offset at which a producer's ID came     | after a minute                             |
//! | `session:ID`     | hash   | one session; see `record.rs`                           | its time to live after its last touch      |
//! | `nodes`          | hash   | node → its record, as JSON                             | with the node; [`IDLE`] after the last one |
//! | `nodes:offers`   | hash   | node → `[[kind:name, digest, since], …]`               | likewise                                   |
//! | `nodes:heard`    | zset   | node → when it was last heard of, in ms                | likewise                                   |
//! | `nodes:gateways` | hash   | gateway → the catalogue version that it reported       | likewise                                   |
//! | `nodes:listed`   | hash   | `kind:name` → the listed digest                        | likewise                                   |
//! | `nodes:state`    | hash   | `version`, `generation`, `heard`, `grace` (both in ms) | [`IDLE`] after the last sign of life       |
//! | `lease:NAME`     | string | the node that holds a lease                            | the time to live it was taken for          |
//! | `secret:NAME`    | zset   | key → when it is no longer wanted, in us               | [`IDLE`] after it was last asked for       |
//! | `replies:ID`     | hash   | a session's replies; see `reply_head.lua`              | with the last of them, or the session      |
//! | `reply:ID:REPLY` | stream | a reply's events; ids are `NUMBER-0`                   | some minutes after its end, or the session |
//! | `task:ID`        | hash   | one task; see `task_record.rs`                         | an hour after its time to live at most     |
//! | `tasks`          | zset   | task → when its time to live is over, in ms            | with the last of them                      |
//! | `tasks:WHO`      | zset   | the same of one principal                              | likewise                                   |

use std::time::Duration;

use crate::{CENTURY, ReplyId, SessionId, StoreError, TaskId};

/// How long the log, the registry and a secret outlive the last use that any node made of them.
pub const IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// The keys of one cluster.
pub struct Keys {
    prefix: String,
    pub log: String,
    pub head: String,
    pub nodes: String,
    pub offers: String,
    pub heard: String,
    pub gateways: String,
    pub listed: String,
    pub state: String,
    pub tasks: String,
}

impl Keys {
    pub fn new(cluster: &str) -> Result<Self, StoreError> {
        let fits = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
        if !(1..=64).contains(&cluster.len()) || !cluster.chars().all(fits) {
            let reason = format!("`{cluster}` is not 1 to 64 letters, digits, dots, dashes and underscores");
            return Err(StoreError::Option { option: "cluster", reason });
        }
        let prefix = format!("{{switchyard:{cluster}}}:");
        let key = |name: &str| format!("{prefix}{name}");
        Ok(Self {
            log: key("log"),
            head: key("log:head"),
            nodes: key("nodes"),
            offers: key("nodes:offers"),
            heard: key("nodes:heard"),
            gateways: key("nodes:gateways"),
            listed: key("nodes:listed"),
            state: key("nodes:state"),
            tasks: key("tasks"),
            prefix,
        })
    }

    pub fn producer(&self, id: &str) -> String {
        format!("{}log:seen:{id}", self.prefix)
    }

    pub fn session(&self, id: &SessionId) -> String {
        format!("{}session:{id}", self.prefix)
    }

    /// The heads of a session's replies.
    pub fn replies(&self, session: &SessionId) -> String {
        format!("{}replies:{session}", self.prefix)
    }

    /// What the names of the event logs of a session's replies begin with.
    pub fn reply_prefix(&self, session: &SessionId) -> String {
        format!("{}reply:{session}:", self.prefix)
    }

    pub fn reply(&self, id: &ReplyId) -> String {
        format!("{}{}", self.reply_prefix(&id.session), id.stream)
    }

    /// What the keys of all tasks begin with.
    pub fn task_prefix(&self) -> String {
        format!("{}task:", self.prefix)
    }

    pub fn task(&self, id: &TaskId) -> String {
        format!("{}{id}", self.task_prefix())
    }

    pub fn tasks_of(&self, principal: &str) -> String {
        format!("{}tasks:{principal}", self.prefix)
    }

    pub fn secret(&self, name: &str) -> String {
        format!("{}secret:{name}", self.prefix)
    }

    pub fn lease(&self, name: &str) -> String {
        format!("{}lease:{name}", self.prefix)
    }
}

/// A duration as Redis takes it: in milliseconds, and at least one, for none would mean for ever or be refused.
pub fn millis(duration: Duration) -> i64 {
    let millis = duration.clamp(Duration::from_millis(1), CENTURY).as_millis();
    i64::try_from(millis).expect("a century fits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_of_a_cluster_share_one_hash_tag_whatever_a_client_calls_its_session() {
        let keys = Keys::new("blue").expect("a good name");

        for key in [&keys.log, &keys.state, &keys.session(&SessionId("{other}".into())), &keys.lease("}{")] {
            assert!(key.starts_with("{switchyard:blue}:"), "{key}");
        }
    }

    #[test]
    fn a_name_that_would_break_the_hash_tag_is_refused() {
        for name in ["", "a}b", "a b", &"x".repeat(65)] {
            assert!(Keys::new(name).is_err(), "{name}");
        }
    }
}

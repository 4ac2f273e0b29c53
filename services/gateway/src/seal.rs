//! Sealed state: what a stateless client carries from one round of a call to the next, and can neither read nor change.
//!
//! Bound to who asked, what for, and a time; so it is of no use to anybody else, for anything else, or for ever. Every
//! gateway has the cluster's keys, so any of them opens what another one closed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};
use serde_json::Value;
use switchyard_mcp::RpcError;

/// The bytes of the time until which a state is good.
const EXPIRY_LEN: usize = 8;

/// What a state is good for.
#[derive(Clone, Debug)]
pub struct Purpose(Vec<u8>);

impl Purpose {
    /// The same request of the same principal. Arguments are compared by value, whatever their layout; those that
    /// cannot be read here, such as very deep ones, to the letter.
    pub fn new(principal: &str, method: &str, name: &str, arguments: &str) -> Self {
        let read = serde_json::from_str::<Value>(arguments);
        let canonical = read.map_or_else(|_| arguments.to_owned(), |arguments| canonical(&arguments).to_string());
        let mut purpose = Vec::new();
        for part in [principal, method, name] {
            purpose.extend_from_slice(&(part.len() as u64).to_be_bytes());
            purpose.extend_from_slice(part.as_bytes());
        }
        purpose.extend_from_slice(digest(&SHA256, canonical.as_bytes()).as_ref());
        Self(purpose)
    }
}

/// The same value with the members of every object in order.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            Value::Object(sorted.into_iter().map(|(key, value)| (key.clone(), canonical(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

/// Closes with the newest key, and opens with any.
pub struct Seal {
    keys: Vec<LessSafeKey>,
    random: SystemRandom,
    /// How long a client may take to answer.
    lifetime: Duration,
}

impl Seal {
    /// With these keys, the newest first. What it closes is good for `lifetime`, to the second.
    pub fn new(keys: &[[u8; 32]], lifetime: Duration) -> Self {
        let key = |bytes: &[u8; 32]| {
            let key = UnboundKey::new(&CHACHA20_POLY1305, bytes).expect("32 bytes are a key of this algorithm");
            LessSafeKey::new(key)
        };
        Self { keys: keys.iter().map(key).collect(), random: SystemRandom::new(), lifetime }
    }

    /// Closes a state.
    ///
    /// # Errors
    /// -32603 when there is no key or no randomness.
    pub fn close(&self, state: &[u8], purpose: &Purpose) -> Result<String, RpcError> {
        let failed = || RpcError::internal("the state of this call could not be sealed");
        let key = self.keys.first().ok_or_else(failed)?;
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).map_err(|_| failed())?;
        let mut sealed = now().saturating_add(self.lifetime.as_secs()).to_be_bytes().to_vec();
        sealed.extend_from_slice(state);
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(&purpose.0), &mut sealed)
            .map_err(|_| failed())?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens a state.
    ///
    /// # Errors
    /// -32602 when it was changed, is not for this purpose, or is too old: nobody is told which.
    pub fn open(&self, sealed: &str, purpose: &Purpose) -> Result<Bytes, RpcError> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).unwrap_or_default();
        let opened =
            bytes.split_at_checked(NONCE_LEN).and_then(|(nonce, sealed)| self.try_keys(nonce, sealed, purpose));
        opened.ok_or_else(|| RpcError::invalid_params("`params.requestState` is not one of this request's, or too old"))
    }

    fn try_keys(&self, nonce: &[u8], sealed: &[u8], purpose: &Purpose) -> Option<Bytes> {
        let opened = self.keys.iter().find_map(|key| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut sealed = sealed.to_vec();
            let opened = key.open_in_place(nonce, Aad::from(&purpose.0), &mut sealed).ok()?;
            Some(opened.to_vec())
        })?;
        let (expiry, state) = opened.split_at_checked(EXPIRY_LEN)?;
        let expiry = u64::from_be_bytes(expiry.try_into().ok()?);
        (now() < expiry).then(|| Bytes::copy_from_slice(state))
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn purpose(principal: &str, arguments: &str) -> Purpose {
        Purpose::new(principal, "tools/call", "t", arguments)
    }

    #[test]
    fn a_state_comes_back_for_the_same_request_at_any_node_with_the_key() {
        let (one, other) = (Seal::new(&[[1; 32]], HOUR), Seal::new(&[[2; 32], [1; 32]], HOUR));
        let sealed = one.close(b"state", &purpose("alice", r#"{"a":1,"b":2}"#)).unwrap();

        let opened = other.open(&sealed, &purpose("alice", r#"{ "b": 2, "a": 1 }"#)).unwrap();

        assert_eq!(opened, "state");
    }

    #[test]
    fn arguments_that_cannot_be_read_here_are_not_all_the_same() {
        let seal = Seal::new(&[[1; 32]], HOUR);
        let deep = |levels| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        for (arguments, others) in [
            (deep(200), [deep(201), "null".into(), "{}".into()]),
            (r#"{"a":"\ud800"}"#.into(), [r#"{"a":"\ud801"}"#.into(), "null".into(), deep(200)]),
            (r#"{"a":1e400}"#.into(), [r#"{"a":1e401}"#.into(), "null".into(), deep(200)]),
        ] {
            let sealed = seal.close(b"state", &purpose("alice", &arguments)).unwrap();

            assert!(seal.open(&sealed, &purpose("alice", &arguments)).is_ok(), "{arguments}");
            for other in others {
                assert!(seal.open(&sealed, &purpose("alice", &other)).is_err(), "{arguments} is not {other}");
            }
        }
    }

    #[test]
    fn a_state_that_is_too_old_is_refused() {
        let seal = Seal::new(&[[1; 32]], Duration::ZERO);
        let sealed = seal.close(b"state", &purpose("alice", "{}")).unwrap();

        assert!(seal.open(&sealed, &purpose("alice", "{}")).is_err());
    }

    #[test]
    fn a_state_that_is_changed_or_for_something_else_is_refused() {
        let seal = Seal::new(&[[1; 32]], HOUR);
        let right = purpose("alice", "{}");
        let sealed = seal.close(b"state", &right).unwrap();

        assert!(seal.open(&sealed, &purpose("bob", "{}")).is_err());
        assert!(seal.open(&sealed, &purpose("alice", r#"{"a":1}"#)).is_err());
        assert!(Seal::new(&[[3; 32]], HOUR).open(&sealed, &right).is_err());
        for index in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            assert!(seal.open(&String::from_utf8(changed).unwrap(), &right).is_err(), "byte {index}");
        }
        for garbage in ["", "AAAA", "-TAMPERED", &format!("{sealed}-TAMPERED")] {
            assert!(seal.open(garbage, &right).is_err(), "{garbage}");
        }
    }
}

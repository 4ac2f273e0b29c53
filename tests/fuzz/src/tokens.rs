//! What clients carry for us and may change: cursors, names of events, sealed states.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use switchyard_gateway::testing::{EventId, Purpose, Seal};
use switchyard_mcp::{
    Method, RpcError,
    cursor::{self, Place},
};

/// Bytes that are a token, the two parts of a place, a state to be sealed, and the arguments that it is sealed for.
///
/// # Panics
/// When a token is taken that is none of ours, or one of ours is not.
pub fn tokens(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    cursors(&text);
    if let Some(id) = EventId::parse(&text) {
        assert_eq!(id.to_string(), text, "there is one form of it");
    }
    sealed(data, &text);
}

fn cursors(text: &str) {
    for token in [text.to_owned(), URL_SAFE_NO_PAD.encode(text)] {
        match cursor::decode(Method::ResourcesList, &token) {
            Ok(place) => assert_eq!(cursor::encode(Method::ResourcesList, &place), token, "there is one form of it"),
            Err(error) => assert_eq!(error.code, RpcError::INVALID_PARAMS),
        }
    }
    // No name or URI has it.
    let text = text.replace('\0', "0");
    let (part, after) = text.split_once('\n').unwrap_or((&text, ""));
    let place = Place { part: part.to_owned(), after: after.to_owned() };
    let token = cursor::encode(Method::ResourcesList, &place);
    assert_eq!(cursor::decode(Method::ResourcesList, &token), Ok(place));
    assert!(cursor::decode(Method::ToolsList, &token).is_err(), "a cursor is of use for one list only");
}

fn sealed(data: &[u8], text: &str) {
    let seal = Seal::new(&[[7; 32]], Duration::from_secs(60));
    let purpose = |arguments: &str| Purpose::new("alice", "tools/call", "t", arguments);
    let right = purpose(text);

    for forged in [text.to_owned(), URL_SAFE_NO_PAD.encode(data)] {
        let refused = seal.open(&forged, &right).expect_err("nobody but us can seal");
        assert_eq!(refused.code, RpcError::INVALID_PARAMS);
    }
    let state = seal.close(data, &right).expect("there is a key");
    assert_eq!(seal.open(&state, &right).as_deref(), Ok(data));
    for other in [&format!("{text} 1"), "{}", "null"] {
        if !is_same(text, other) {
            assert!(seal.open(&state, &purpose(other)).is_err(), "`{text}` is not `{other}`");
        }
    }
    let late = Seal::new(&[[7; 32]], Duration::ZERO).close(data, &right).expect("there is a key");
    assert!(seal.open(&late, &right).is_err(), "its time is over");
    let mut changed = state.into_bytes();
    let at = data.len() % changed.len();
    changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).expect("a token is ASCII");
    assert!(seal.open(&changed, &right).is_err(), "byte {at} was changed");
}

/// Whether these are the same arguments, whatever their layout.
fn is_same(one: &str, other: &str) -> bool {
    let read = serde_json::from_str::<Value>;
    one == other || matches!((read(one), read(other)), (Ok(one), Ok(other)) if one == other)
}

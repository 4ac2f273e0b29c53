//! Messages as clients may write them, right or wrong, and what the rules of JSON-RPC say of each.

use proptest::{collection, prelude::*, sample};
use switchyard_mcp::RpcError;

use crate::shapes::{any_json, any_object, text};

/// The members of a message in the order in which they were written, each with its JSON text. A name may come twice.
#[derive(Clone, Debug)]
pub struct Envelope {
    members: Vec<(String, String)>,
    space: String,
}

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Request { id: String, method: String, params: Option<String> },
    Notification { method: String, params: Option<String> },
    Response { id: String },
    Batch,
    Refused { code: i32, id: Option<String> },
}

impl Envelope {
    /// As it is on the wire.
    pub fn text(&self) -> String {
        let space = &self.space;
        let member = |(name, value): &(String, String)| format!("{space}{}{space}:{value}{space}", quoted(name));
        let members: Vec<_> = self.members.iter().map(member).collect();
        format!("{{{}}}", members.join(","))
    }

    /// What the rules say of it.
    pub fn verdict(&self) -> Verdict {
        let known = ["jsonrpc", "id", "method", "params", "result", "error"];
        let all = |name: &str| self.members.iter().filter(|(member, _)| member == name).count();
        if known.iter().any(|name| all(name) > 1) {
            return Verdict::Refused { code: RpcError::INVALID_REQUEST, id: None };
        }
        let member =
            |name: &str| self.members.iter().find(|(member, _)| member == name).map(|(_, value)| value.clone());
        let id = member("id").filter(|id| is_id(id));
        let refused = Verdict::Refused { code: RpcError::INVALID_REQUEST, id: id.clone() };
        if member("jsonrpc").as_deref() != Some("\"2.0\"") || (member("id").is_some() && id.is_none()) {
            return refused;
        }
        let params = member("params").filter(|params| params != "null");
        if params.as_ref().is_some_and(|params| !params.starts_with('{')) {
            return refused;
        }
        match (member("method"), id) {
            (Some(method), id) => match (serde_json::from_str::<String>(&method), id) {
                (Err(_), _) => refused,
                (Ok(method), Some(id)) => Verdict::Request { id, method, params },
                (Ok(method), None) => Verdict::Notification { method, params },
            },
            (None, Some(id)) if member("result").is_some() != member("error").is_some() => Verdict::Response { id },
            (None, _) => refused,
        }
    }
}

/// A string, or an integer of any length, which is no longer than what is worth sending back.
fn is_id(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    let is_integer = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    json.len() <= 1024 && (is_integer || serde_json::from_str::<String>(json).is_ok())
}

fn quoted(name: &str) -> String {
    serde_json::json!(name).to_string()
}

fn constant(values: &[&'static str]) -> impl Strategy<Value = String> + use<> {
    sample::select(values.to_vec()).prop_map(str::to_owned)
}

fn json() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => any_json().prop_map(|json| json.to_string()),
        // What parsers stumble over.
        1 => constant(&["1e999", "-0", "0.1e-400", "\"\\ud800\"", "\"\\u0000\"", "123456789012345678901234567890", "[[]]"]),
    ]
}

/// One member: mostly of those that messages have, mostly with what belongs there.
fn member() -> impl Strategy<Value = (String, String)> {
    let id = prop_oneof![
        4 => any::<i64>().prop_map(|id| id.to_string()),
        4 => text().prop_map(|id| quoted(&id)),
        1 => (1000..1050_usize).prop_map(|length| quoted(&"x".repeat(length))),
        1 => constant(&["null", "1.5", "1e3", "true", "[]", "\"\\ud83d\"", "-", "\"\\u0041\""])
            .prop_filter("it is JSON", |id| id != "-"),
        1 => json(),
    ];
    let method = prop_oneof![
        6 => constant(&["\"tools/call\"", "\"ping\"", "\"notifications/cancelled\"", "\"tools\\/list\""]),
        1 => text().prop_map(|method| quoted(&method)),
        1 => json(),
    ];
    let params = prop_oneof![4 => any_object().prop_map(|params| params.to_string()), 1 => json()];
    let name = |name: &'static str, value: BoxedStrategy<String>| value.prop_map(move |value| (name.to_owned(), value));
    prop_oneof![
        name("id", id.boxed()),
        name("method", method.boxed()),
        name("params", params.boxed()),
        name("result", json().boxed()),
        name("error", json().boxed()),
        (text(), json()),
    ]
}

/// A message, right or wrong.
pub fn envelope() -> impl Strategy<Value = Envelope> {
    let version = prop_oneof![12 => Just("\"2.0\""), 1 => sample::select(vec!["\"1.0\"", "2.0", "null", "\"2.0 \""])];
    let start = collection::vec(version.prop_map(|version| ("jsonrpc".to_owned(), version.to_owned())), 0..=8);
    let start = start.prop_map(|versions| versions.into_iter().take(1).collect::<Vec<_>>());
    (start, collection::vec(member(), 0..5), "[ \n\t]{0,2}", any::<bool>()).prop_map(
        |(start, mut members, space, is_last)| {
            let at = if is_last { members.len() } else { 0 };
            members.splice(at..at, start);
            Envelope { members, space }
        },
    )
}

//! Content of every kind.

use proptest::{collection, prelude::*, sample};
use serde_json::{Value, json};

use crate::shapes::{Member, always, annotations, base64, displayed, maybe, media_type, meta, name, object, text, uri};

fn kind(kind: &'static str) -> Member {
    always("type", Just(json!(kind)))
}

/// What blocks of all kinds may have.
fn common() -> Vec<Member> {
    vec![maybe("annotations", annotations()), maybe("_meta", meta())]
}

fn of(own: Vec<Member>) -> BoxedStrategy<Value> {
    object(own.into_iter().chain(common()).collect()).boxed()
}

fn data(name: &'static str) -> BoxedStrategy<Value> {
    let data = always("data", base64().prop_map(Value::from));
    of(vec![kind(name), data, always("mimeType", media_type().prop_map(Value::from))])
}

pub fn words() -> BoxedStrategy<Value> {
    of(vec![kind("text"), always("text", text().prop_map(Value::from))])
}

pub fn image() -> BoxedStrategy<Value> {
    data("image")
}

pub fn audio() -> BoxedStrategy<Value> {
    data("audio")
}

fn embedded() -> BoxedStrategy<Value> {
    let body = prop_oneof![text().prop_map(|text| ("text", text)), base64().prop_map(|blob| ("blob", blob))];
    let media_type = proptest::option::of(media_type());
    let resource =
        (uri(), body, media_type, proptest::option::of(meta())).prop_map(|(uri, (key, body), kind, meta)| {
            let mut resource = json!({ "uri": uri, key: body });
            if let Some(kind) = kind {
                resource["mimeType"] = json!(kind);
            }
            if let Some(meta) = meta {
                resource["_meta"] = meta;
            }
            resource
        });
    of(vec![kind("resource"), always("resource", resource)])
}

fn link() -> BoxedStrategy<Value> {
    let own = vec![
        kind("resource_link"),
        always("uri", uri().prop_map(Value::from)),
        always("name", name().prop_map(Value::from)),
        maybe("mimeType", media_type().prop_map(Value::from)),
        maybe("size", (0..1_i64 << 53).prop_map(Value::from)),
        maybe("annotations", annotations()),
    ];
    object(own.into_iter().chain(displayed()).collect()).boxed()
}

/// A block of any kind.
pub fn block() -> impl Strategy<Value = Value> {
    prop_oneof![words(), image(), audio(), embedded(), link()]
}

/// Blocks of any kinds.
pub fn blocks() -> impl Strategy<Value = Value> {
    collection::vec(block(), 0..5).prop_map(Value::from)
}

/// Messages of a prompt.
pub fn messages() -> impl Strategy<Value = Value> {
    let message = (sample::select(vec!["user", "assistant"]), block())
        .prop_map(|(role, content)| json!({ "role": role, "content": content }));
    collection::vec(message, 0..4).prop_map(Value::from)
}

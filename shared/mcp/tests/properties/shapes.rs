//! Small things that everything else is made of.

use proptest::{collection, option, prelude::*, sample};
use serde_json::{Map, Value, json};

/// Any JSON value, a few levels deep.
pub fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            collection::vec((text(), inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Any JSON object.
pub fn any_object() -> impl Strategy<Value = Value> {
    collection::vec((text(), any_json()), 0..4).prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// Words, also such as have to be escaped.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z ]{0,12}", 1 => any::<String>().prop_map(|text| text.chars().take(12).collect())]
}

/// A name as tools and prompts have it.
pub fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_.-]{1,24}"
}

/// A URI of one of the schemes that are met.
pub fn uri() -> impl Strategy<Value = String> {
    let start = sample::select(vec![
        "file:///",
        "https://a.example/",
        "ui://b/",
        "db://main/",
        "urn:isbn:",
        "data:text/plain,",
    ]);
    (start, "[a-z0-9._~-]{0,12}(%E5%A4%A9|%20)?").prop_map(|(start, rest)| format!("{start}{rest}"))
}

/// A media type.
pub fn media_type() -> impl Strategy<Value = String> {
    sample::select(vec!["text/plain", "image/png", "audio/wav", "application/json", "text/html;profile=mcp-app"])
        .prop_map(str::to_owned)
}

/// Bytes in base64.
pub fn base64() -> impl Strategy<Value = String> {
    use ::base64::{Engine, engine::general_purpose::STANDARD};
    collection::vec(any::<u8>(), 0..12).prop_map(|bytes| STANDARD.encode(bytes))
}

/// `_meta` of anything, with keys of all kinds and values of any.
pub fn meta() -> impl Strategy<Value = Value> {
    let key = prop_oneof!["[a-z]{1,8}", "(com[.]example|dev[.]mcp)/[a-z]{1,8}"];
    collection::vec((key, any_json()), 0..3).prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// `annotations` of content, resources and templates.
pub fn annotations() -> impl Strategy<Value = Value> {
    let audience = sample::subsequence(vec!["user", "assistant"], 0..=2);
    object(vec![
        maybe("audience", audience.prop_map(|audience| json!(audience))),
        maybe("priority", (0.0..=1.0_f64).prop_map(Value::from)),
        maybe("lastModified", Just(json!("2026-01-02T03:04:05Z"))),
    ])
}

/// `icons`.
pub fn icons() -> impl Strategy<Value = Value> {
    let sizes = sample::subsequence(vec!["48x48", "96x96", "any"], 0..=3).prop_map(|sizes| json!(sizes));
    let icon = object(vec![
        always("src", uri().prop_map(Value::from)),
        maybe("mimeType", media_type().prop_map(Value::from)),
        maybe("sizes", sizes),
        maybe("theme", sample::select(vec!["light", "dark"]).prop_map(Value::from)),
    ]);
    collection::vec(icon, 0..3).prop_map(Value::from)
}

/// A member that is there or is not.
pub type Member = BoxedStrategy<Option<(&'static str, Value)>>;

/// A member that is always there.
pub fn always(name: &'static str, value: impl Strategy<Value = Value> + 'static) -> Member {
    value.prop_map(move |value| Some((name, value))).boxed()
}

/// A member that may be missing.
pub fn maybe(name: &'static str, value: impl Strategy<Value = Value> + 'static) -> Member {
    option::of(value.prop_map(move |value| (name, value))).boxed()
}

/// An object of these members.
pub fn object(members: Vec<Member>) -> impl Strategy<Value = Value> {
    members.prop_map(|members| {
        let there = members.into_iter().flatten().map(|(name, value)| (name.to_owned(), value));
        Value::Object(there.collect::<Map<_, _>>())
    })
}

/// What is displayed of most things: title, description, icons, `_meta`.
pub fn displayed() -> Vec<Member> {
    vec![
        maybe("title", text().prop_map(Value::from)),
        maybe("description", text().prop_map(Value::from)),
        maybe("icons", icons()),
        maybe("_meta", meta()),
    ]
}

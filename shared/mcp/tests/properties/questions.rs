//! Questions of every form, as each revision is asked them.

use proptest::{collection, prelude::*, sample};
use serde_json::{Value, json};
use switchyard_mcp::{
    Revision,
    questions::{Questions, request},
    results,
};

use crate::{
    config, contents,
    definitions::tool,
    judged, judged_result,
    shapes::{Member, always, any_object, maybe, name, object, text},
};

fn words(name: &'static str) -> Member {
    maybe(name, text().prop_map(Value::from))
}

fn count(name: &'static str) -> Member {
    maybe(name, (0..100_i64).prop_map(Value::from))
}

fn field(kind: &'static str, own: Vec<Member>) -> BoxedStrategy<Value> {
    let common = vec![always("type", Just(json!(kind))), words("title"), words("description")];
    object(common.into_iter().chain(own).collect()).boxed()
}

/// A field of a form, in each way that the newest revision has.
fn primitive() -> impl Strategy<Value = Value> {
    let texts = || collection::vec(text(), 1..4).prop_map(Value::from);
    let titled = || {
        let one = (text(), text()).prop_map(|(name, title)| json!({ "const": name, "title": title }));
        collection::vec(one, 1..4).prop_map(Value::from)
    };
    let format = sample::select(vec!["email", "uri", "date", "date-time"]).prop_map(Value::from);
    let several = |items: BoxedStrategy<Value>| {
        vec![always("items", items), count("minItems"), count("maxItems"), maybe("default", texts())]
    };
    let plain = texts().prop_map(|texts| json!({ "type": "string", "enum": texts })).boxed();
    let choices = titled().prop_map(|titled| json!({ "anyOf": titled })).boxed();
    prop_oneof![
        field("string", vec![count("minLength"), count("maxLength"), maybe("format", format), words("default")]),
        field("integer", vec![count("minimum"), count("maximum"), count("default")]),
        field("number", vec![count("minimum"), count("maximum"), count("default")]),
        field("boolean", vec![maybe("default", any::<bool>().prop_map(Value::from))]),
        field("string", vec![always("enum", texts()), words("default")]),
        field("string", vec![always("enum", texts()), maybe("enumNames", texts()), words("default")]),
        field("string", vec![always("oneOf", titled()), words("default")]),
        field("array", several(plain)),
        field("array", several(choices)),
    ]
}

fn form() -> impl Strategy<Value = Value> {
    let fields =
        collection::vec((name(), primitive()), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect()));
    let schema = object(vec![
        always("type", Just(json!("object"))),
        always("properties", fields),
        maybe("required", collection::vec(name(), 0..3).prop_map(Value::from)),
        maybe("$schema", Just(json!("https://json-schema.org/draft/2020-12/schema"))),
    ]);
    object(vec![
        maybe("mode", Just(json!("form"))),
        always("message", text().prop_map(Value::from)),
        always("requestedSchema", schema),
    ])
    .prop_map(|params| json!({ "method": "elicitation/create", "params": params }))
}

fn page() -> impl Strategy<Value = Value> {
    (text(), crate::shapes::uri()).prop_map(|(message, url)| {
        json!({ "method": "elicitation/create", "params": { "mode": "url", "message": message, "url": url } })
    })
}

fn sampling() -> impl Strategy<Value = Value> {
    let use_of_tool = (text(), name(), any_object())
        .prop_map(|(id, name, input)| json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
    let result_of_tool = (text(), contents::blocks(), any::<bool>()).prop_map(|(id, content, is_error)| {
        json!({ "type": "tool_result", "toolUseId": id, "content": content, "isError": is_error })
    });
    let simple = || prop_oneof![contents::words(), contents::image(), contents::audio()];
    let block = prop_oneof![4 => simple(), 1 => use_of_tool, 1 => result_of_tool];
    let content = prop_oneof![3 => simple(), 1 => collection::vec(block, 0..3).prop_map(Value::from)];
    let message =
        (sample::select(vec!["user", "assistant"]), content, any::<bool>()).prop_map(|(role, content, tagged)| {
            let mut message = json!({ "role": role, "content": content });
            if tagged {
                message["_meta"] = json!({ "a": 1 });
            }
            message
        });
    let preferences = object(vec![
        maybe("hints", collection::vec(name().prop_map(|name| json!({ "name": name })), 0..3).prop_map(Value::from)),
        maybe("costPriority", (0.0..=1.0_f64).prop_map(Value::from)),
    ]);
    let context = sample::select(vec!["none", "thisServer", "allServers"]).prop_map(Value::from);
    let mode = sample::select(vec!["auto", "required", "none"]).prop_map(|mode| json!({ "mode": mode }));
    object(vec![
        always("messages", collection::vec(message, 0..3).prop_map(Value::from)),
        always("maxTokens", (1..1000_i64).prop_map(Value::from)),
        words("systemPrompt"),
        maybe("temperature", (0.0..=1.0_f64).prop_map(Value::from)),
        maybe("stopSequences", collection::vec(text(), 0..3).prop_map(Value::from)),
        maybe("modelPreferences", preferences),
        maybe("includeContext", context),
        maybe("metadata", any_object()),
        maybe("tools", collection::vec(tool(), 0..2).prop_map(Value::from)),
        maybe("toolChoice", mode),
    ])
    .prop_map(|params| json!({ "method": "sampling/createMessage", "params": params }))
}

fn roots() -> impl Strategy<Value = Value> {
    let params = sample::select(vec![json!({}), json!({ "_meta": { "a": 1 } })]);
    prop_oneof![
        Just(json!({ "method": "roots/list" })),
        params.prop_map(|params| json!({ "method": "roots/list", "params": params })),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn each_revision_is_asked_in_its_own_words_or_not_at_all(
        question in prop_oneof![form(), page(), sampling(), roots()],
    ) {
        for revision in Revision::ALL.into_iter().filter(|revision| revision.has_sessions()) {
            if let Some(message) = request("q1", &question, revision) {
                judged(revision, None, &message)?;
            }
        }
    }

    #[test]
    fn a_stateless_client_finds_the_questions_in_a_result(
        questions in collection::vec((name(), prop_oneof![form(), page(), sampling(), roots()]), 1..4),
        state in text(),
    ) {
        let questions = Value::Object(questions.into_iter().collect());
        let read = Questions::read(questions.to_string().as_bytes()).unwrap();
        let asked = results::input_required(&read.json(), &state, Revision::V2026_07_28);
        judged_result(Revision::V2026_07_28, "tools/call", &asked)?;
    }
}

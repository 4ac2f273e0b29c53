//! Definitions of every form, as each revision lists them.

use proptest::{collection, prelude::*, sample};
use serde_json::{Value, json};
use switchyard_mcp::{CacheScope, Method, Revision, definitions, results};
use switchyard_proto::v1::Resource;

use crate::{
    config, judged_result,
    shapes::{always, annotations, any_object, displayed, maybe, media_type, meta, name, object, text, uri},
};

/// A schema of anything, as the newest revision allows it.
fn schema() -> impl Strategy<Value = Value> {
    let kinds = sample::select(vec!["string", "integer", "number", "boolean", "null"]);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        kinds.prop_map(|kind| json!({ "type": kind })),
        Just(json!({ "$ref": "#/$defs/a" })),
        (text(), text()).prop_map(|(one, other)| json!({ "enum": [one, other, null], "x-mcp-header": "Region" })),
        text().prop_map(|default| json!({ "type": ["string", "null"], "default": default })),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 1..3).prop_map(|schemas| json!({ "anyOf": schemas })),
            inner.clone().prop_map(|schema| json!({ "type": "array", "items": schema })),
            (text(), inner).prop_map(|(name, schema)| json!({ "type": "object", "properties": { name: schema } })),
        ]
    })
}

/// The schema of an object: what a tool's arguments have to be.
fn object_schema() -> impl Strategy<Value = Value> {
    let properties =
        collection::vec((text(), schema()), 0..4).prop_map(|members| Value::Object(members.into_iter().collect()));
    object(vec![
        always("type", Just(json!("object"))),
        maybe("$schema", Just(json!("https://json-schema.org/draft/2020-12/schema"))),
        maybe("properties", properties),
        maybe("required", collection::vec(text(), 0..3).prop_map(Value::from)),
        maybe("additionalProperties", schema()),
        maybe("oneOf", collection::vec(schema(), 1..3).prop_map(Value::from)),
        maybe("$defs", schema().prop_map(|schema| json!({ "a": schema }))),
    ])
}

/// The schema of anything that is no boolean: what a tool's output has to be.
fn output_schema() -> impl Strategy<Value = Value> {
    prop_oneof![object_schema(), schema().prop_filter("an output schema is an object", Value::is_object)]
}

pub fn tool() -> impl Strategy<Value = Value> {
    let hint = || any::<bool>().prop_map(Value::from);
    let annotations = object(vec![
        maybe("title", text().prop_map(Value::from)),
        maybe("readOnlyHint", hint()),
        maybe("destructiveHint", hint()),
        maybe("idempotentHint", hint()),
        maybe("openWorldHint", hint()),
    ]);
    let own = vec![
        always("name", name().prop_map(Value::from)),
        always("inputSchema", object_schema()),
        maybe("outputSchema", output_schema()),
        maybe("annotations", annotations),
    ];
    object(own.into_iter().chain(displayed()).collect())
}

fn prompt() -> impl Strategy<Value = Value> {
    let argument = object(vec![
        always("name", name().prop_map(Value::from)),
        maybe("title", text().prop_map(Value::from)),
        maybe("description", text().prop_map(Value::from)),
        maybe("required", any::<bool>().prop_map(Value::from)),
    ]);
    let own = vec![
        always("name", name().prop_map(Value::from)),
        maybe("arguments", collection::vec(argument, 0..3).prop_map(Value::from)),
    ];
    object(own.into_iter().chain(displayed()).collect())
}

fn template() -> impl Strategy<Value = Value> {
    let pattern = uri().prop_map(|uri| json!(format!("{uri}/{{+path}}{{?q}}")));
    let own = vec![
        always("name", name().prop_map(Value::from)),
        always("uriTemplate", pattern),
        maybe("mimeType", media_type().prop_map(Value::from)),
        maybe("annotations", annotations()),
    ];
    object(own.into_iter().chain(displayed()).collect())
}

fn resource() -> impl Strategy<Value = Resource> {
    let size = proptest::option::of(0..(1_u64 << 53));
    let changed = sample::select(vec!["", "2026-01-02T03:04:05Z"]).prop_map(str::to_owned);
    let meta = prop_oneof![Just(Vec::new()), meta().prop_map(|meta| meta.to_string().into_bytes())];
    (uri(), text(), text(), text(), prop_oneof![Just(String::new()), media_type()], size, changed, meta).prop_map(
        |(uri, name, title, description, mime_type, size, last_modified, meta)| Resource {
            uri,
            name,
            title,
            description,
            mime_type,
            size,
            last_modified,
            meta_json: meta.into(),
        },
    )
}

/// One page of a list, as each revision gets it.
fn listed(method: Method, shown: impl Fn(Revision) -> Vec<String>, next: Option<&str>) -> Result<(), TestCaseError> {
    for revision in Revision::ALL {
        let items = shown(revision);
        let page = results::list(method, items.iter().map(String::as_str), next, CacheScope::Private, revision);
        judged_result(revision, method.name(), &page)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn tools_are_listed_as_each_revision_knows_them(tool in tool(), next in proptest::option::of(text())) {
        let shown = |revision| vec![definitions::tool(&tool.to_string(), revision)];
        listed(Method::ToolsList, shown, next.as_deref())?;

        let newest: Value = serde_json::from_str(&definitions::tool(&tool.to_string(), Revision::V2026_07_28)).unwrap();
        prop_assert_eq!(newest, tool);
    }

    #[test]
    fn prompts_are_listed_as_each_revision_knows_them(prompts in collection::vec(prompt(), 0..3)) {
        listed(
            Method::PromptsList,
            |revision| prompts.iter().map(|prompt| definitions::prompt(&prompt.to_string(), revision)).collect(),
            None,
        )?;
    }

    #[test]
    fn templates_are_listed_as_each_revision_knows_them(templates in collection::vec(template(), 0..3)) {
        listed(
            Method::ResourceTemplatesList,
            |revision| templates.iter().map(|one| definitions::template(&one.to_string(), revision)).collect(),
            Some("next"),
        )?;
    }

    #[test]
    fn resources_are_listed_as_each_revision_knows_them(resources in collection::vec(resource(), 0..3)) {
        listed(
            Method::ResourcesList,
            |revision| resources.iter().map(|one| definitions::resource(one, revision)).collect(),
            None,
        )?;
    }

    #[test]
    fn a_definition_that_is_none_comes_back_as_an_object(junk in prop_oneof![text(), any_object().prop_map(|junk| junk.to_string())]) {
        for revision in Revision::ALL {
            for shown in [
                definitions::tool(&junk, revision),
                definitions::prompt(&junk, revision),
                definitions::template(&junk, revision),
            ] {
                prop_assert!(serde_json::from_str::<Value>(&shown).is_ok_and(|shown| shown.is_object()));
            }
        }
    }
}

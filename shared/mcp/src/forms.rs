//! Forms that a client is asked to fill in, as older revisions know them.

use serde_json::{Map, Value};

use crate::Revision;

/// Puts the parameters of a form in the words of `revision`. `false` where it has a field that cannot be put so.
pub(crate) fn adapt(params: &mut Map<String, Value>, revision: Revision) -> bool {
    if revision.has_form_choices() {
        return true;
    }
    params.shift_remove("mode");
    let Some(Value::Object(schema)) = params.get_mut("requestedSchema") else { return true };
    schema.shift_remove("$schema");
    match schema.get_mut("properties") {
        Some(Value::Object(fields)) => fields.values_mut().all(adapt_field),
        _ => true,
    }
}

/// What could be proposed at first was a yes or a no; a choice with titles was two lists; and it was one choice.
fn adapt_field(field: &mut Value) -> bool {
    let Value::Object(field) = field else { return false };
    match field.get("type").and_then(Value::as_str) {
        Some("array") => return false,
        Some("boolean") => return true,
        _ => {}
    }
    field.shift_remove("default");
    if let Some(Value::Array(choices)) = field.shift_remove("oneOf") {
        let all = |member: &str| choices.iter().map(|choice| choice[member].clone()).collect::<Value>();
        field.insert("enum".into(), all("const"));
        field.insert("enumNames".into(), all("title"));
    }
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn adapted(field: Value, revision: Revision) -> Option<Value> {
        let schema = json!({ "$schema": "s", "type": "object", "properties": { "a": field } });
        let mut params = json!({ "mode": "form", "message": "?", "requestedSchema": schema });
        let fields = params.as_object_mut().unwrap();
        adapt(fields, revision).then_some(params)
    }

    #[test]
    fn an_older_form_proposes_only_yes_or_no_and_has_its_choices_in_two_lists() {
        let older = |field| adapted(field, Revision::V2025_06_18).map(|params| params["requestedSchema"].clone());
        let form = |field: Value| Some(json!({ "type": "object", "properties": { "a": field } }));
        let titled = json!([{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }]);

        assert_eq!(older(json!({ "type": "integer", "default": 7 })), form(json!({ "type": "integer" })));
        assert_eq!(
            older(json!({ "type": "boolean", "default": true })),
            form(json!({ "type": "boolean", "default": true }))
        );
        assert_eq!(
            older(json!({ "type": "string", "oneOf": titled, "default": "b" })),
            form(json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] }))
        );
        assert_eq!(older(json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } })), None);
    }

    #[test]
    fn a_newer_form_is_not_touched() {
        let field = json!({ "type": "array", "items": { "anyOf": [] }, "default": [] });
        let params = adapted(field.clone(), Revision::V2025_11_25).unwrap();

        assert_eq!(params["requestedSchema"]["properties"]["a"], field);
        assert_eq!(params["mode"], "form");
    }
}

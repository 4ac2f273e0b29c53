//! Definitions of tools, prompts, templates and resources, as each revision knows them.
//!
//! Services announce them in the newest revision's shape. For an older client only members that its revision has
//! are kept, so that no strict reader stumbles.

use serde_json::{Map, Value, json};
use switchyard_proto::v1::Resource;

use crate::Revision;

/// A tool's definition for a client of `revision`. `definition` is the JSON text of an object; text that is none
/// comes back as an empty object.
pub fn tool(definition: &str, revision: Revision) -> String {
    let mut tool = object(definition);
    if revision.has_result_type() {
        return Value::Object(tool).to_string();
    }
    let mut kept = vec!["name", "description", "inputSchema"];
    if revision.has_tool_annotations() {
        kept.push("annotations");
    }
    if revision.has_titles() {
        kept.extend(["title", "_meta"]);
        if tool.get("outputSchema").is_some_and(describes_object) {
            kept.push("outputSchema");
        }
    }
    if revision.has_icons() {
        kept.push("icons");
    }
    if revision.has_tool_annotations() && !revision.has_titles() {
        title_into_annotations(&mut tool);
    }
    tool.retain(|key, _| kept.contains(&key.as_str()));
    for schema in ["inputSchema", "outputSchema"] {
        if let Some(properties) = tool.get_mut(schema).and_then(|schema| schema.get_mut("properties")) {
            spell_out_booleans(properties);
        }
    }
    Value::Object(tool).to_string()
}

/// A prompt's definition for a client of `revision`.
pub fn prompt(definition: &str, revision: Revision) -> String {
    let mut prompt = object(definition);
    if revision.has_result_type() {
        return Value::Object(prompt).to_string();
    }
    retain_common(&mut prompt, &["name", "description", "arguments"], revision);
    if let Some(Value::Array(arguments)) = prompt.get_mut("arguments") {
        for argument in arguments.iter_mut().filter_map(Value::as_object_mut) {
            argument.retain(|key, _| match key.as_str() {
                "title" => revision.has_titles(),
                other => matches!(other, "name" | "description" | "required"),
            });
        }
    }
    Value::Object(prompt).to_string()
}

/// A resource template's definition for a client of `revision`.
pub fn template(definition: &str, revision: Revision) -> String {
    let mut template = object(definition);
    if revision.has_result_type() {
        return Value::Object(template).to_string();
    }
    retain_common(&mut template, &["uriTemplate", "name", "description", "mimeType", "annotations"], revision);
    if !revision.has_titles()
        && let Some(Value::Object(annotations)) = template.get_mut("annotations")
    {
        annotations.remove("lastModified");
    }
    Value::Object(template).to_string()
}

/// A resource as a listing for a client of `revision` shows it.
pub fn resource(resource: &Resource, revision: Revision) -> String {
    let mut shown = Map::new();
    shown.insert("uri".into(), json!(resource.uri));
    shown.insert("name".into(), json!(resource.name));
    let has_titles = revision.has_titles();
    if has_titles && !resource.title.is_empty() {
        shown.insert("title".into(), json!(resource.title));
    }
    if !resource.description.is_empty() {
        shown.insert("description".into(), json!(resource.description));
    }
    if !resource.mime_type.is_empty() {
        shown.insert("mimeType".into(), json!(resource.mime_type));
    }
    if let Some(size) = resource.size {
        shown.insert("size".into(), json!(size));
    }
    if has_titles && !resource.last_modified.is_empty() {
        shown.insert("annotations".into(), json!({ "lastModified": resource.last_modified }));
    }
    if has_titles && let Ok(Value::Object(meta)) = serde_json::from_slice(&resource.meta_json) {
        shown.insert("_meta".into(), Value::Object(meta));
    }
    Value::Object(shown).to_string()
}

fn object(definition: &str) -> Map<String, Value> {
    serde_json::from_str(definition).unwrap_or_default()
}

/// Keeps `base`, and what prompts and templates gained together over time.
fn retain_common(definition: &mut Map<String, Value>, base: &[&str], revision: Revision) {
    definition.retain(|key, _| match key.as_str() {
        "title" | "_meta" => revision.has_titles(),
        "icons" => revision.has_icons(),
        other => base.contains(&other),
    });
}

/// Before tools had a title of their own, it was one of their annotations.
fn title_into_annotations(tool: &mut Map<String, Value>) {
    let Some(title) = tool.get("title").cloned() else { return };
    let annotations = tool.entry("annotations").or_insert_with(|| json!({}));
    if let Value::Object(annotations) = annotations {
        annotations.entry("title").or_insert(title);
    }
}

fn describes_object(schema: &Value) -> bool {
    schema.get("type") == Some(&json!("object"))
}

/// Older schemas want every property to be described by an object, where `true` and `false` are schemas too.
fn spell_out_booleans(properties: &mut Value) {
    let Value::Object(properties) = properties else { return };
    for property in properties.values_mut() {
        match property {
            Value::Bool(true) => *property = json!({}),
            Value::Bool(false) => *property = json!({ "not": {} }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TOOL: &str = r#"{"name":"t","title":"T","description":"d","icons":[],"annotations":{"readOnlyHint":true},
        "inputSchema":{"type":"object","properties":{"any":true,"x":{"type":"string","x-mcp-header":"X"}}},
        "outputSchema":{"type":"object","properties":{}},"_meta":{"k":1}}"#;

    fn keys(json: &str) -> Vec<String> {
        let mut keys: Vec<_> = serde_json::from_str::<Map<String, Value>>(json).unwrap().keys().cloned().collect();
        keys.sort();
        keys
    }

    #[test]
    fn each_revision_sees_the_members_that_it_has() {
        let known = |revision| keys(&tool(TOOL, revision)).join(" ");

        assert_eq!(known(Revision::V2024_11_05), "description inputSchema name");
        assert_eq!(known(Revision::V2025_03_26), "annotations description inputSchema name");
        assert_eq!(known(Revision::V2025_06_18), "_meta annotations description inputSchema name outputSchema title");
        assert_eq!(
            known(Revision::V2025_11_25),
            "_meta annotations description icons inputSchema name outputSchema title"
        );
        assert_eq!(keys(&tool(TOOL, Revision::V2026_07_28)), keys(TOOL));
    }

    #[test]
    fn a_title_is_an_annotation_where_tools_have_none_of_their_own() {
        let of = |revision| serde_json::from_str::<Value>(&tool(TOOL, revision)).unwrap();

        assert_eq!(of(Revision::V2025_03_26)["annotations"], json!({ "readOnlyHint": true, "title": "T" }));
        assert_eq!(of(Revision::V2025_06_18)["annotations"], json!({ "readOnlyHint": true }));
    }

    #[test]
    fn an_output_schema_of_no_object_is_for_the_newest_only() {
        let array = TOOL.replace(r#""outputSchema":{"type":"object""#, r#""outputSchema":{"type":"array""#);

        assert!(!tool(&array, Revision::V2025_11_25).contains("outputSchema"));
        assert!(tool(&array, Revision::V2026_07_28).contains("outputSchema"));
    }

    #[test]
    fn boolean_schemas_are_spelled_out_for_older_clients() {
        let legacy: Value = serde_json::from_str(&tool(TOOL, Revision::V2025_11_25)).unwrap();

        assert_eq!(legacy["inputSchema"]["properties"]["any"], json!({}));
        assert!(tool(TOOL, Revision::V2026_07_28).contains(r#""any":true"#));
    }

    #[test]
    fn a_resource_tells_its_last_change_where_the_revision_has_a_place_for_it() {
        let file = Resource { last_modified: "2026-01-02T03:04:05Z".into(), size: Some(0), ..Resource::default() };

        assert_eq!(keys(&resource(&file, Revision::V2025_03_26)).join(" "), "name size uri");
        assert_eq!(keys(&resource(&file, Revision::V2025_06_18)).join(" "), "annotations name size uri");
    }
}

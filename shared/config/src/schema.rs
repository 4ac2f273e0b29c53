//! The JSON Schema of a configuration file, as it is published.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::{Value, json};

/// The JSON Schema (2020-12) of the configuration file of options `T`, for editors and for people.
///
/// It permits more than the option types themselves: `$schema` at the top, which an editor finds the schema by, and a
/// reference in place of every value.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(permit_references);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_insert(0, SCHEMA_KEY.to_owned(), json!({ "type": "string" }));
    }
    schema
}

/// The key by which editors find the schema of a file; not an option.
pub(crate) const SCHEMA_KEY: &str = "$schema";

/// The schema that values are held against once references are resolved.
pub(crate) fn strict<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

/// Lets a reference stand for a value that no string could otherwise be.
fn permit_references(schema: &mut Schema) {
    transform_subschemas(&mut permit_references, schema);
    let reference = json!({ "type": "string", "pattern": r"^\$\{(env|file):[^}]+\}$" });
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(alternatives)) = object.get_mut("oneOf") {
        // An enum of words, each with a description of its own.
        if alternatives.iter().all(|alternative| alternative.get("const").is_some_and(Value::is_string)) {
            alternatives.push(reference);
        }
        return;
    }
    let is_scalar = |name: &Value| matches!(name.as_str(), Some("boolean" | "integer" | "number" | "null"));
    let wants_scalar = match object.get("type") {
        Some(Value::Array(names)) => names.iter().all(is_scalar),
        Some(name) => is_scalar(name) && name != "null",
        None => false,
    };
    if !wants_scalar && !object.contains_key("enum") {
        return;
    }
    let kept = ["title", "description", "default"];
    let rest = object.iter().filter(|(keyword, _)| !kept.contains(&keyword.as_str()));
    let rest: Value =
        rest.map(|(keyword, value)| (keyword.clone(), value.clone())).collect::<serde_json::Map<_, _>>().into();
    object.retain(|keyword, _| kept.contains(&keyword.as_str()));
    object.insert("anyOf".to_owned(), json!([rest, reference]));
}

//! What a JSON Schema says about the values at one place: their kinds, their keys, their alternatives.
//!
//! Reads the schemas that are generated from option types, which use `properties`, `items`, `$ref` within the
//! document, `allOf`, and `anyOf` or `oneOf` for enums and for what may be left out. An object whose schema lists
//! its keys accepts no others unless the schema says so.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{KeyPath, kinds::Kinds, path::Step};

/// How many sections deep [`Shape::options`] looks: an option type that contains itself ends here.
const DEEPEST: usize = 8;

/// How many references are followed from one schema to the next.
const LONGEST_CHAIN: usize = 16;

/// The schema of one place.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'s> {
    /// The whole schema, which references lead into.
    document: &'s Value,
    schema: &'s Value,
}

/// One schema object, whose keywords all hold.
pub(crate) type Part<'s> = &'s Map<String, Value>;

impl<'s> Shape<'s> {
    pub(crate) fn of_document(document: &'s Value) -> Self {
        Self { document, schema: document }
    }

    pub(crate) fn at(self, schema: &'s Value) -> Self {
        Self { schema, ..self }
    }

    /// The schema and what it refers to: all of them hold for a value here.
    pub(crate) fn parts(self) -> Vec<Part<'s>> {
        let mut parts = Vec::new();
        self.collect_parts(&mut parts, LONGEST_CHAIN);
        parts
    }

    fn collect_parts(self, parts: &mut Vec<Part<'s>>, chain: usize) {
        let Some(part) = self.schema.as_object().filter(|_| chain > 0) else { return };
        parts.push(part);
        if let Some(target) = part.get("$ref").and_then(|target| self.resolve(target.as_str()?)) {
            self.at(target).collect_parts(parts, chain - 1);
        }
        for also in list(part, "allOf") {
            self.at(also).collect_parts(parts, chain - 1);
        }
    }

    fn resolve(self, reference: &str) -> Option<&'s Value> {
        self.document.pointer(reference.strip_prefix('#')?)
    }

    /// The alternatives, of which a value here takes one; one list for each `anyOf` or `oneOf`.
    pub(crate) fn alternatives(self, parts: &[Part<'s>]) -> Vec<Vec<Self>> {
        let lists = parts.iter().flat_map(|part| ["anyOf", "oneOf"].map(|keyword| list(part, keyword)));
        lists.filter(|list| !list.is_empty()).map(|list| list.iter().map(|schema| self.at(schema)).collect()).collect()
    }

    /// The kinds of values that may stand here.
    pub(crate) fn kinds(self) -> Kinds {
        let parts = self.parts();
        let mut kinds = parts.iter().map(|part| Kinds::of_schema(part)).fold(Kinds::ALL, Kinds::and);
        for list in self.alternatives(&parts) {
            kinds = kinds.and(list.into_iter().map(Self::kinds).fold(Kinds::NONE, Kinds::or));
        }
        kinds
    }

    /// The only values that may stand here, when the schema lists them.
    pub(crate) fn values(self) -> Option<Vec<&'s Value>> {
        let parts = self.parts();
        if let Some(values) = parts.iter().find_map(|part| values_of(part)) {
            return Some(values);
        }
        let lists = self.alternatives(&parts);
        let values: Option<Vec<_>> = lists.first()?.iter().map(|shape| shape.values()).collect();
        Some(values?.concat())
    }

    /// What may stand under `key`, in any alternative.
    fn under(self, key: &str) -> Vec<Self> {
        let parts = self.parts();
        let mut found: Vec<_> = parts.iter().filter_map(|part| self.property(part, key)).collect();
        found.extend(self.alternatives(&parts).concat().into_iter().flat_map(|shape| shape.under(key)));
        found
    }

    /// The items of a list here, in any alternative.
    fn items(self) -> Vec<Self> {
        let parts = self.parts();
        let mut found: Vec<_> = parts.iter().filter_map(|part| Some(self.at(part.get("items")?))).collect();
        found.extend(self.alternatives(&parts).concat().into_iter().flat_map(Self::items));
        found
    }

    /// What one schema object says about `key`; `None` when it says that there is no such key, or nothing.
    pub(crate) fn property(self, part: Part<'s>, key: &str) -> Option<Self> {
        let named = part.get("properties").and_then(|properties| properties.get(key));
        let schema = named.or_else(|| part.get("additionalProperties").filter(|others| **others != Value::Bool(false)));
        schema.map(|schema| self.at(schema))
    }

    /// The kinds of values that may stand at `path`, counted from here.
    pub(crate) fn kinds_at(self, path: &KeyPath) -> Kinds {
        let mut shapes = vec![self];
        for step in path.steps() {
            shapes = shapes
                .into_iter()
                .flat_map(|shape| match step {
                    Step::Key(key) => shape.under(key),
                    Step::Item(_) => shape.items(),
                })
                .collect();
        }
        shapes.into_iter().map(Self::kinds).fold(Kinds::NONE, Kinds::or)
    }

    /// The keys that may stand here, in any alternative.
    fn keys(self) -> BTreeSet<&'s str> {
        let parts = self.parts();
        let mut keys: BTreeSet<_> = parts.iter().flat_map(|part| keys_of(part)).collect();
        for shape in self.alternatives(&parts).concat() {
            keys.extend(shape.keys());
        }
        keys
    }

    /// The path of every option that is not within a list: sections and what is in them.
    pub(crate) fn options(self) -> Vec<KeyPath> {
        let mut found = Vec::new();
        self.collect_options(&KeyPath::default(), &mut found);
        found
    }

    fn collect_options(self, path: &KeyPath, found: &mut Vec<KeyPath>) {
        if path.steps().len() == DEEPEST {
            return;
        }
        for key in self.keys() {
            let path = path.key(key);
            found.push(path.clone());
            for shape in self.under(key) {
                shape.collect_options(&path, found);
            }
        }
    }
}

/// The keys that a schema object names.
pub(crate) fn keys_of(part: Part<'_>) -> impl Iterator<Item = &str> {
    part.get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|properties| properties.keys().map(String::as_str))
}

/// The only values that a schema object permits.
pub(crate) fn values_of(part: Part<'_>) -> Option<Vec<&Value>> {
    match (part.get("const"), part.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

fn list<'s>(part: Part<'s>, keyword: &str) -> &'s [Value] {
    part.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

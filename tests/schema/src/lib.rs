//! The protocol's official schemas, and a judge that holds messages of a server against them.
//!
//! For tests alone. [`Schema::message`] judges a whole message precisely: a result by the request that it answers, a
//! notification and a question by their method, an error by its code. Members that a revision does not know are
//! faults, too, although the official files leave most objects open: that is how something newer would leak to an
//! older client. Where the judge is laxer than the files, `exceptions` says why.
//!
//! Nothing here shares code with the server.

mod closed;
mod exceptions;
mod fault;
mod messages;
mod tasks;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

pub use fault::Fault;

/// The revisions, oldest first, each with its official file.
const FILES: [(&str, &str); 5] = [
    ("2024-11-05", include_str!("../2024-11-05.json")),
    ("2025-03-26", include_str!("../2025-03-26.json")),
    ("2025-06-18", include_str!("../2025-06-18.json")),
    ("2025-11-25", include_str!("../2025-11-25.json")),
    ("2026-07-28", include_str!("../2026-07-28.json")),
];

/// The schema of one revision. Its definitions are made ready for use one by one, when first asked for.
pub struct Schema {
    revision: &'static str,
    /// Where definitions are: `definitions`, or `$defs` in newer files.
    root: &'static str,
    /// `$schema` of the file.
    dialect: Value,
    official: Map<String, Value>,
    /// The same definitions, of which none allows members that it does not name.
    closed: Map<String, Value>,
    validators: Mutex<HashMap<(String, Strictness), Arc<Validator>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Strictness {
    Official,
    Closed,
}

impl Schema {
    /// The schema of the revision of this name, if there is one.
    pub fn of(revision: &str) -> Option<&'static Self> {
        static SCHEMAS: [LazyLock<Schema>; 5] = [
            LazyLock::new(|| Schema::read(0)),
            LazyLock::new(|| Schema::read(1)),
            LazyLock::new(|| Schema::read(2)),
            LazyLock::new(|| Schema::read(3)),
            LazyLock::new(|| Schema::read(4)),
        ];
        let index = FILES.iter().position(|(name, _)| *name == revision)?;
        Some(&SCHEMAS[index])
    }

    /// The names of the revisions, oldest first.
    pub fn revisions() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    fn read(index: usize) -> Self {
        let (revision, file) = FILES[index];
        let mut file: Value = serde_json::from_str(file).expect("an official schema is JSON");
        let root = if file.get("$defs").is_some() { "$defs" } else { "definitions" };
        let Value::Object(mut official) = file[root].take() else { panic!("an official schema has definitions") };
        exceptions::amend(&mut official);
        if revision == "2026-07-28" {
            tasks::add(&mut official);
        }
        let closed = closed::closed(&official, revision);
        let dialect = file["$schema"].take();
        Self { revision, root, dialect, official, closed, validators: Mutex::default() }
    }

    /// Its revision.
    pub fn revision(&self) -> &'static str {
        self.revision
    }

    /// What is wrong with `instance` as an instance of this definition: what the official schema refuses, else
    /// members that the definition does not know.
    ///
    /// # Panics
    /// When the schema has no such definition.
    pub fn check(&self, definition: &str, instance: &Value) -> Vec<Fault> {
        if self.validator(definition, Strictness::Closed).is_valid(instance) {
            return Vec::new();
        }
        let faults = self.faults(definition, Strictness::Official, instance);
        if faults.is_empty() { self.faults(definition, Strictness::Closed, instance) } else { faults }
    }

    fn faults(&self, definition: &str, strictness: Strictness, instance: &Value) -> Vec<Fault> {
        self.validator(definition, strictness).iter_errors(instance).flat_map(|error| Fault::all_of(&error)).collect()
    }

    /// Whether the schema has this definition.
    fn has(&self, definition: &str) -> bool {
        self.official.contains_key(definition)
    }

    fn validator(&self, definition: &str, strictness: Strictness) -> Arc<Validator> {
        let key = (definition.to_owned(), strictness);
        let mut validators = self.validators.lock().expect("nothing panics while holding it");
        if let Some(validator) = validators.get(&key) {
            return Arc::clone(validator);
        }
        let validator = Arc::new(self.compiled(definition, strictness));
        validators.insert(key, Arc::clone(&validator));
        validator
    }

    /// Only what the definition needs is compiled: the whole file takes seconds without optimisation.
    fn compiled(&self, definition: &str, strictness: Strictness) -> Validator {
        let all = match strictness {
            Strictness::Official => &self.official,
            Strictness::Closed => &self.closed,
        };
        let mut needed = BTreeSet::new();
        let mut open = vec![definition.to_owned()];
        while let Some(name) = open.pop() {
            let found = all.get(&name).unwrap_or_else(|| panic!("{} has no definition `{name}`", self.revision));
            if needed.insert(name) {
                references(found, &mut open);
            }
        }
        let definitions: Map<_, _> = needed.into_iter().map(|name| (name.clone(), all[&name].clone())).collect();
        let root = self.root;
        let schema = json!({
            "$schema": self.dialect,
            "allOf": [{ "$ref": format!("#/{root}/{definition}") }],
            root: definitions,
        });
        let options = jsonschema::options().should_validate_formats(true);
        let options = options.with_format("byte", |text: &str| STANDARD.decode(text).is_ok());
        options.build(&schema).unwrap_or_else(|error| panic!("{} `{definition}`: {error}", self.revision))
    }
}

/// The definitions that a schema refers to.
fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                found.extend(reference.rsplit('/').next().map(str::to_owned));
            }
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

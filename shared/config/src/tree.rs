//! The configuration while it is put together: values, and where each was given.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{KeyPath, Origin, document::Document, kinds::Kinds, path::Step, shape::Shape};

/// Values from all sources.
pub(crate) struct Tree {
    pub(crate) value: Value,
    file: Option<Document>,
    /// What was not given in the file, with the sections that were made for it.
    origins: BTreeMap<KeyPath, Origin>,
}

impl Tree {
    /// What the file says; nothing without one.
    pub(crate) fn new(mut file: Option<Document>) -> Self {
        let value = file.as_mut().map_or_else(|| Value::Object(Map::new()), |file| file.value.take());
        Self { value, file, origins: BTreeMap::new() }
    }

    /// Sets what stands at `path`. Sections merge key by key, everything else is replaced. Nothing happens when the
    /// way leads through something that is no section: that is wrong in itself and found later.
    pub(crate) fn put(&mut self, path: &KeyPath, value: Value, origin: &Origin) {
        if let Value::Object(keys) = value {
            for (key, value) in keys {
                self.put(&path.key(&key), value, origin);
            }
            return;
        }
        let mut place = &mut self.value;
        let mut way = KeyPath::default();
        let mut made = Vec::new();
        for step in path.steps() {
            if place.is_null() {
                *place = Value::Object(Map::new());
                made.push(way.clone());
            }
            let (Value::Object(keys), Step::Key(key)) = (place, step) else { return };
            way = way.key(key);
            place = keys.entry(key).or_insert(Value::Null);
        }
        *place = value;
        self.origins.retain(|set, _| !path.holds(set));
        made.push(way);
        self.origins.extend(made.into_iter().map(|path| (path, origin.clone())));
    }

    /// Where the value at `path`, or what is around it, was given.
    pub(crate) fn origin(&self, path: &KeyPath) -> Option<Origin> {
        let set = self.origins.iter().rev().find(|(set, _)| set.holds(path)).map(|(_, origin)| origin.clone());
        set.or_else(|| {
            let file = self.file.as_ref()?;
            Some(Origin::File { path: file.path.clone(), place: file.place_of(path) })
        })
    }

    /// Takes sections and lists without content for not given: in YAML that is a key with nothing, or comments, below.
    pub(crate) fn drop_empty_sections(&mut self, shape: Shape<'_>) {
        drop_empty(&mut self.value, shape, &KeyPath::default());
    }
}

fn drop_empty(value: &mut Value, shape: Shape<'_>, path: &KeyPath) {
    let is_section = |key: &str| {
        let kinds = shape.kinds_at(&path.key(key));
        kinds.meets(Kinds::OBJECT.or(Kinds::ARRAY)) && !kinds.meets(Kinds::NULL)
    };
    match value {
        Value::Object(keys) => {
            keys.retain(|key, value| !(value.is_null() && is_section(key)));
            for (key, value) in keys {
                drop_empty(value, shape, &path.key(key));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                drop_empty(item, shape, &path.item(index));
            }
        }
        _ => {}
    }
}

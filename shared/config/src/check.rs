//! Holds a configuration against its schema and says everything that does not fit, with the nearest key that would.
//!
//! Where a schema offers alternatives, a value is held against the one that it means: the one whose tag it has, else
//! the only one of its kind, else the one that it fits best.

use serde_json::{Map, Value};

use crate::{
    KeyPath, Problem,
    kinds::Kinds,
    reference::Secrets,
    shape::{Part, Shape, keys_of, values_of},
    suggest,
    words::{expected, one_of, quoted, range},
};

/// Holds values against one schema.
pub(crate) struct Check<'a> {
    shape: Shape<'a>,
    secrets: &'a Secrets,
    /// Every option, for keys that stand in the wrong section.
    options: Vec<KeyPath>,
}

impl<'a> Check<'a> {
    pub(crate) fn new(shape: Shape<'a>, secrets: &'a Secrets) -> Self {
        Self { shape, secrets, options: shape.options() }
    }

    /// Everything in `configuration` that does not fit.
    pub(crate) fn run(&self, configuration: &Value) -> Vec<Problem> {
        self.value(configuration, self.shape, &KeyPath::default())
    }

    fn value(&self, value: &Value, shape: Shape<'a>, path: &KeyPath) -> Vec<Problem> {
        let parts = match self.parts(value, shape, path) {
            Ok(parts) => parts,
            Err(problems) => return problems,
        };
        if !parts.iter().all(|part| Kinds::of_schema(part).meets(Kinds::of(value))) {
            return vec![self.wrong_kind(value, shape, path)];
        }
        let mut problems: Vec<_> = parts.iter().filter_map(|part| self.limits(value, part, path)).collect();
        match value {
            Value::Object(keys) => problems.extend(self.section(keys, shape, &parts, path)),
            Value::Array(items) => {
                let schemas: Vec<_> = parts.iter().filter_map(|part| part.get("items")).collect();
                for (index, item) in items.iter().enumerate() {
                    let path = path.item(index);
                    problems.extend(schemas.iter().flat_map(|schema| self.value(item, shape.at(schema), &path)));
                }
            }
            _ => {}
        }
        problems
    }

    /// The schema objects that `value` must fit all, with one chosen of each list of alternatives.
    fn parts(&self, value: &Value, shape: Shape<'a>, path: &KeyPath) -> Result<Vec<Part<'a>>, Vec<Problem>> {
        let mut parts = shape.parts();
        for alternatives in shape.alternatives(&parts) {
            let meant = self.choose(value, shape, &alternatives, path)?;
            parts.extend(self.parts(value, meant, path)?);
        }
        Ok(parts)
    }

    /// The one of `shape`'s alternatives that `value` means.
    fn choose(
        &self,
        value: &Value,
        shape: Shape<'a>,
        alternatives: &[Shape<'a>],
        path: &KeyPath,
    ) -> Result<Shape<'a>, Vec<Problem>> {
        let kind = Kinds::of(value);
        let fitting: Vec<_> = alternatives.iter().copied().filter(|shape| shape.kinds().meets(kind)).collect();
        if fitting.is_empty() {
            return Err(vec![self.wrong_kind(value, shape, path)]);
        }
        if let Some(keys) = value.as_object()
            && let Some(tag) = common_tag(&fitting)
        {
            return self.choose_by_tag(keys, tag, &fitting, path);
        }
        if let Some(values) = fitting.iter().map(|shape| shape.values()).collect::<Option<Vec<_>>>() {
            let meant = values.iter().position(|values| values.contains(&value));
            return meant.map(|at| fitting[at]).ok_or_else(|| vec![self.not_one_of(value, &values.concat(), path)]);
        }
        let attempts = fitting.iter().map(|shape| (self.value(value, *shape, path).len(), *shape));
        let best = attempts.min_by_key(|(problems, _)| *problems).expect("`fitting` is not empty");
        Ok(best.1)
    }

    fn choose_by_tag(
        &self,
        keys: &Map<String, Value>,
        tag: &str,
        alternatives: &[Shape<'a>],
        path: &KeyPath,
    ) -> Result<Shape<'a>, Vec<Problem>> {
        let tags: Vec<_> = alternatives.iter().filter_map(|shape| tag_value(*shape, tag)).collect();
        let Some(value) = keys.get(tag) else {
            if let Some(key) = keys.keys().find(|key| suggest::nearest(key, [tag].into_iter()).is_some()) {
                return Err(vec![self.unknown_key(&path.key(key), &[tag])]);
            }
            return Err(vec![problem(&path.key(tag), format!("this key is required, {}", one_of(&tags)))]);
        };
        let path = path.key(tag);
        let meant = tags.iter().position(|tag| *tag == value).map(|at| alternatives[at]);
        meant.ok_or_else(|| vec![self.not_one_of(value, &tags, &path)])
    }

    fn section(&self, keys: &Map<String, Value>, shape: Shape<'a>, parts: &[Part<'a>], path: &KeyPath) -> Vec<Problem> {
        let mut problems = Vec::new();
        let known: Vec<_> = parts.iter().flat_map(|part| keys_of(part)).collect();
        let is_closed =
            !known.is_empty() || parts.iter().any(|part| part.get("additionalProperties") == Some(&false.into()));
        for (key, value) in keys {
            let path = path.key(key);
            let schemas: Vec<_> = parts.iter().filter_map(|part| shape.property(part, key)).collect();
            if schemas.is_empty() && is_closed {
                problems.push(self.unknown_key(&path, &known));
            }
            problems.extend(schemas.into_iter().flat_map(|schema| self.value(value, schema, &path)));
        }
        let required = parts.iter().filter_map(|part| part.get("required")?.as_array()).flatten();
        let missing = required.filter_map(Value::as_str).filter(|key| !keys.contains_key(*key));
        for path in missing.map(|key| path.key(key)) {
            // It may be there under a name that is slightly wrong, which says it better.
            if problems.iter().all(|problem| problem.nearest.as_deref() != Some(&path.to_string())) {
                problems.push(problem(&path, "this key is required".to_owned()));
            }
        }
        problems
    }

    fn unknown_key(&self, path: &KeyPath, known: &[&str]) -> Problem {
        let nearest = suggest::key(path, known, &self.options).map(|key| key.to_string());
        let reason = match nearest {
            Some(_) => "unknown key".to_owned(),
            None if known.is_empty() => "unknown key, there are none here".to_owned(),
            None => format!("unknown key, known here are {}", quoted(known.iter().copied())),
        };
        Problem { path: path.clone(), origin: None, reason, nearest }
    }

    fn wrong_kind(&self, value: &Value, shape: Shape<'_>, path: &KeyPath) -> Problem {
        let expected = expected(shape);
        let reason = match self.secrets.at(path) {
            Some(reference) => format!("expected {expected}, but `{reference}` gave {}", Kinds::of(value).words()),
            None => format!("expected {expected}, got {}", Kinds::of(value).words()),
        };
        problem(path, reason)
    }

    fn not_one_of(&self, value: &Value, values: &[&Value], path: &KeyPath) -> Problem {
        let choice = one_of(values);
        if let Some(reference) = self.secrets.at(path) {
            return problem(path, format!("what `{reference}` gave is not {choice}"));
        }
        let Some(word) = value.as_str() else { return problem(path, format!("this is not {choice}")) };
        let nearest = suggest::nearest(word, values.iter().filter_map(|value| value.as_str())).map(str::to_owned);
        Problem { path: path.clone(), origin: None, reason: format!("`{word}` is not {choice}"), nearest }
    }

    /// What one schema object says against the content of `value`, whose kind is right.
    fn limits(&self, value: &Value, part: Part<'_>, path: &KeyPath) -> Option<Problem> {
        if let Some(values) = values_of(part).filter(|values| !values.contains(&value)) {
            return Some(self.not_one_of(value, &values, path));
        }
        let (noun, size, least, most) = match value {
            Value::Number(number) => ("a number", number.as_f64()?, "minimum", "maximum"),
            Value::String(text) => ("a length", text.chars().count() as f64, "minLength", "maxLength"),
            Value::Array(items) => ("a number of items", items.len() as f64, "minItems", "maxItems"),
            _ => return None,
        };
        let limit = |keyword| part.get(keyword).and_then(Value::as_f64);
        let (least, most) = (limit(least), limit(most));
        if least.is_none_or(|least| size >= least) && most.is_none_or(|most| size <= most) {
            return None;
        }
        let given = match self.secrets.at(path) {
            Some(reference) => format!("but `{reference}` gave another"),
            None => format!("got {size}"),
        };
        Some(problem(path, format!("expected {noun} {}, {given}", range(least, most))))
    }
}

fn problem(path: &KeyPath, reason: String) -> Problem {
    Problem { path: path.clone(), origin: None, reason, nearest: None }
}

/// The key whose value tells the alternatives apart.
fn common_tag<'s>(alternatives: &[Shape<'s>]) -> Option<&'s str> {
    let first = alternatives.first()?.parts();
    let mut keys = first.iter().flat_map(|part| keys_of(part));
    keys.find(|key| alternatives.iter().all(|shape| tag_value(*shape, key).is_some()))
}

fn tag_value<'s>(shape: Shape<'s>, key: &str) -> Option<&'s Value> {
    let parts = shape.parts();
    parts.iter().find_map(|part| part.get("properties")?.get(key)?.get("const"))
}

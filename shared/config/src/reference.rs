//! References in values: `${env:NAME}` is an environment variable, `${file:PATH}` the content of a file without the
//! newline at its end, where a relative path counts from the working directory. `$${` is a plain `${`.
//!
//! They stand in any string, as the whole of it or as a part. A whole one may become a number, `true` or `false`
//! where the schema wants that. What they give is not searched for further references, and no error ever shows it.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use crate::{KeyPath, Problem, document::read_at_most, kinds::Kinds, shape::Shape, sources::Variables, value};

/// The largest file that a reference reads, in bytes.
const MAX_SECRET_BYTES: u64 = 1024 * 1024;

/// Which values came through references, and through which: `env:NAME` or `file:PATH`.
#[derive(Default)]
pub(crate) struct Secrets(BTreeMap<KeyPath, String>);

impl Secrets {
    /// The reference that the value at `path` came through.
    pub(crate) fn at(&self, path: &KeyPath) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// A reference that the value at `path`, something in it, or something around it came through.
    pub(crate) fn near(&self, path: &KeyPath) -> Option<&str> {
        let mut all = self.0.iter();
        all.find(|(secret, _)| path.holds(secret) || secret.holds(path)).map(|(_, reference)| reference.as_str())
    }
}

/// Puts what they stand for in place of all references in `configuration`. One that cannot be resolved stays.
pub(crate) fn resolve(configuration: &mut Value, shape: Shape<'_>, variables: &Variables) -> (Secrets, Vec<Problem>) {
    let mut resolver = Resolver { shape, variables, secrets: Secrets::default(), problems: Vec::new() };
    resolver.value(configuration, &KeyPath::default());
    (resolver.secrets, resolver.problems)
}

struct Resolver<'a> {
    shape: Shape<'a>,
    variables: &'a Variables,
    secrets: Secrets,
    problems: Vec<Problem>,
}

impl Resolver<'_> {
    fn value(&mut self, value: &mut Value, path: &KeyPath) {
        match value {
            Value::String(text) if text.contains("${") => match expand(text, self.variables) {
                Ok(expanded) => *value = self.expanded(expanded, path),
                Err(reason) => {
                    self.problems.push(Problem { path: path.clone(), origin: None, reason, nearest: None });
                }
            },
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, &path.item(index));
                }
            }
            Value::Object(keys) => {
                for (key, value) in keys {
                    self.value(value, &path.key(key));
                }
            }
            _ => {}
        }
    }

    fn expanded(&mut self, expanded: Expanded, path: &KeyPath) -> Value {
        let Some(reference) = expanded.reference else { return expanded.text.into() };
        self.secrets.0.insert(path.clone(), reference);
        if !expanded.whole {
            return expanded.text.into();
        }
        let kinds = self.shape.kinds_at(path);
        let scalar = Kinds::BOOLEAN.or(Kinds::INTEGER).or(Kinds::FRACTION);
        // Where a string may stand the text is meant, also when it looks like a number.
        let kinds = if kinds.meets(Kinds::STRING) { Kinds::STRING } else { kinds.and(scalar) };
        match kinds {
            Kinds::STRING => expanded.text.into(),
            _ => value::from_text(&expanded.text, kinds).unwrap_or_else(|_| expanded.text.into()),
        }
    }
}

struct Expanded {
    text: String,
    /// The first reference in it; `None` when there were only escapes.
    reference: Option<String>,
    /// The reference was all there was.
    whole: bool,
}

fn expand(text: &str, variables: &Variables) -> Result<Expanded, String> {
    let mut expanded = Expanded { text: String::new(), reference: None, whole: false };
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, reference) = (&rest[..at], &rest[at + 2..]);
        if let Some(before) = before.strip_suffix('$') {
            expanded.text.push_str(before);
            expanded.text.push_str("${");
            rest = reference;
            continue;
        }
        // Not shown: what only looks like a reference may be part of a password.
        let malformed = "`${` begins a reference, `${env:NAME}` or `${file:PATH}`; a plain one is written `$${`";
        let (reference, after) = reference.split_once('}').ok_or(malformed)?;
        let (kind, name) = reference.split_once(':').filter(|(_, name)| !name.is_empty()).ok_or(malformed)?;
        let found = match kind {
            "env" => variables.get(name)?,
            "file" => file(Path::new(name))?,
            _ => return Err(malformed.to_owned()),
        };
        expanded.text.push_str(before);
        expanded.text.push_str(&found);
        expanded.whole = rest.len() == text.len() && before.is_empty() && after.is_empty();
        expanded.reference.get_or_insert_with(|| reference.to_owned());
        rest = after;
    }
    expanded.text.push_str(rest);
    Ok(expanded)
}

fn file(path: &Path) -> Result<String, String> {
    let bytes = read_at_most(path, MAX_SECRET_BYTES)
        .map_err(|error| format!("the file `{}` cannot be read: {error}", path.display()))?
        .ok_or_else(|| format!("the file `{}` is larger than {MAX_SECRET_BYTES} bytes", path.display()))?;
    // The error of the conversion holds the bytes, so it is not passed on.
    let mut text = String::from_utf8(bytes).map_err(|_| format!("the file `{}` is not UTF-8 text", path.display()))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

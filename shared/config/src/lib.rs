//! Configuration from a file, the environment and the command line, checked before anything starts.
//!
//! Works for any type of options that can be read by serde and has a JSON Schema: [`load`] merges the sources, names
//! everything that does not fit with its key, its origin and the nearest key that would, and returns the options;
//! [`schema`] describes the file; [`check`] looks at a file without using it. Nothing here knows what the options are.

mod check;
mod document;
pub mod duration;
mod environment;
mod error;
mod kinds;
mod path;
mod place;
mod reference;
mod schema;
mod shape;
mod sources;
mod suggest;
mod tree;
mod value;
mod words;

use std::{ffi::OsString, path::Path};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

pub use document::MAX_FILE_BYTES;
pub use environment::PREFIX;
pub use error::{ConfigError, Origin, Place, Problem};
pub use path::KeyPath;
pub use schema::schema;
pub use sources::Sources;

use crate::{check::Check, document::Document, reference::Secrets, shape::Shape, tree::Tree};

/// The options that these sources make: command line options beat environment variables, which beat the file, which
/// beats the defaults. Reads files, so it blocks.
///
/// # Errors
/// The file cannot be read or is neither JSON nor YAML; else everything that is wrong with keys and values, at once.
pub fn load<T: DeserializeOwned + JsonSchema>(sources: &Sources) -> Result<T, ConfigError> {
    let document = schema::strict::<T>();
    let shape = Shape::of_document(&document);
    let file = sources.file.as_deref().map(Document::read).transpose()?;
    let mut tree = Tree::new(file);
    if let Value::Object(keys) = &mut tree.value {
        keys.shift_remove(schema::SCHEMA_KEY);
    }
    tree.drop_empty_sections(shape);

    let mut problems = Vec::new();
    if !sources.only_references {
        problems.extend(environment::overlay(&mut tree, shape, sources));
    }
    problems.extend(apply_options(&mut tree, shape, sources));
    let (secrets, unresolved) = reference::resolve(&mut tree.value, shape, &sources.variables);
    problems.extend(unresolved);
    for problem in Check::new(shape, &secrets).run(&tree.value) {
        // A value that could not be read or resolved has been named already.
        if problems.iter().all(|known| known.path != problem.path) {
            problems.push(problem);
        }
    }
    if problems.is_empty() {
        match fit(&tree.value, &secrets) {
            Ok(options) => return Ok(options),
            Err(problem) => problems.push(problem),
        }
    }
    for problem in &mut problems {
        problem.origin = problem.origin.take().or_else(|| tree.origin(&problem.path));
    }
    Err(ConfigError::Invalid(problems))
}

/// The options that this file alone makes, with `variables` for its references only.
///
/// # Errors
/// As [`load`].
pub fn check<T: DeserializeOwned + JsonSchema>(
    path: &Path,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<T, ConfigError> {
    load::<T>(&Sources::for_check(path, variables))
}

fn apply_options(tree: &mut Tree, shape: Shape<'_>, sources: &Sources) -> Vec<Problem> {
    let mut problems = Vec::new();
    for setting in &sources.options {
        let path = KeyPath::of_keys(&setting.path);
        let origin = Origin::Option(setting.name.clone());
        let value = match &setting.value {
            Value::String(text) => value::from_text(text, shape.kinds_at(&path)),
            other => Ok(other.clone()),
        };
        match value {
            Ok(value) => tree.put(&path, value, &origin),
            Err(reason) => problems.push(Problem { path, origin: Some(origin), reason, nearest: None }),
        }
    }
    problems
}

/// Reads the options. What the schema says of them holds by now, so only what it cannot say may still fail.
fn fit<T: DeserializeOwned>(value: &Value, secrets: &Secrets) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().iter().fold(KeyPath::default(), |path, segment| match segment {
            Segment::Seq { index } => path.item(*index),
            Segment::Map { key } => path.key(key),
            Segment::Enum { .. } | Segment::Unknown => path,
        });
        let reason = match secrets.near(&path) {
            Some(reference) => {
                format!("this does not fit; the reason might show what `{reference}` gave, so it is left out")
            }
            None => error.inner().to_string(),
        };
        Problem { path, origin: None, reason, nearest: None }
    })
}

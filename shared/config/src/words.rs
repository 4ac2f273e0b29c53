//! What is expected, in words.

use serde_json::Value;

use crate::shape::Shape;

/// What would fit `shape`.
pub(crate) fn expected(shape: Shape<'_>) -> String {
    if let Some(values) = shape.values() {
        return one_of(&values);
    }
    let parts = shape.parts();
    let limit = |keyword| parts.iter().find_map(|part| part.get(keyword)?.as_f64());
    let mut words = shape.kinds().words();
    if let (least, Some(most)) = (limit("minimum"), limit("maximum")) {
        words = format!("{words} {}", range(least, Some(most)));
    }
    match parts.iter().find_map(|part| part.get("examples")?.get(0)?.as_str()) {
        Some(example) => format!("{words}, such as `{example}`"),
        None => words,
    }
}

/// What lies between limits.
pub(crate) fn range(least: Option<f64>, most: Option<f64>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!("from {least} to {most}"),
        (Some(least), None) => format!("of at least {least}"),
        (None, Some(most)) => format!("of at most {most}"),
        (None, None) => String::new(),
    }
}

/// These values and no others.
pub(crate) fn one_of(values: &[&Value]) -> String {
    let words = values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let words: Vec<_> = words.collect();
    match words.as_slice() {
        [only] => format!("`{only}`"),
        _ => format!("one of {}", quoted(words.iter().map(String::as_str))),
    }
}

/// Words for themselves, not for what they mean.
pub(crate) fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

//! A schema violation in words.

use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;
use switchyard_proto::v1::Violation;

/// How many violations of one call are told.
pub(crate) const MAX_VIOLATIONS: usize = 16;

/// How long what a client wrote, or a schema says, may become in an answer, in characters.
const MAX_WORDS: usize = 120;

/// How long a message may become, in characters.
const MAX_SENTENCE: usize = 200;

/// One violation, for programs and for people.
pub(crate) struct Found {
    pub(crate) violation: Violation,
    /// The beginning of a sentence.
    pub(crate) complaint: String,
}

/// What is wrong, once for each argument; values are never repeated, for they may be secrets.
pub(crate) fn violations(error: &ValidationError<'_>, schema: &Value) -> Vec<Found> {
    let at = error.instance_path().to_string();
    match error.kind() {
        Kind::Required { property } => {
            let pointer = below(&at, property.as_str().unwrap_or_default());
            vec![found(&pointer, "a value, as it is required", "is required")]
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .take(MAX_VIOLATIONS)
            .map(|name| found(&below(&at, name), "nothing, as there is no such argument", &unknown(&at, schema)))
            .collect(),
        kind => {
            let (verb, words) = words(kind);
            let words = match remark(error, schema) {
                Some(remark) => clip(&format!("{words} ({remark})"), MAX_WORDS),
                None => clip(&words, MAX_WORDS),
            };
            vec![found(&at, &words, &format!("must {verb} {words}"))]
        }
    }
}

/// A whole message: `complaint`, and how many more there are.
pub(crate) fn sentence(complaint: &str, more: usize) -> String {
    match more {
        0 => clip(complaint, MAX_SENTENCE),
        1 => clip(complaint, MAX_SENTENCE - 30) + ", and 1 more does not fit",
        _ => clip(complaint, MAX_SENTENCE - 30) + &format!(", and {more} more do not fit"),
    }
}

fn found(pointer: &str, expected: &str, complaint: &str) -> Found {
    let name = pointer.strip_prefix('/').unwrap_or(pointer).replace("~1", "/").replace("~0", "~");
    let subject =
        if name.is_empty() { "the arguments".to_owned() } else { format!("argument `{}`", clip(&name, MAX_WORDS / 2)) };
    Found {
        violation: Violation { pointer: clip(pointer, MAX_WORDS), expected: expected.to_owned() },
        complaint: format!("{subject} {complaint}"),
    }
}

/// What was expected, behind "must be" or "must have".
fn words(kind: &Kind) -> (&'static str, String) {
    let be = |words: String| ("be", words);
    match kind {
        Kind::Type { kind: TypeKind::Single(kind) } => be(type_words(*kind).to_owned()),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            be(kinds.iter().map(type_words).collect::<Vec<_>>().join(" or "))
        }
        Kind::Minimum { limit } => be(format!("at least {limit}")),
        Kind::Maximum { limit } => be(format!("at most {limit}")),
        Kind::ExclusiveMinimum { limit } => be(format!("more than {limit}")),
        Kind::ExclusiveMaximum { limit } => be(format!("less than {limit}")),
        Kind::MultipleOf { multiple_of } => be(format!("a multiple of {multiple_of}")),
        Kind::MinLength { limit } => ("have", counted("at least", *limit, "character")),
        Kind::MaxLength { limit } => ("have", counted("at most", *limit, "character")),
        Kind::MinItems { limit } => ("have", counted("at least", *limit, "item")),
        Kind::MaxItems { limit } => ("have", counted("at most", *limit, "item")),
        Kind::MinProperties { limit } => ("have", counted("at least", *limit, "member")),
        Kind::MaxProperties { limit } => ("have", counted("at most", *limit, "member")),
        Kind::UniqueItems => ("have", "no item twice".to_owned()),
        Kind::Pattern { pattern } => be(format!("something that matches `{pattern}`")),
        Kind::Format { format } if format == "uri" => be("a URI".to_owned()),
        Kind::Format { format } => be(format!("in the format `{format}`")),
        Kind::Constant { expected_value } => be(expected_value.to_string()),
        Kind::Enum { options } => be(format!("one of {}", options_words(options))),
        Kind::FalseSchema => be("nothing".to_owned()),
        other => be(format!("a value that fits the schema ({})", other.keyword())),
    }
}

fn counted(bound: &str, limit: u64, what: &str) -> String {
    format!("{bound} {limit} {what}{}", if limit == 1 { "" } else { "s" })
}

fn type_words(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
    }
}

fn options_words(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    options.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

/// A pattern says little to people, so the description of its argument is added.
fn remark<'a>(error: &ValidationError<'_>, schema: &'a Value) -> Option<&'a str> {
    let path = error.schema_path().to_string();
    let argument = path.strip_suffix("/pattern")?;
    schema.pointer(argument)?.get("description")?.as_str()
}

/// Which arguments there are, where one is not.
fn unknown(at: &str, schema: &Value) -> String {
    let known = schema.get("properties").and_then(Value::as_object).filter(|_| at.is_empty());
    match known.map(|known| known.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>()) {
        Some(known) if !known.is_empty() => format!("is not known, only {}", clip(&known.join(", "), MAX_WORDS / 2)),
        _ => "is not known".to_owned(),
    }
}

fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// At most `limit` characters, all of them printable.
fn clip(text: &str, limit: usize) -> String {
    let mut rest = text.chars().map(|one| if one.is_control() { ' ' } else { one });
    let mut clipped: String = rest.by_ref().take(limit).collect();
    if rest.next().is_some() {
        clipped.pop();
        clipped.push('…');
    }
    clipped
}

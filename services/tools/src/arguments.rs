//! What a client passes, checked against the tool's schema.
//!
//! Arguments are parsed once. JSON that is nested deeper than 128 levels, or whose numbers fit no type, is refused like
//! any other that does not fit.

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value};
use switchyard_proto::v1::{Failure, Violation};
use tonic::Status;

use crate::expected;

/// A schema, compiled once.
pub(crate) struct Schema {
    validator: Validator,
    schema: Value,
}

impl Schema {
    /// Compiles a JSON Schema 2020-12. It refers to nothing outside of itself, for nothing is fetched; `format` is
    /// checked and not only noted.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
        let validator = options.build(schema).map_err(|error| error.to_string())?;
        Ok(Self { validator, schema: schema.clone() })
    }

    /// Whether a value fits.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// The arguments in `json`, one JSON object that fits the schema; nothing at all stands for an empty one.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with what was expected, and where.
    pub(crate) fn parse(&self, json: &[u8]) -> Result<Map<String, Value>, Status> {
        let json = if json.is_empty() { b"{}" } else { json };
        let arguments = serde_json::from_slice(json).map_err(|error| no_object(&format!(": {error}")))?;
        if !matches!(arguments, Value::Object(_)) {
            return Err(no_object(", and they are something else"));
        }
        if !self.fits(&arguments) {
            return Err(self.refusal(&arguments));
        }
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            _ => Err(no_object("")),
        }
    }

    fn refusal(&self, arguments: &Value) -> Status {
        let errors = self.validator.iter_errors(arguments);
        let mut found: Vec<_> = errors.flat_map(|error| expected::violations(&error, &self.schema)).collect();
        found.dedup_by(|a, b| a.violation.pointer == b.violation.pointer);
        found.truncate(expected::MAX_VIOLATIONS);
        let Some(first) = found.first() else { return no_object(" that fits the tool's schema") };
        let message = expected::sentence(&first.complaint, found.len() - 1);
        Failure::invalid(found.into_iter().map(|found| found.violation).collect(), message)
    }
}

fn no_object(why: &str) -> Status {
    let violation = Violation { pointer: String::new(), expected: "one JSON object".to_owned() };
    Failure::invalid(vec![violation], expected::sentence(&format!("the arguments must be one JSON object{why}"), 0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;
    use switchyard_proto::v1::failure::Reason;
    use tonic::Code;

    use super::*;

    fn schema() -> Schema {
        Schema::compile(&json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 2, "maxLength": 5},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
                "ratio": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                "step": {"type": "number", "multipleOf": 5},
                "url": {"type": "string", "format": "uri", "pattern": "^https?://", "description": "Where to look."},
                "order": {"enum": ["up", "down", 3]},
                "only": {"const": true},
                "tags": {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": true, "items": {"type": "string"}},
                "box": {"type": "object", "required": ["width"], "properties": {"width": {"type": ["integer", "null"]}}},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "never": false,
            },
            "required": ["query"],
            "additionalProperties": false,
        }))
        .unwrap()
    }

    /// The violations as `pointer: expected`, and the message.
    fn refused(json: &str) -> (Vec<String>, String) {
        let status = schema().parse(json.as_bytes()).unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        let Some(Reason::Violations(violations)) = Failure::of(&status) else {
            panic!("{status:?} tells no violations")
        };
        let violations = violations.violations.into_iter().map(|at| format!("{}: {}", at.pointer, at.expected));
        (violations.collect(), status.message().to_owned())
    }

    #[test]
    fn arguments_that_fit_are_returned_as_they_are() {
        let arguments = schema().parse(br#"{"query":"abc","limit":10.0,"url":"https://a.example/"}"#).unwrap();

        assert_eq!(Value::Object(arguments), json!({"query": "abc", "limit": 10.0, "url": "https://a.example/"}));
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        let schema = Schema::compile(&json!({"type": "object"})).unwrap();

        assert!(schema.parse(b"").unwrap().is_empty());
        assert!(schema.parse(b"{}").unwrap().is_empty());
    }

    #[test]
    fn each_violation_names_the_argument_and_what_was_expected() {
        let table = [
            (r#"{}"#, "/query: a value, as it is required"),
            (r#"{"query":"a"}"#, "/query: at least 2 characters"),
            (r#"{"query":"abcdef"}"#, "/query: at most 5 characters"),
            (r#"{"query":7}"#, "/query: a string"),
            (r#"{"query":null}"#, "/query: a string"),
            (r#"{"query":"ab","limit":0}"#, "/limit: at least 1"),
            (r#"{"query":"ab","limit":101}"#, "/limit: at most 100"),
            (r#"{"query":"ab","limit":1.5}"#, "/limit: a whole number"),
            (r#"{"query":"ab","limit":"10"}"#, "/limit: a whole number"),
            (r#"{"query":"ab","limit":123456789012345678901234567890}"#, "/limit: at most 100"),
            (r#"{"query":"ab","ratio":0}"#, "/ratio: more than 0"),
            (r#"{"query":"ab","ratio":1}"#, "/ratio: less than 1"),
            (r#"{"query":"ab","step":7}"#, "/step: a multiple of 5"),
            (
                r#"{"query":"ab","url":"ftp://a.example/"}"#,
                "/url: something that matches `^https?://` (Where to look.)",
            ),
            (r#"{"query":"ab","url":"http://a b/"}"#, "/url: a URI"),
            (r#"{"query":"ab","order":"left"}"#, r#"/order: one of "up", "down", 3"#),
            (r#"{"query":"ab","only":false}"#, "/only: true"),
            (r#"{"query":"ab","tags":[]}"#, "/tags: at least 1 item"),
            (r#"{"query":"ab","tags":["a","b","c"]}"#, "/tags: at most 2 items"),
            (r#"{"query":"ab","tags":["a","a"]}"#, "/tags: no item twice"),
            (r#"{"query":"ab","tags":[1]}"#, "/tags/0: a string"),
            (r#"{"query":"ab","box":{}}"#, "/box/width: a value, as it is required"),
            (r#"{"query":"ab","box":{"width":"x"}}"#, "/box/width: null or a whole number"),
            (r#"{"query":"ab","either":1}"#, "/either: a value that fits the schema (anyOf)"),
            (r#"{"query":"ab","never":1}"#, "/never: nothing"),
            (r#"{"query":"ab","colour":1}"#, "/colour: nothing, as there is no such argument"),
            (r#"{"query":"ab","a/b~c":1}"#, "/a~1b~0c: nothing, as there is no such argument"),
            ("[]", ": one JSON object"),
            ("null", ": one JSON object"),
            (r#""{}""#, ": one JSON object"),
            ("{", ": one JSON object"),
            ("{} {}", ": one JSON object"),
            ("\u{feff}{}", ": one JSON object"),
            (r#"{"query":"\ud800"}"#, ": one JSON object"),
            (r#"{"query":"ab","limit":1e999}"#, ": one JSON object"),
            (r#"{"query":"ab","limit":NaN}"#, ": one JSON object"),
        ];

        for (arguments, expected) in table {
            let (violations, message) = refused(arguments);

            assert_eq!(violations, [expected], "{arguments}");
            assert!((20..=200).contains(&message.chars().count()), "{message}");
            let pointer = expected.split_once(':').unwrap().0;
            let name = pointer.trim_start_matches('/').replace("~1", "/").replace("~0", "~");
            assert!(message.contains(&name), "{message} names {name}");
        }
    }

    #[test]
    fn the_message_is_one_sentence_about_the_first_of_them() {
        let (_, one) = refused(r#"{"query":"ab","limit":101}"#);
        let (violations, three) = refused(r#"{"query":"a","limit":101,"order":1}"#);

        assert_eq!(one, "argument `limit` must be at most 100");
        assert_eq!(violations.len(), 3);
        assert_eq!(three, "argument `query` must have at least 2 characters, and 2 more do not fit");
    }

    #[test]
    fn a_message_stays_short_and_printable_whatever_was_passed() {
        let name = "x\n\u{7}".repeat(10_000);
        let (violations, message) = refused(&json!({"query": "ab", &name: 1}).to_string());

        assert!(message.chars().count() <= 200 && !message.contains(char::is_control), "{message:?}");
        assert!(violations[0].len() < 1000, "{}", violations[0].len());
    }

    #[test]
    fn many_violations_are_cut() {
        let arguments: Map<_, _> = (0..1000).map(|n| (n.to_string(), Value::Null)).collect();

        assert_eq!(refused(&Value::Object(arguments).to_string()).0.len(), expected::MAX_VIOLATIONS);
    }

    #[test]
    fn deep_nesting_and_broken_text_are_refused_without_harm() {
        let deep = format!(r#"{{"query":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));

        assert_eq!(refused(&deep).0, [": one JSON object"]);
        assert_eq!(schema().parse(b"{\"query\":\"\xff\xfe\"}").unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn of_a_name_passed_twice_the_last_one_counts() {
        let arguments = schema().parse(br#"{"query":"first","query":"last"}"#).unwrap();

        assert_eq!(arguments["query"], "last");
    }

    #[test]
    fn a_schema_that_refers_elsewhere_does_not_compile() {
        assert!(Schema::compile(&json!({"$ref": "https://schemas.example/a.json"})).is_err());
        assert!(Schema::compile(&json!({"$ref": "file:///etc/passwd"})).is_err());
        assert!(Schema::compile(&json!({"type": "nothing"})).is_err());
    }
}

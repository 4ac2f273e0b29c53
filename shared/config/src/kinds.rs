//! The kinds of JSON values, and what they are called towards people.

use serde_json::{Map, Value};

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    /// Numbers with a fraction. What may be any number is `INTEGER` and `FRACTION`.
    pub(crate) const FRACTION: Self = Self(8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the sets have a kind in common.
    pub(crate) fn meets(self, other: Self) -> bool {
        self.and(other) != Self::NONE
    }

    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::FRACTION,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// What the keywords of one schema object permit.
    pub(crate) fn of_schema(schema: &Map<String, Value>) -> Self {
        if let Some(value) = schema.get("const") {
            return Self::of(value);
        }
        match (schema.get("type"), schema.get("enum")) {
            (Some(Value::String(name)), _) => Self::named(name),
            (Some(Value::Array(names)), _) => {
                names.iter().filter_map(Value::as_str).map(Self::named).fold(Self::NONE, Self::or)
            }
            (_, Some(Value::Array(values))) => values.iter().map(Self::of).fold(Self::NONE, Self::or),
            _ => Self::ALL,
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER.or(Self::FRACTION),
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::NONE,
        }
    }

    /// The kinds in words, such as `a string or true or false`; leaving something out is no kind.
    pub(crate) fn words(self) -> String {
        let names = [
            (Self::BOOLEAN, "true or false"),
            (Self::FRACTION, "a number"),
            (Self::INTEGER, "a whole number"),
            (Self::STRING, "a string"),
            (Self::ARRAY, "a list"),
            (Self::OBJECT, "a section of keys"),
            (Self::NULL, "nothing"),
        ];
        let mut kinds = if self == Self::NULL { self } else { self.without(Self::NULL) };
        if kinds.meets(Self::FRACTION) {
            kinds = kinds.without(Self::INTEGER);
        }
        let words: Vec<_> = names.iter().filter(|(kind, _)| kinds.meets(*kind)).map(|(_, name)| *name).collect();
        words.join(" or ")
    }
}

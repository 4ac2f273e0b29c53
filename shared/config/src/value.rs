//! JSON values: whose objects hold every key once, and what a text from outside means as one.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess},
};
use serde_json::{Map, Number, Value};

use crate::kinds::Kinds;

/// What `text` means where values of these kinds may stand: JSON when that is of such a kind, else the text itself.
/// Where a string may stand, quotes belong to the text and `null` is a word.
///
/// # Errors
/// A list or section is the only possibility, and the text begins like one but is no JSON.
pub(crate) fn from_text(text: &str, kinds: Kinds) -> Result<Value, String> {
    let string = kinds.meets(Kinds::STRING);
    let beside_text = if string { kinds.without(Kinds::STRING.or(Kinds::NULL)) } else { kinds };
    let begins_json = text.trim_start().starts_with(['[', '{']) && kinds.meets(Kinds::ARRAY.or(Kinds::OBJECT));
    match serde_json::from_str::<Unique>(text) {
        Ok(Unique(value)) if Kinds::of(&value).meets(beside_text) => Ok(value),
        Err(error) if begins_json && !string => Err(format!("this is not JSON: {error}")),
        _ => Ok(text.into()),
    }
}

/// A value that was read, and refused when one of its objects had a key twice.
pub(crate) struct Unique(pub(crate) Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl<'de> de::Visitor<'de> for Visitor {
    type Value = Unique;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Unique, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number must be finite"))?;
        Ok(Unique(number.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Unique(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Unique, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(de::Error::custom(format!("the key `{key}` stands here twice")));
            }
            let Unique(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(Unique(map.into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_becomes_json_only_of_the_kinds_that_may_stand_there() {
        let number = Kinds::INTEGER.or(Kinds::FRACTION);
        for (text, kinds, value) in [
            ("3000", Kinds::INTEGER, json!(3000)),
            ("3000", Kinds::STRING, json!("3000")),
            ("30", Kinds::STRING.or(number), json!(30)),
            ("30m", Kinds::STRING.or(number), json!("30m")),
            ("1.5", number, json!(1.5)),
            ("1.5", Kinds::INTEGER, json!("1.5")),
            ("true", Kinds::BOOLEAN, json!(true)),
            ("yes", Kinds::BOOLEAN, json!("yes")),
            ("null", Kinds::INTEGER.or(Kinds::NULL), json!(null)),
            ("null", Kinds::STRING, json!("null")),
            ("null", Kinds::STRING.or(Kinds::NULL), json!("null")),
            ("\"a\"", Kinds::STRING, json!("\"a\"")),
            ("\"a\"", Kinds::ALL, json!("\"a\"")),
            ("7", Kinds::ALL, json!(7)),
            ("", Kinds::INTEGER, json!("")),
            ("[1]", Kinds::ARRAY, json!([1])),
            ("[1]", Kinds::STRING, json!("[1]")),
            ("[1", Kinds::STRING.or(Kinds::ARRAY), json!("[1")),
            ("{\"a\": 1}", Kinds::OBJECT, json!({"a": 1})),
            ("a", Kinds::ARRAY, json!("a")),
        ] {
            assert_eq!(from_text(text, kinds), Ok(value), "{text}");
        }
    }

    #[test]
    fn broken_json_is_refused_where_nothing_else_may_stand() {
        let error = from_text("[1", Kinds::ARRAY);

        assert_eq!(error, Err("this is not JSON: EOF while parsing a list at line 1 column 2".to_owned()));
        assert!(from_text("{\"a\": 1, \"a\": 2}", Kinds::OBJECT).is_err());
    }
}

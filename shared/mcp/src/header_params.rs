//! Tool arguments that a client repeats in headers, because the tool's schema marks them with `x-mcp-header`.

use serde_json::Value;

use crate::{RpcError, headers::decoded};

/// One argument that is repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderParam {
    /// The header, in lower case.
    pub header: String,
    /// Where the argument is: the names from the outermost object inwards.
    path: Vec<String>,
}

impl HeaderParam {
    /// The arguments that a tool's definition marks. Only properties of properties count, as the protocol has it.
    pub fn of_tool(definition: &str) -> Vec<Self> {
        let definition: Value = serde_json::from_str(definition).unwrap_or_default();
        let mut found = Vec::new();
        collect(&definition["inputSchema"], &mut Vec::new(), &mut found);
        found
    }

    /// What the header has to say of these arguments; `None` where it must not be there.
    pub fn text(&self, arguments: &Value) -> Option<String> {
        match self.argument(arguments)? {
            Value::String(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn argument<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let argument = self.path.iter().try_fold(arguments, |object, name| object.get(name));
        argument.filter(|argument| !argument.is_null())
    }

    /// Whether the header says what the argument does.
    ///
    /// # Errors
    /// -32020 when one of both is missing, or they differ.
    pub fn check(&self, arguments: &Value, header: Option<&[u8]>) -> Result<(), RpcError> {
        let wrong = |what: &str| {
            let message = format!("the `{}` header {what} the argument `{}`", self.header, self.path.join("."));
            RpcError::new(RpcError::HEADER_MISMATCH, message)
        };
        match (self.argument(arguments), header) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(wrong("comes without")),
            (Some(_), None) => Err(wrong("is missing, which repeats")),
            (Some(argument), Some(header)) => {
                let says = decoded(header).ok_or_else(|| wrong("cannot be decoded, which repeats"))?;
                if is_same(argument, &says) { Ok(()) } else { Err(wrong("differs from")) }
            }
        }
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderParam>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            found
                .push(HeaderParam { header: format!("mcp-param-{}", header.to_ascii_lowercase()), path: path.clone() });
        }
        collect(property, path, found);
        path.pop();
    }
}

/// Strings are compared to the letter, numbers by value.
fn is_same(argument: &Value, header: &[u8]) -> bool {
    let Ok(header) = std::str::from_utf8(header) else { return false };
    match argument {
        Value::String(text) => text == header,
        Value::Bool(flag) => header == if *flag { "true" } else { "false" },
        Value::Number(number) => match (number.as_i128(), header.parse::<i128>()) {
            (Some(number), Ok(header)) => number == header,
            _ => number.as_f64().is_some_and(|number| header.parse::<f64>() == Ok(number)),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(argument: Value, header: Option<&str>) -> bool {
        let tool = json!({ "inputSchema": { "properties": { "a": { "type": "string", "x-mcp-header": "Region" } } } });
        let params = HeaderParam::of_tool(&tool.to_string());
        assert_eq!(params[0].header, "mcp-param-region");
        params[0].check(&json!({ "a": argument }), header.map(str::as_bytes)).is_ok()
    }

    #[test]
    fn header_and_argument_say_the_same_or_are_both_missing() {
        assert!(check(json!("eu"), Some(" eu ")));
        assert!(check(json!("Hello"), Some("=?base64?SGVsbG8=?=")));
        assert!(check(Value::Null, None));
        assert!(check(json!(42), Some("42.0")));
        assert!(check(json!(u64::MAX), Some("18446744073709551615")));
        assert!(check(json!(true), Some("true")));
        for (argument, header) in [
            (json!("eu"), None),
            (json!("eu"), Some("us")),
            (json!("eu"), Some("EU")),
            (json!("Hello"), Some("=?base64?SGVsbG8?=")),
            (Value::Null, Some("eu")),
            (json!(42), Some("43")),
            (json!(u64::MAX), Some("18446744073709551614")),
            (json!(true), Some("TRUE")),
        ] {
            assert!(!check(argument.clone(), header), "{argument} {header:?}");
        }
    }

    #[test]
    fn nested_properties_count_and_other_places_do_not() {
        let tool = json!({ "inputSchema": { "properties": {
            "outer": { "type": "object", "properties": { "inner": { "type": "integer", "x-mcp-header": "N" } } },
            "list": { "type": "array", "items": { "x-mcp-header": "No" } } } } });

        let params = HeaderParam::of_tool(&tool.to_string());

        assert_eq!(params.len(), 1);
        assert!(params[0].check(&json!({ "outer": { "inner": 1 } }), Some(b"1")).is_ok());
    }
}

//! The request headers that repeat what the body says, so that whoever stands between can route by them.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};

/// The protocol's headers of one HTTP request, as they were sent. A header that came more than once is given
/// with its values joined by commas, so that it equals nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a [u8]>,
    /// `Mcp-Method`.
    pub method: Option<&'a [u8]>,
    /// `Mcp-Name`.
    pub name: Option<&'a [u8]>,
}

const PREFIX: &[u8] = b"=?base64?";
const SUFFIX: &[u8] = b"?=";

/// What a header value says, without outer white space, and decoded where it has the form `=?base64?…?=`.
/// `None` when that form is not valid inside.
pub fn decoded(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    let value = value.trim_ascii();
    let Some(encoded) = value.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return Some(Cow::Borrowed(value));
    };
    STANDARD.decode(encoded).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_trimmed_and_decoded_only_in_the_exact_form() {
        let decode = |value: &str| decoded(value.as_bytes()).map(Cow::into_owned);

        assert_eq!(decode("  get_weather "), Some(b"get_weather".to_vec()));
        assert_eq!(decode("=?base64?5aSp5rCX?="), Some("天気".into()));
        assert_eq!(decode("=?base64?SGVsbG8?="), None, "padding is missing");
        assert_eq!(decode("=?base64?SGV%bG8=?="), None, "no base64 character");
        assert_eq!(decode("=?BASE64?SGVsbG8=?="), Some(b"=?BASE64?SGVsbG8=?=".to_vec()));
        assert_eq!(decode("=?base64?SGVsbG8="), Some(b"=?base64?SGVsbG8=".to_vec()));
        assert_eq!(decode("=?base64??="), Some(Vec::new()));
    }
}

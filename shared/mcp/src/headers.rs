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

/// A value as a header can carry it, so that [`decoded`] gives it back: as it is where that is safe, else in base64.
pub fn encoded(value: &str) -> Cow<'_, str> {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~')) && value.trim() == value;
    let is_marked = value.as_bytes().starts_with(PREFIX) && value.as_bytes().ends_with(SUFFIX);
    if is_plain && !is_marked {
        return Cow::Borrowed(value);
    }
    format!("=?base64?{}?=", STANDARD.encode(value)).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn whatever_a_header_has_to_say_comes_back() {
        for value in ["", "search", " x ", "a\tb", "file:///天", "=?base64?eA==?=", "=?base64?=", "\u{0}", "\u{a0}"] {
            let header = encoded(value);

            assert!(header.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{header}");
            assert_eq!(decoded(header.as_bytes()).unwrap(), value.as_bytes(), "{value:?}");
        }
    }

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

//! Cursors: where a list goes on. Opaque to clients, the same at every node, and of use for one list only.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{Method, RpcError};

/// A place in a list: after an item of a part, such as a URI of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The part of the list.
    pub part: String,
    /// The last item seen of it; empty at its beginning.
    pub after: String,
}

/// The cursor that leads to `place` in the list of `method`.
pub fn encode(method: Method, place: &Place) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}\0{}\0{}", method.name(), place.part, place.after))
}

/// The place that a cursor leads to.
///
/// # Errors
/// -32602 when it is no cursor of this list.
pub fn decode(method: Method, cursor: &str) -> Result<Place, RpcError> {
    place(method, cursor)
        .ok_or_else(|| RpcError::invalid_params(format!("`params.cursor` is no cursor of `{}`", method.name())))
}

fn place(method: Method, cursor: &str) -> Option<Place> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let mut parts = text.split('\0');
    let (list, part, after) = (parts.next()?, parts.next()?, parts.next()?);
    let is_ours = list == method.name() && parts.next().is_none();
    is_ours.then(|| Place { part: part.to_owned(), after: after.to_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_place_in_its_own_list_only() {
        let place = Place { part: "docs".into(), after: "file:///a/ü.md".into() };
        let cursor = encode(Method::ResourcesList, &place);

        assert_eq!(decode(Method::ResourcesList, &cursor).unwrap(), place);
        assert_eq!(decode(Method::ToolsList, &cursor).unwrap_err().code, RpcError::INVALID_PARAMS);
        for garbage in ["", "!", "AAAA", "ZZZZZZZZ", &cursor[1..]] {
            assert_eq!(decode(Method::ResourcesList, garbage).unwrap_err().code, RpcError::INVALID_PARAMS);
        }
    }
}

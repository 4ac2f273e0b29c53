//! Content blocks of tools and prompts, adapted for clients whose revision lacks some kinds of them.

use std::borrow::Cow;

use serde_json::{Map, Value, json, value::RawValue};

use crate::Revision;

/// A JSON array of content blocks for a client of `revision`. What is no array comes back as an empty one.
pub fn blocks(content: &[u8], revision: Revision) -> Cow<'_, str> {
    if let Some(text) = as_it_is(content, revision) {
        return Cow::Borrowed(text);
    }
    let blocks: Vec<Value> = serde_json::from_slice(content).unwrap_or_default();
    let adapted: Vec<_> = blocks.into_iter().map(|block| block_for(block, revision)).collect();
    Cow::Owned(Value::Array(adapted).to_string())
}

/// A JSON array of prompt messages for a client of `revision`.
pub fn messages(messages: &[u8], revision: Revision) -> Cow<'_, str> {
    if let Some(text) = as_it_is(messages, revision) {
        return Cow::Borrowed(text);
    }
    let mut messages: Vec<Value> = serde_json::from_slice(messages).unwrap_or_default();
    for message in &mut messages {
        if let Some(content) = message.get_mut("content") {
            *content = block_for(content.take(), revision);
        }
    }
    Cow::Owned(Value::Array(messages).to_string())
}

/// Content that a client of `revision` can read without a change: all of it where links have icons, and where they have
/// none, all that does not speak of any.
fn as_it_is(content: &[u8], revision: Revision) -> Option<&str> {
    let text = array_text(content).filter(|_| revision.has_titles())?;
    (revision.has_icons() || !text.contains("\"icons\"")).then_some(text)
}

/// The text of a JSON array, or `None` when it is something else.
fn array_text(json: &[u8]) -> Option<&str> {
    let text = serde_json::from_slice::<&RawValue>(json).ok()?.get();
    text.starts_with('[').then_some(text)
}

/// One block as a client of an older revision can read it. Before there were titles that is text, image, resource, and
/// audio where the revision has it; anything else becomes a text that says what it is.
pub(crate) fn block_for(block: Value, revision: Revision) -> Value {
    let Value::Object(mut block) = block else { return note("content of an unknown form") };
    if revision.has_titles() {
        if !revision.has_icons() && member(&block, "type") == "resource_link" {
            block.shift_remove("icons");
        }
        return Value::Object(block);
    }
    let kept: &[&str] = match block.get("type").and_then(Value::as_str) {
        Some("text") => &["type", "text", "annotations"],
        Some("image") => &["type", "data", "mimeType", "annotations"],
        Some("audio") if revision.has_tool_annotations() => &["type", "data", "mimeType", "annotations"],
        Some("audio") => return note(&format!("audio content of type {}", member(&block, "mimeType"))),
        Some("resource") => &["type", "resource", "annotations"],
        Some("resource_link") => return note(&link_text(&block)),
        other => return note(&format!("content of type {}", other.unwrap_or("unknown"))),
    };
    block.retain(|key, _| kept.contains(&key.as_str()));
    if let Some(Value::Object(annotations)) = block.get_mut("annotations") {
        annotations.remove("lastModified");
    }
    if let Some(Value::Object(resource)) = block.get_mut("resource") {
        resource.remove("_meta");
    }
    Value::Object(block)
}

fn note(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn link_text(link: &Map<String, Value>) -> String {
    let uri = member(link, "uri");
    match member(link, "name") {
        "" => uri.to_owned(),
        name => format!("{name}: {uri}"),
    }
}

fn member<'a>(block: &'a Map<String, Value>, key: &str) -> &'a str {
    block.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const CONTENT: &[u8] =
        br#"[{"type":"text","text":"a","_meta":{}},{"type":"audio","data":"AA==","mimeType":"audio/wav"},
        {"type":"resource_link","uri":"file:///x","name":"x"},{"type":"hologram"}]"#;

    fn types(revision: Revision) -> Vec<String> {
        let blocks: Vec<Value> = serde_json::from_str(&blocks(CONTENT, revision)).unwrap();
        blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn older_clients_hear_only_kinds_that_they_know() {
        assert_eq!(types(Revision::V2024_11_05), ["text", "text", "text", "text"]);
        assert_eq!(types(Revision::V2025_03_26), ["text", "audio", "text", "text"]);
        assert_eq!(types(Revision::V2025_06_18), ["text", "audio", "resource_link", "hologram"]);
    }

    #[test]
    fn a_link_becomes_a_text_with_its_uri() {
        let adapted = blocks(CONTENT, Revision::V2025_03_26);

        assert!(adapted.contains(r#""text":"x: file:///x""#), "{adapted}");
    }

    #[test]
    fn a_link_has_icons_where_the_revision_has_them() {
        let content =
            br#"[{"type":"resource_link","uri":"file:///x","name":"x","icons":[]},{"type":"text","text":"t"}]"#;

        let adapted = |revision| serde_json::from_str::<Value>(&blocks(content, revision)).unwrap();

        assert_eq!(
            adapted(Revision::V2025_06_18),
            json!([{ "type": "resource_link", "uri": "file:///x", "name": "x" }, { "type": "text", "text": "t" }])
        );
        assert!(adapted(Revision::V2025_11_25)[0].get("icons").is_some());
    }

    #[test]
    fn what_is_no_array_is_an_empty_one_for_every_client() {
        for content in [b"".as_slice(), b" ", b"null", b"{}", b"[", b"[1]x", b"[\"\xff\"]"] {
            for revision in Revision::ALL {
                assert_eq!(blocks(content, revision), "[]", "{content:?} for {revision}");
                assert_eq!(messages(content, revision), "[]", "{content:?} for {revision}");
            }
        }
    }

    #[test]
    fn content_for_newer_clients_is_not_touched() {
        assert_eq!(blocks(CONTENT, Revision::V2026_07_28).as_bytes(), CONTENT);
    }
}

//! Whether an answer is the echo of a call.

use std::borrow::Cow;

use serde::Deserialize;

/// The part of a JSON-RPC answer that makes it a correct echo.
#[derive(Deserialize)]
struct Answer<'a> {
    id: u64,
    #[serde(borrow)]
    result: ToolResult<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Whether `answer` is the result of call `id` and says `message` as its first text.
pub fn is_echo(answer: &[u8], id: &[u8], message: &[u8]) -> bool {
    let Ok(answer) = serde_json::from_slice::<Answer<'_>>(answer) else { return false };
    let Some(first) = answer.result.content.first() else { return false };
    let same_id = std::str::from_utf8(id).is_ok_and(|id| id.parse() == Ok(answer.id));
    same_id && !answer.result.is_error && first.kind == "text" && first.text.as_bytes() == message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(answer: &str) -> bool {
        is_echo(answer.as_bytes(), b"7", b"hello")
    }

    #[test]
    fn the_same_id_and_text_are_an_echo_whatever_stands_beside_them() {
        assert!(judge(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hello"}]}}"#));
        assert!(judge(
            r#"{"id":7,"result":{"resultType":"complete","content":[{"type":"text","text":"\u0068ello"}],"isError":false,"structuredContent":{"message":"hello"},"_meta":{}}}"#
        ));
    }

    #[test]
    fn anything_else_is_not() {
        for wrong in [
            r#"{"id":8,"result":{"content":[{"type":"text","text":"hello"}]}}"#,
            r#"{"id":7,"result":{"content":[{"type":"text","text":"hullo"}]}}"#,
            r#"{"id":7,"result":{"content":[{"type":"text","text":"hello"}],"isError":true}}"#,
            r#"{"id":7,"result":{"content":[]}}"#,
            r#"{"id":7,"error":{"code":-32603,"message":"hello"}}"#,
            "hello",
        ] {
            assert!(!judge(wrong), "{wrong}");
        }
    }
}

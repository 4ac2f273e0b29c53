//! Inputs that are known to hurt parsers, most of them too large to be kept as files.

#![allow(clippy::unwrap_used)]

use switchyard_fuzz::{TARGETS, config, decoder, lines, sse_reader, websocket};
use switchyard_mcp::{
    RpcError,
    jsonrpc::{DecodeError, decode},
};

/// What is told to the sender of this body.
fn code(body: &[u8]) -> i32 {
    decoder(body);
    match decode(body) {
        Err(DecodeError::Invalid { error, .. }) => error.code,
        other => panic!("it is refused, not {other:?}"),
    }
}

/// A request with these parameters.
fn with_params(params: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#).into_bytes()
}

/// `levels` of `open` and `close` around nothing.
fn nested(open: &str, close: &str, levels: usize) -> String {
    open.repeat(levels) + &close.repeat(levels)
}

#[test]
fn nesting_of_any_depth_exhausts_no_stack() {
    for levels in [127, 128, 129, 1000, 20_000] {
        for deep in [nested("[", "]", levels), nested("{\"a\":", "}", levels).replace(":}", ":0}")] {
            let quoted = format!(r#"{{"name":"t","arguments":{{"a":{deep}}},"_meta":{{"a":{deep}}}}}"#);
            decoder(&with_params(&quoted));
            for (_, target) in TARGETS {
                target(deep.as_bytes());
                target(format!("yaml\n{deep}").as_bytes());
                target(format!("!\n!\n!\n!\n{{\"inputSchema\":{deep},\"arguments\":{deep}}}").as_bytes());
            }
        }
        config(format!("yaml\n{}x", "- ".repeat(levels)).as_bytes());
        config(format!("yaml\n{}x", "? ".repeat(levels)).as_bytes());
    }
}

#[test]
fn numbers_of_any_size_are_refused_or_kept_to_the_letter() {
    let digits = "9".repeat(100_000);

    assert_eq!(
        code(format!(r#"{{"jsonrpc":"2.0","id":{digits},"method":"x"}}"#).as_bytes()),
        RpcError::INVALID_REQUEST
    );
    for number in [&digits, &format!("-{digits}"), &format!("1e{digits}"), &format!("0.{digits}"), "1e400", "-0"] {
        decoder(&with_params(&format!(
            r#"{{"name":"t","arguments":{{"n":{number}}},"_meta":{{"progressToken":{number}}}}}"#
        )));
        for (_, target) in TARGETS {
            target(number.as_bytes());
        }
        for document in
            [format!("json\n{{\"ttl\":{number},\"server\":{{\"port\":{number}}}}}"), format!("yaml\nttl: {number}s")]
        {
            config(document.as_bytes());
        }
    }
}

#[test]
fn a_member_that_comes_twice_is_refused() {
    for body in
        [r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, r#"{"jsonrpc":"2.0","method":"x","method":"y","id":1}"#]
    {
        assert_eq!(code(body.as_bytes()), RpcError::INVALID_REQUEST, "{body}");
    }
    decoder(&with_params(r#"{"name":"a","name":"b","_meta":{"progressToken":1,"progressToken":2}}"#));
    config(b"json\n{\"ttl\":1,\"ttl\":2}");
    config(b"yaml\nserver: {port: 1, port: 2}");
}

#[test]
fn half_characters_end_in_the_defined_error_or_stay_as_they_are() {
    assert_eq!(code(br#"{"jsonrpc":"2.0","id":"\ud800","method":"x"}"#), RpcError::INVALID_REQUEST);
    assert_eq!(code(br#"{"jsonrpc":"2.0","id":1,"method":"\udc00\ud800"}"#), RpcError::INVALID_REQUEST);
    assert_eq!(code(br#"{"jsonrpc":"2.0","\ud800":1,"id":1,"method":"x"}"#), RpcError::INVALID_REQUEST);
    decoder(&with_params(r#"{"name":"\ud800","arguments":{"\ud800":"\udc00"},"_meta":{"progressToken":"\ud83d"}}"#));
    config(b"json\n{\"labels\":{\"a\":\"\\ud800\"}}");
    config(b"yaml\nlabels: {a: \"\\ud83d\\ude80\"}");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    for bytes in [b"\xff".as_slice(), b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"] {
        let body = [br#"{"jsonrpc":"2.0","id":1,"method":"x","unknown":""#, bytes, br#""}"#].concat();
        assert_eq!(code(&body), RpcError::PARSE);
        for (_, target) in TARGETS {
            target(bytes);
            target(&[b"\x01\x40data: ", bytes, b"\n\n"].concat());
        }
    }
}

#[test]
fn a_zero_byte_is_one_like_any_other() {
    assert_eq!(code(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\0"), RpcError::PARSE);
    assert_eq!(code(b"\0"), RpcError::PARSE);
    decoder(br#"{"jsonrpc":"2.0","id":"\u0000","method":"\u0000","params":{"name":"\u0000"}}"#);
    for (_, target) in TARGETS {
        target(b"\0\0\0\0\0\0\0\0");
        target(b"\x01\x40id: \0\ndata: \0\n\n");
    }
}

#[test]
fn frames_mean_the_same_however_they_are_cut_and_merged() {
    let events = "\u{feff}: hi\r\nid: 1\r\nretry: 5\rdata: 天\ndata\n\r\ndata: b\n\nid\n\ndata: lost";
    let text = "first\nsecond 🚃\n\n\nrest";

    for step in 0..64 {
        for limit in [0, 5, 63] {
            let cut = |text: &str| [&[step, limit], text.as_bytes()].concat();
            sse_reader(&cut(events));
            lines(&cut(text));
            websocket(&cut(text));
        }
    }
}

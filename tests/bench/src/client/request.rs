//! The bytes of one call, built once; only the id, which is also in the message, changes from call to call.

use std::{fmt::Write, net::SocketAddr};

use crate::contender::Era;

/// The first id. All ids have as many digits, so that they can be replaced in place.
const FIRST_ID: &str = "1000000000";

/// What follows the id in the message, so that it is as long as a short sentence.
const MESSAGE_REST: &str = " the quick brown fox jumps over the lazy dog";

/// A `tools/call` of `echo`, different each time it is sent.
pub struct CallRequest {
    bytes: Vec<u8>,
    /// Where the id stands in `bytes`: as the request's id, and as the beginning of its message.
    places: [usize; 2],
}

impl CallRequest {
    /// A call for a client of `era`; `session` is what a legacy server named its session.
    pub fn new(server: SocketAddr, era: Era, session: &str) -> Self {
        let body = match era {
            Era::Modern => format!(
                r#"{{"jsonrpc":"2.0","id":{FIRST_ID},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"{FIRST_ID}{MESSAGE_REST}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
            ),
            Era::Legacy => format!(
                r#"{{"jsonrpc":"2.0","id":{FIRST_ID},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"{FIRST_ID}{MESSAGE_REST}"}}}}}}"#
            ),
        };
        let headers = match era {
            Era::Modern => {
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n".to_owned()
            }
            Era::Legacy => session_headers(session),
        };
        let text = post(server, &headers, &body);
        let head = text.len() - body.len();
        let mut places = body.match_indices(FIRST_ID).map(|(at, _)| head + at);
        let places = std::array::from_fn(|_| places.next().expect("the id stands twice in the body above"));
        Self { bytes: text.into_bytes(), places }
    }

    /// The bytes of the next call.
    pub fn next(&mut self) -> &[u8] {
        for at in self.places {
            increment(&mut self.bytes[at..at + FIRST_ID.len()]);
        }
        &self.bytes
    }

    /// The id of the call that `next` gave last.
    pub fn id(&self) -> &[u8] {
        &self.bytes[self.places[0]..self.places[0] + FIRST_ID.len()]
    }

    /// The message of the call that `next` gave last.
    pub fn message(&self) -> &[u8] {
        &self.bytes[self.places[1]..self.places[1] + FIRST_ID.len() + MESSAGE_REST.len()]
    }
}

/// The headers that a legacy client sends once it has a session.
pub fn session_headers(session: &str) -> String {
    format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n")
}

/// A POST of `body` to the endpoint, with `headers` (whole lines) beside the usual ones.
pub fn post(server: SocketAddr, headers: &str, body: &str) -> String {
    let mut text = format!(
        "POST /mcp HTTP/1.1\r\nHost: {server}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\n{headers}"
    );
    write!(text, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("a string can be written to");
    text
}

/// The request that ends a session.
pub fn delete(server: SocketAddr, session: &str) -> String {
    format!("DELETE /mcp HTTP/1.1\r\nHost: {server}\r\n{}\r\n", session_headers(session))
}

/// Adds one to a number written in decimal digits, wrapping when they run out.
fn increment(digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        if *digit != b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(era: Era) -> CallRequest {
        CallRequest::new(([127, 0, 0, 1], 3000).into(), era, "a-session")
    }

    #[test]
    fn each_call_has_an_id_of_its_own_and_says_it_in_its_message() {
        let mut call = call(Era::Modern);

        let first = call.next().to_vec();
        let second = call.next().to_vec();

        assert_eq!(first.len(), second.len());
        assert_eq!(call.id(), b"1000000002");
        assert!(call.message().starts_with(b"1000000002 the quick"));
        assert!(call.message().ends_with(b"lazy dog"));
    }

    #[test]
    fn a_carry_goes_through_all_digits() {
        let mut digits = *b"1099";

        increment(&mut digits);

        assert_eq!(&digits, b"1100");
    }

    #[test]
    fn the_body_is_as_long_as_its_header_says_and_is_json() {
        for era in [Era::Modern, Era::Legacy] {
            let text = String::from_utf8(call(era).next().to_vec()).expect("it was built from a string");
            let (head, body) = text.split_once("\r\n\r\n").expect("a head ends with an empty line");

            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
            let body: serde_json::Value = serde_json::from_str(body).expect("the body is JSON");
            assert_eq!(body["params"]["name"], "echo");
        }
    }

    #[test]
    fn a_legacy_call_names_its_session_and_a_modern_one_its_method() {
        let head = |era| String::from_utf8_lossy(call(era).next()).into_owned();

        assert!(head(Era::Legacy).contains("\r\nMcp-Session-Id: a-session\r\n"));
        assert!(head(Era::Modern).contains("\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"));
    }
}

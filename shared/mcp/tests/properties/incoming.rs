//! Messages of clients: what is taken, what is refused, and that nothing of it is lost or changed.

use proptest::{collection, prelude::*, sample};
use serde_json::Value;
use switchyard_mcp::{
    Id, Message, Params, RpcError,
    jsonrpc::{DecodeError, decode, failure, success},
};

use crate::{
    config,
    envelopes::{Envelope, Verdict, envelope},
    shapes::{any_json, any_object, text},
};

/// What the decoder makes of a body, in the words of the rules.
fn verdict(body: &[u8]) -> Verdict {
    match decode(body) {
        Ok(Message::Request(request)) => Verdict::Request {
            id: request.id.as_json().to_owned(),
            method: request.method.into_owned(),
            params: request.params.map(|params| params.get().to_owned()),
        },
        Ok(Message::Notification { method, params }) => {
            Verdict::Notification { method: method.into_owned(), params: params.map(|params| params.get().to_owned()) }
        }
        Ok(Message::Response { id }) => Verdict::Response { id: id.as_json().to_owned() },
        Err(DecodeError::Batch) => Verdict::Batch,
        Err(DecodeError::Invalid { id, error }) => {
            Verdict::Refused { code: error.code, id: id.map(|id| id.as_json().to_owned()) }
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_message_is_taken_exactly_when_the_rules_allow_it(message in envelope()) {
        prop_assert_eq!(verdict(message.text().as_bytes()), message.verdict(), "{}", message.text());
    }

    #[test]
    fn a_message_that_breaks_off_is_no_json(message in envelope(), cut in any::<sample::Index>()) {
        let text = message.text();
        let cut = cut.index(text.len());
        let head = &text.as_bytes()[..cut];

        prop_assert_eq!(verdict(head), Verdict::Refused { code: RpcError::PARSE, id: None }, "{}", text);
    }

    #[test]
    fn several_messages_are_a_batch_whatever_they_are(messages in collection::vec(envelope(), 0..4), start in "[ \n\t\r]{0,3}") {
        let messages: Vec<_> = messages.iter().map(Envelope::text).collect();

        prop_assert_eq!(verdict(format!("{start}[{}]", messages.join(",")).as_bytes()), Verdict::Batch);
    }

    #[test]
    fn any_bytes_at_all_get_an_answer(bytes in collection::vec(any::<u8>(), 0..200)) {
        if let Ok(Message::Request(request)) = decode(&bytes) {
            prop_assert!(Params::read(request.params).is_ok() || request.params.is_some());
        }
    }

    #[test]
    fn any_json_that_is_no_object_is_refused(json in any_json().prop_filter("no object", |json| !json.is_object())) {
        let refused = Verdict::Refused { code: RpcError::INVALID_REQUEST, id: None };
        let expected = if json.is_array() { Verdict::Batch } else { refused };

        prop_assert_eq!(verdict(json.to_string().as_bytes()), expected);
    }

    #[test]
    fn an_id_goes_back_as_it_came(id in prop_oneof![
        any::<i128>().prop_map(|id| id.to_string()),
        text().prop_map(|id| serde_json::json!(id).to_string()),
        "\"(\\\\u00[0-7][0-9a-f]|\\\\n|[a-z0-9])*\"",
    ]) {
        let id = Id::from_json(&id).unwrap();
        let error = RpcError::internal("no");

        for answer in [success(&id, "{}"), failure(Some(&id), false, &error)] {
            let start = format!(r#"{{"jsonrpc":"2.0","id":{},"#, id.as_json());
            prop_assert!(answer.starts_with(&start), "{}", answer);
            prop_assert!(serde_json::from_str::<Value>(&answer).is_ok(), "{}", answer);
        }
    }

    #[test]
    fn arguments_are_passed_on_to_the_letter(arguments in any_object(), more in any_object(), number in "-?[1-9][0-9]{20,40}(\\.[0-9]{20})?") {
        // Numbers that no machine type holds, members twice, white space: none of our business.
        let arguments = format!(r#"{{ "n" : {number}, "n":1,"inner":{arguments} }}"#);
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"x":{more},"name":"t","arguments":{arguments}}}}}"#);
        let Ok(Message::Request(request)) = decode(text.as_bytes()) else { panic!("a request: {text}") };
        let params = Params::read(request.params).unwrap();

        prop_assert_eq!(params.arguments().unwrap(), arguments);
    }

    #[test]
    fn however_deep_a_message_is_it_is_read(depth in 0..20_000_usize, open in sample::select(vec![("[", "]"), ("{\"a\":", "}")])) {
        let (open, close) = open;
        let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","unknown":{deep},"params":{{"name":"t","arguments":{{"a":{deep}}}}}}}"#);
        let Ok(Message::Request(request)) = decode(text.as_bytes()) else { panic!("a request") };

        prop_assert!(Params::read(request.params).unwrap().arguments().is_ok());
    }
}

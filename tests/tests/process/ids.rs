//! The ids of requests: given back as they came, never mixed up.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_tests::{Backend, Call, ModernClient, Revision};

use crate::One;

#[tokio::test]
async fn field_case_79_an_id_comes_back_as_it_was_sent() {
    let one = One::start().await;
    let client = one.legacy(Revision::R4).await;
    let modern = one.modern();

    for id in [json!("7"), json!(7), json!(0), json!(-1), json!("a b"), json!(""), json!(9_007_199_254_740_993_i64)] {
        let plain = client.start_as(id.clone(), "tools/list", json!({})).await.finish().await;
        let request = modern.post(&id, "tools/list", json!({}));
        let stateless = Call::new(id.clone(), request.send().await).await.finish().await;
        let mut listener = modern.listen_as(id.clone(), json!({"toolsListChanged": true})).await;

        assert_eq!(plain.message["id"], id);
        assert_eq!(stateless.message["id"], id);
        assert_eq!(listener.acknowledged["toolsListChanged"], true, "the stream was tagged with {id}");
        assert_eq!(listener.events.messages_until_quiet(Duration::from_millis(10)).await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn field_case_80_a_number_and_a_string_that_look_alike_are_two_ids() {
    let one = One::start().await;
    let client = one.legacy(Revision::R3).await;
    let (number, string) = (Backend::start().await, Backend::start().await);
    let call = |url: String| json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": url, "timeout": 60}});

    let first = client.start_as(json!(1), "tools/call", call(number.url("/number")));
    let second = client.start_as(json!("1"), "tools/call", call(string.url("/string")));
    let answers = async {
        let (number, string) = (number.next_request().await, string.next_request().await);
        string.answer().await;
        number.answer().await;
    };
    let (first, second, ()) = tokio::join!(first, second, answers);
    let (first, second) = (first.finish().await, second.finish().await);

    assert_eq!((&first.message["id"], &second.message["id"]), (&json!(1), &json!("1")));
    assert!(first.message.to_string().contains("/number"), "{}", first.message);
    assert!(second.message.to_string().contains("/string"), "{}", second.message);
}

#[tokio::test]
async fn field_case_81_an_id_that_is_neither_number_nor_string_is_refused() {
    let one = One::start().await;
    let client = one.legacy(Revision::R4).await;
    let modern = one.modern();

    for id in ["{}", "true", "[1]", "null", "1.5e400"] {
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\",\"params\":{{}}}}");
        let params = ModernClient::params(json!({}));
        let modern_body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\",\"params\":{params}}}");

        let legacy = client.post(&Value::Null).body(body).send().await;
        let stateless = modern.post(&Value::Null, "tools/list", json!({})).body(modern_body).send().await;

        assert_eq!((legacy.status, stateless.status), (400, 400), "{id}");
        for answer in [legacy.json().await, stateless.json().await] {
            assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(-32600), None), "{id}: {answer}");
        }
    }
    assert_eq!(client.request("ping", json!({})).await.status, 200);
}

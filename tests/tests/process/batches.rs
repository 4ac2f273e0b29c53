//! Batches: several messages in one body, in the one revision that has them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchyard_tests::{Backend, ModernClient, Revision};

use crate::One;

fn ping(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

/// The answers by their ids.
fn by_id(answers: &Value) -> BTreeMap<String, Value> {
    let answers = answers.as_array().expect("answers to a batch are an array");
    answers.iter().map(|answer| (answer["id"].to_string(), answer.clone())).collect()
}

#[tokio::test]
async fn each_request_of_a_batch_is_answered_and_its_id_comes_back() {
    let one = One::start().await;
    let client = one.legacy(Revision::R2).await;
    let call = json!({"jsonrpc": "2.0", "id": "1", "method": "tools/call",
        "params": {"name": "checkDiskSpace", "arguments": {"path": "/"}}});
    let unknown = json!({"jsonrpc": "2.0", "id": 2, "method": "no/such"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/nothing"});

    let response = client.post(&json!([ping(&json!(1)), call, note, unknown, {"id": 3}, 7])).send().await;

    assert_eq!((response.status, response.media_type()), (200, "application/json"));
    let answers = by_id(&response.json().await);
    assert_eq!(answers["1"]["result"], json!({}));
    assert_eq!(answers["\"1\""]["result"]["isError"], false);
    assert_eq!(answers["2"]["error"]["code"], -32601);
    assert_eq!(answers["3"]["error"]["code"], -32600);
    assert_eq!(answers["null"]["error"]["code"], -32600);
    assert_eq!(answers.len(), 5);
}

#[tokio::test]
async fn a_batch_without_requests_is_accepted_without_an_answer() {
    let one = One::start().await;
    let client = one.legacy(Revision::R2).await;
    let note = json!({"jsonrpc": "2.0", "method": "notifications/nothing"});
    let answer = json!({"jsonrpc": "2.0", "id": "nobody asked", "result": {}});

    assert_eq!(client.post(&json!([note, note])).send().await.status, 202);
    assert_eq!(client.post(&json!([answer])).send().await.status, 202);
}

#[tokio::test]
async fn the_answers_of_a_slow_batch_are_events_which_can_be_resumed() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let client = one.legacy(Revision::R2).await;
    let call = json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call",
        "params": {"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}}});

    let mut stream = client.post(&json!([call, ping(&json!(1))])).send().await.events();
    let held = backend.next_request().await;
    let first = stream.event().await.unwrap();
    assert_eq!(first.message()["id"], 1);
    drop(stream);
    held.answer().await;

    let mut resumed = client.get().header("Last-Event-ID", &first.id.unwrap()).send().await.events();
    assert_eq!(resumed.message().await["id"], "slow");
    assert_eq!(resumed.event().await, None);
}

#[tokio::test]
async fn a_client_without_streams_waits_for_the_whole_batch() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let client = one.legacy(Revision::R2).await;
    let call = json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call",
        "params": {"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}}});
    let request = client.post(&json!([call, ping(&json!(1))])).header("Accept", "application/json");

    let sending = tokio::spawn(request.send());
    backend.next_request().await.answer().await;

    let response = sending.await.unwrap();
    assert_eq!(response.media_type(), "application/json");
    assert_eq!(by_id(&response.json().await).keys().collect::<Vec<_>>(), ["\"slow\"", "1"]);
}

#[tokio::test]
async fn field_case_82_a_batch_is_refused_whole_where_the_revision_has_none() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let call = |id: i64, path: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url(path), "timeout": 60}}})
    };

    for revision in [Revision::R1, Revision::R3, Revision::R4] {
        let client = one.legacy(revision).await;
        let batches = [
            json!([]),
            json!([call(1, "/batch"), call(2, "/batch")]),
            json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]),
            json!([{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}]),
        ];
        for batch in batches {
            let response = client.post(&batch).send().await;

            assert_eq!(response.status, 400, "{revision:?} {batch}");
            assert_eq!(response.json().await["error"]["code"], -32600);
        }
        let single = client.post(&call(3, "/single")).send();
        let (response, ()) = tokio::join!(single, async {
            let first = backend.next_request().await;
            assert_eq!(first.path, "/single", "an entry of a batch ran");
            first.answer().await;
        });
        assert_eq!(response.status, 200);
    }
}

#[tokio::test]
async fn a_modern_batch_is_refused() {
    let one = One::start().await;
    let body = json!([{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": ModernClient::params(json!({}))}]);

    let response = one.modern().post(&json!(1), "tools/list", json!({})).json(&body).send().await;

    assert_eq!(response.status, 400);
    assert_eq!(response.json().await["error"]["code"], -32600);
}

#[tokio::test]
async fn a_batch_that_opens_a_session_or_is_empty_is_refused_and_nothing_of_it_is_done() {
    let one = One::start().await;
    let client = one.legacy(Revision::R2).await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});

    for batch in [json!([]), json!([initialize, ping(&json!(2))])] {
        let response = client.post(&batch).send().await;
        assert_eq!(response.status, 400, "{batch}");
        assert_eq!(response.json().await["error"]["code"], -32600, "{batch}");
    }
}

#[tokio::test]
async fn many_entries_that_nobody_can_read_are_answered_at_once() {
    let one = One::start().await;
    let client = one.legacy(Revision::R2).await;

    let response = client.post(&json!(vec![7; 200])).send().await;

    let answers = response.json().await;
    let answers = answers.as_array().expect("answers to a batch are an array");
    assert!(answers.iter().all(|answer| answer["error"]["code"] == -32600));
    assert_eq!(answers.len(), 200);
}

#[tokio::test]
async fn a_request_that_its_own_batch_cancels_is_cancelled() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let client = one.legacy(Revision::R2).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});

    let response = client.post(&json!([call, cancel])).send().await;

    assert_eq!(response.status, 202, "nothing is left to answer");
}

//! Cancelling: a legacy client says so, a modern one hangs up, and the work below ends.

use serde_json::{Value, json};
use switchyard_tests::{Backend, LegacyClient, Revision};

use crate::One;

fn held_by(backend: &Backend) -> Value {
    json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}})
}

async fn cancel(client: &LegacyClient, id: &Value) {
    let noted = client.notify("notifications/cancelled", json!({"requestId": id, "reason": "changed my mind"})).await;
    assert_eq!(noted.status, 202);
}

#[tokio::test]
async fn field_case_43_closing_the_stream_cancels_a_modern_call_down_to_the_tool() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let modern = one.modern();

    let streaming = modern.start("tools/call", held_by(&backend)).await;
    let held = backend.next_request().await;
    drop(streaming);

    held.given_up().await;
}

#[tokio::test]
async fn hanging_up_before_the_answer_cancels_a_modern_call_too() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let request = one.modern().post(&json!(1), "tools/call", held_by(&backend));

    let sending = tokio::spawn(request.try_send());
    let held = backend.next_request().await;
    sending.abort();

    held.given_up().await;
}

#[tokio::test]
async fn field_case_41_a_call_is_cancelled_by_a_notification_and_its_stream_ends_without_an_answer() {
    let one = One::start().await;
    let backend = Backend::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let id = json!(format!("call of {revision:?}"));
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": held_by(&backend)});
        let mut stream = client.post(&body).send().await.events();
        let held = backend.next_request().await;

        cancel(&client, &id).await;

        held.given_up().await;
        while let Some(event) = stream.event().await {
            assert!(event.data.is_empty() || event.message().get("method").is_some(), "an answer came: {event:?}");
        }
        assert_eq!(client.request("ping", json!({})).await.status, 200);
    }
}

#[tokio::test]
async fn a_legacy_client_that_hangs_up_has_not_cancelled() {
    let one = One::start().await;
    let backend = Backend::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let call = client.start("tools/call", held_by(&backend)).await;
        let held = backend.next_request().await;

        drop(call);

        assert_eq!(client.request("ping", json!({})).await.status, 200);
        held.answer().await;
    }
}

#[tokio::test]
async fn cancelling_what_does_not_run_does_nothing() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let finished = client.start_as(json!(41), "tools/list", json!({})).await.finish().await;
        assert_eq!(finished.status, 200);

        for id in [json!(41), json!(42), json!("41"), json!({}), Value::Null] {
            cancel(&client, &id).await;
        }

        assert_eq!(client.notify("notifications/cancelled", json!({})).await.status, 202);
        assert_eq!(client.request("ping", json!({})).await.result(), &json!({}));
    }
}

#[tokio::test]
async fn one_session_cannot_cancel_a_call_of_another() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let (owner, other) = (one.legacy(Revision::R3).await, one.legacy(Revision::R3).await);
    let call = owner.start_as(json!(1), "tools/call", held_by(&backend)).await;
    let held = backend.next_request().await;

    cancel(&other, &json!(1)).await;
    held.answer().await;

    assert_eq!(call.finish().await.result()["isError"], false);
}

//! Going on where a stream broke off: `Last-Event-ID`, for the replies to calls and for standing streams.

use serde_json::{Value, json};
use switchyard_tests::{Backend, Event, EventStream, LegacyClient, Request, Revision};

use crate::One;

/// The revisions whose clients can resume.
const RESUMABLE: [Revision; 3] = [Revision::R2, Revision::R3, Revision::R4];

fn slow_call(id: &Value, backend: &Backend) -> Value {
    let arguments = json!({"serviceUrl": backend.url("/"), "timeout": 60});
    let params = json!({"name": "checkServiceStatus", "arguments": arguments, "_meta": {"progressToken": "t"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn after(client: &LegacyClient, id: &str) -> Request {
    client.get().header("Last-Event-ID", id)
}

/// The next event with an id; it may be without a message.
async fn next_named(stream: &mut EventStream) -> (String, Event) {
    loop {
        let event = stream.event().await.expect("the stream goes on");
        if let Some(id) = &event.id {
            return (id.clone(), event);
        }
    }
}

/// The answer of a stream, and the ids of the events up to it.
async fn answer(stream: &mut EventStream) -> (Value, Vec<String>) {
    let mut ids = Vec::new();
    loop {
        let (id, event) = next_named(stream).await;
        ids.push(id);
        if !event.data.is_empty() && event.message().get("method").is_none() {
            return (event.message(), ids);
        }
    }
}

#[tokio::test]
async fn field_case_34_a_dropped_calls_answer_waits_for_whoever_resumes() {
    let one = One::start().await;
    let backend = Backend::start().await;

    for revision in RESUMABLE {
        let client = one.legacy(revision).await;
        let mut stream = client.post(&slow_call(&json!("7"), &backend)).send().await.events();
        let held = backend.next_request().await;
        let (seen, _) = next_named(&mut stream).await;

        drop(stream);
        held.answer().await;

        let mut resumed = after(&client, &seen).send().await.events();
        let (message, ids) = answer(&mut resumed).await;
        assert_eq!((&message["id"], message["result"]["isError"].as_bool()), (&json!("7"), Some(false)), "{message}");
        assert!(!ids.contains(&seen), "{revision:?}: what was seen is not repeated");
        assert_eq!(resumed.event().await, None, "nothing follows the answer");
        let mut again = after(&client, ids.last().unwrap()).send().await.events();
        assert_eq!(again.event().await, None, "and there is nothing after it");
    }
}

#[tokio::test]
async fn a_stream_of_the_newest_session_revision_alone_begins_with_a_place_to_come_back_to() {
    let one = One::start_with(json!({"server": {"streamRetry": "2500ms"}})).await;
    let backend = Backend::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let mut call = client.post(&slow_call(&json!(1), &backend)).send().await.events();
        let held = backend.next_request().await;
        let reply = call.event().await.unwrap();
        let uri = client.uri_of("plan.md").await;
        client.request("resources/subscribe", json!({"uri": uri})).await.result();
        let mut stream = client.listen().await;
        one.folder.write("plan.md", format!("for {revision:?}"));
        let standing = stream.event().await.unwrap();
        held.answer().await;

        for first in [reply, standing] {
            let primed = revision == Revision::R4;
            assert_eq!(
                (first.data.is_empty(), first.retry),
                (primed, primed.then_some(2500)),
                "{revision:?}: {first:?}"
            );
            assert_eq!(first.id.is_some(), revision >= Revision::R2, "{revision:?}: {first:?}");
        }
    }
}

#[tokio::test]
async fn field_case_36_ids_grow_and_a_resume_yields_what_came_after() {
    let one = One::start().await;

    for revision in RESUMABLE {
        let client = one.legacy(revision).await;
        let mut subscribed = Vec::new();
        for name in ["plan.md", "notes.txt"] {
            let uri = client.uri_of(name).await;
            client.request("resources/subscribe", json!({"uri": uri})).await.result();
            subscribed.push(uri);
        }
        let mut stream = client.listen().await;
        let mut seen = Vec::new();
        for round in 0..5 {
            one.folder.write(["plan.md", "notes.txt"][round % 2], format!("{round} for {revision:?}"));
            let event = loop {
                let (id, event) = next_named(&mut stream).await;
                if !event.data.is_empty() {
                    break (id, event.message()["params"]["uri"].as_str().unwrap().to_owned());
                }
            };
            assert_eq!(event.1, subscribed[round % 2], "{revision:?}: round {round}");
            seen.push(event);
        }

        let mut ids: Vec<_> = seen.iter().map(|(id, _)| id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 5, "{revision:?}: {seen:?}");
        drop(stream);
        let mut resumed = after(&client, &seen[2].0).send().await.events();

        assert_eq!(resumed.message().await["params"]["uri"], seen[3].1, "{revision:?}");
        assert_eq!(resumed.message().await["params"]["uri"], seen[4].1, "{revision:?}");
        one.folder.write("plan.md", format!("a last one for {revision:?}"));
        assert_eq!(resumed.message().await["params"]["uri"], subscribed[0], "{revision:?}: it goes on as a stream");
    }
}

#[tokio::test]
async fn an_event_that_never_was_is_refused_and_the_session_lives() {
    let one = One::start().await;

    for revision in RESUMABLE {
        let client = one.legacy(revision).await;
        for id in ["", "7", "reply/nobody/1", "standing/x", "other/a/b/1", "reply/\u{e9}/1"] {
            let response = after(&client, id).send().await;
            assert_eq!(response.status, 400, "{revision:?}: {id}");
            assert_eq!(response.json().await["error"]["code"], -32600);
        }
        assert_eq!(client.request("ping", json!({})).await.status, 200);
    }
}

#[tokio::test]
async fn a_reply_is_its_own_sessions_alone_and_no_other_stream_is_repeated() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let client = one.legacy(Revision::R4).await;
    let stranger = one.legacy(Revision::R4).await;
    let mut first = client.post(&slow_call(&json!(1), &backend)).send().await.events();
    let held_first = backend.next_request().await;
    let mut second = client.post(&slow_call(&json!(2), &backend)).send().await.events();
    let held_second = backend.next_request().await;
    let (of_first, _) = next_named(&mut first).await;
    let _ = next_named(&mut second).await;
    drop((first, second));
    held_first.answer().await;
    held_second.answer().await;

    assert_eq!(after(&stranger, &of_first).send().await.status, 400);
    let (message, _) = answer(&mut after(&client, &of_first).send().await.events()).await;
    assert_eq!(message["id"], 1);
}

#[tokio::test]
async fn a_call_without_a_stream_leaves_nothing_to_resume_and_runs_to_its_end() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let client = one.legacy(Revision::R4).await;
    let request = client.post(&slow_call(&json!(1), &backend)).header("Accept", "application/json");

    let sending = tokio::spawn(request.try_send());
    let held = backend.next_request().await;
    sending.abort();

    held.answer().await;
    assert_eq!(client.request("ping", json!({})).await.status, 200);
}

//! The standing stream of a session: one holds the floor, each fact leaves once, comments keep it open.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_tests::{Backend, EventStream, Frame, LegacyClient, PATIENCE, Revision};

use crate::One;

/// Long enough for a second copy of something to come, if there were one.
const QUIET: Duration = Duration::from_millis(700);

async fn subscribed(one: &One, revision: Revision, name: &str) -> (LegacyClient, String) {
    let client = one.legacy(revision).await;
    let uri = client.uri_of(name).await;
    assert_eq!(client.request("resources/subscribe", json!({"uri": uri})).await.result(), &json!({}));
    (client, uri)
}

async fn next_update(stream: &mut EventStream) -> String {
    loop {
        let message = stream.message().await;
        if message["method"] == "notifications/resources/updated" {
            return message["params"]["uri"].as_str().unwrap().to_owned();
        }
    }
}

fn updates(messages: &[Value]) -> usize {
    messages.iter().filter(|message| message["method"] == "notifications/resources/updated").count()
}

#[tokio::test]
async fn an_update_reaches_the_standing_stream_in_every_revision() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let (client, uri) = subscribed(&one, revision, "plan.md").await;
        let mut stream = client.listen().await;

        one.folder.write("plan.md", format!("changed for {revision:?}"));

        assert_eq!(next_update(&mut stream).await, uri, "{revision:?}");
    }
}

#[tokio::test]
async fn a_fact_from_before_the_stream_is_waiting_for_it() {
    let one = One::start().await;
    let (client, uri) = subscribed(&one, Revision::R4, "plan.md").await;
    // Another client hears of it, so it has happened.
    let mut witness = one.modern().listen(json!({"resourceSubscriptions": [uri]})).await;

    one.folder.write("plan.md", "changed while nobody listened");
    witness.next().await;

    assert_eq!(next_update(&mut client.listen().await).await, uri);
}

#[tokio::test]
async fn only_what_was_subscribed_to_is_told_and_nothing_after_unsubscribing() {
    let one = One::start().await;
    let (client, plan) = subscribed(&one, Revision::R3, "plan.md").await;
    let notes = client.uri_of("notes.txt").await;
    let mut stream = client.listen().await;
    let mut witness = one.modern().listen(json!({"resourceSubscriptions": [plan, notes]})).await;

    one.folder.write("notes.txt", "changed first");
    witness.next().await;
    one.folder.write("plan.md", "changed second");
    assert_eq!(next_update(&mut stream).await, plan, "only the second was subscribed to");

    assert_eq!(client.request("resources/unsubscribe", json!({"uri": plan})).await.result(), &json!({}));
    witness.next().await;
    one.folder.write("plan.md", "changed again");
    witness.next().await;
    assert_eq!(updates(&stream.messages_until_quiet(QUIET).await), 0);
}

#[tokio::test]
async fn a_new_file_changes_the_list() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let mut stream = client.listen().await;

        one.folder.write(&format!("new for {revision:?}.txt"), "new");

        assert_eq!(stream.message().await["method"], "notifications/resources/list_changed", "{revision:?}");
    }
}

#[tokio::test]
async fn field_case_33_a_second_stream_takes_the_floor_and_nothing_is_lost_or_told_twice() {
    let one = One::start().await;
    let (client, uri) = subscribed(&one, Revision::R4, "plan.md").await;
    let mut first = client.listen().await;
    one.folder.write("plan.md", "one");
    assert_eq!(next_update(&mut first).await, uri);

    let mut second = client.listen().await;
    one.folder.write("plan.md", "two");

    assert_eq!(next_update(&mut second).await, uri);
    assert_eq!(updates(&first.messages_until_quiet(QUIET).await), 0, "the displaced stream is silent");
    drop(second);
    one.folder.write("plan.md", "three");
    assert_eq!(next_update(&mut first).await, uri, "the stream that is left has the floor again");
}

#[tokio::test]
async fn field_case_35_a_session_outlives_its_stream() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let (client, uri) = subscribed(&one, revision, "plan.md").await;
        drop(client.listen().await);

        assert_eq!(client.request("ping", json!({})).await.status, 200);
        let mut again = client.listen().await;
        one.folder.write("plan.md", format!("still there for {revision:?}"));
        assert_eq!(next_update(&mut again).await, uri);
    }
}

#[tokio::test]
async fn field_case_29_an_idle_stream_stays_open_with_comments() {
    let one = One::start_with(json!({"server": {"keepAlive": "200ms"}})).await;
    let client = one.legacy(Revision::R2).await;
    let backend = Backend::start().await;
    let mut standing = client.listen().await;
    let mut listener = one.modern().listen(json!({"toolsListChanged": true})).await;
    let call = json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
    let mut call = client.post(&body).send().await.events();

    for stream in [&mut standing, &mut listener.events, &mut call] {
        for _ in 0..5 {
            let frame = stream.frame_within(PATIENCE).await;
            assert!(matches!(frame, Some(Frame::Comment(_))), "{frame:?}");
        }
    }
}

#[tokio::test]
async fn field_case_30_by_default_a_comment_comes_within_thirty_seconds() {
    let one = One::start().await;
    let client = one.legacy(Revision::R2).await;
    let mut stream = client.listen().await;

    let frame = stream.frame_within(Duration::from_secs(30)).await;

    assert!(matches!(frame, Some(Frame::Comment(_))), "{frame:?}");
}

#[tokio::test]
async fn nothing_between_may_hold_a_stream_back_or_change_it() {
    let one = One::start().await;

    let stream = one.legacy(Revision::R4).await.listen().await;
    let listener = one.modern().listen(json!({"toolsListChanged": true})).await;

    for events in [&stream, &listener.events] {
        assert_eq!(events.header("x-accel-buffering"), Some("no"));
        assert_eq!(events.header("content-encoding"), None);
        assert!(events.header("cache-control").is_some_and(|value| value.contains("no-")));
    }
}

#[tokio::test]
async fn ids_of_a_standing_stream_only_grow() {
    let one = One::start().await;
    let (client, uri) = subscribed(&one, Revision::R4, "plan.md").await;
    let mut stream = client.listen().await;

    let mut ids = Vec::new();
    for round in 0..4 {
        one.folder.write("plan.md", round.to_string());
        loop {
            let event = stream.event().await.unwrap();
            ids.extend(event.id.clone());
            if !event.data.is_empty() && event.message()["params"]["uri"] == json!(uri) {
                break;
            }
        }
    }

    let mut unique = ids.clone();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
}

#[tokio::test]
async fn subscribing_needs_a_resource_that_exists() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;

        let missing = client.request("resources/subscribe", json!({"uri": "file:///nowhere/at/all"})).await;
        let nameless = client.request("resources/subscribe", json!({})).await;

        assert_eq!((missing.refusal(), nameless.refusal()), ((200, -32002), (200, -32602)), "{revision:?}");
    }
}

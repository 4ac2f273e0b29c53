//! Going on at another gateway where a stream broke off.

use rustix::process::Signal;
use serde_json::{Value, json};
use switchyard_tests::{Backend, Cluster, Event, EventStream, Revision, Shape};

use crate::{held_by, next_update};

/// The revisions whose clients can resume.
const RESUMABLE: [Revision; 3] = [Revision::R2, Revision::R3, Revision::R4];

fn call(id: &Value, backend: &Backend) -> Value {
    let mut params = held_by(backend);
    params["_meta"] = json!({"progressToken": 1});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

async fn next_named(stream: &mut EventStream) -> (String, Event) {
    loop {
        let event = stream.event().await.expect("the stream goes on");
        if let Some(id) = &event.id {
            return (id.clone(), event);
        }
    }
}

async fn answer(stream: &mut EventStream) -> Value {
    loop {
        let message = stream.message().await;
        if message.get("method").is_none() {
            return message;
        }
    }
}

#[tokio::test]
async fn field_case_34_a_dropped_calls_answer_waits_at_every_gateway() {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    let backend = Backend::start().await;

    for revision in RESUMABLE {
        let client = cluster.legacy(revision).await;
        let mut stream = client.post(&call(&json!("seven"), &backend)).send().await.events();
        let held = backend.next_request().await;
        let (seen, _) = next_named(&mut stream).await;
        drop(stream);

        // One gateway follows the call while it still runs, another is asked when it is over.
        let follow = client.at(&cluster.gateway(1)).get().header("Last-Event-ID", &seen);
        let mut following = follow.send().await.events();
        held.answer().await;
        assert_eq!(answer(&mut following).await["id"], "seven", "{revision:?}");
        assert_eq!(following.event().await, None);
        let late = client.at(&cluster.gateway(2)).get().header("Last-Event-ID", &seen);
        assert_eq!(answer(&mut late.send().await.events()).await["result"]["isError"], false, "{revision:?}");
    }
}

#[tokio::test]
async fn a_call_whose_gateway_was_killed_ends_clearly_for_whoever_resumes() {
    let mut cluster = Cluster::start(Shape { gateways: 2, tools: 1 }).await;
    let backend = Backend::start().await;
    let client = cluster.legacy(Revision::R4).await;
    let mut stream = client.post(&call(&json!(7), &backend)).send().await.events();
    let _held = backend.next_request().await;
    let (seen, _) = next_named(&mut stream).await;

    cluster.gateways.remove(0).kill().await;

    let resume = client.at(&cluster.gateway(0)).get().header("Last-Event-ID", &seen);
    let ended = answer(&mut resume.send().await.events()).await;
    assert_eq!((&ended["id"], &ended["error"]["data"]["outcome"]), (&json!(7), &json!("unknown")), "{ended}");
}

#[tokio::test]
async fn field_case_36_a_standing_stream_goes_on_at_another_gateway_with_what_came_after() {
    let cluster = Cluster::start(Shape { gateways: 2, tools: 1 }).await;

    for revision in RESUMABLE {
        let client = cluster.legacy(revision).await;
        let uri = client.uri_of("plan.md").await;
        client.request("resources/subscribe", json!({"uri": uri})).await.result();
        let mut stream = client.listen().await;
        let mut ids = Vec::new();
        for round in 0..3 {
            cluster.folder.write("plan.md", format!("round {round} for {revision:?}"));
            loop {
                let (id, event) = next_named(&mut stream).await;
                if !event.data.is_empty() {
                    ids.push(id);
                    break;
                }
            }
        }
        drop(stream);

        // Updates of one resource merge while nobody takes them, so the two that were missed are one.
        let resume = client.at(&cluster.gateway(1)).get().header("Last-Event-ID", &ids[0]);
        let mut resumed = resume.send().await.events();

        assert_eq!(next_update(&mut resumed).await, uri, "{revision:?}");
        cluster.folder.write("plan.md", format!("once more for {revision:?}"));
        assert_eq!(next_update(&mut resumed).await, uri, "{revision:?}");
    }
}

#[tokio::test]
async fn what_another_stream_carried_is_not_repeated() {
    let cluster = Cluster::start(Shape { gateways: 2, tools: 1 }).await;
    let client = cluster.legacy(Revision::R4).await;
    let mut uris = Vec::new();
    for name in ["plan.md", "notes.txt"] {
        let uri = client.uri_of(name).await;
        client.request("resources/subscribe", json!({"uri": uri})).await.result();
        uris.push(uri);
    }
    let mut first = client.listen().await;
    let (began, _) = next_named(&mut first).await;
    cluster.folder.write("plan.md", "carried by the first stream");
    assert_eq!(next_update(&mut first).await, uris[0]);
    let mut second = client.at(&cluster.gateway(1)).listen().await;
    cluster.folder.write("notes.txt", "carried by the second stream");
    assert_eq!(next_update(&mut second).await, uris[1]);
    drop(first);

    let resume = client.get().header("Last-Event-ID", &began);
    let mut resumed = resume.send().await.events();

    assert_eq!(next_update(&mut resumed).await, uris[0], "what the first stream had carried comes again");
    cluster.folder.write("plan.md", "a fence");
    assert_eq!(next_update(&mut resumed).await, uris[0], "and nothing of the second");
}

#[tokio::test]
async fn a_gateway_that_stops_tells_streams_when_to_come_back() {
    let mut cluster = Cluster::start(Shape { gateways: 2, tools: 1 }).await;
    let client = cluster.legacy(Revision::R4).await;
    let mut stream = client.listen().await;
    let primed = stream.event().await.unwrap();

    let stopping = cluster.gateways.remove(0);
    stopping.signal(Signal::TERM);
    let last = stream.event().await;

    assert_eq!(last.and_then(|last| last.retry), primed.retry);
    let resume = client.at(&cluster.gateway(0)).get().header("Last-Event-ID", &primed.id.unwrap());
    assert_eq!(resume.send().await.status, 200);
}

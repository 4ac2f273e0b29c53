//! What changes on one node is heard by whoever listens on another, once.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_tests::{Cluster, LegacyClient, Listener, Revision, Shape, eventually, meta};

use crate::next_update;

/// Long enough for a second copy of something to come, if there were one.
const QUIET: Duration = Duration::from_millis(700);

async fn subscribe(client: &LegacyClient) -> String {
    let uri = client.uri_of("plan.md").await;
    client.request("resources/subscribe", json!({"uri": uri})).await.result();
    uri
}

async fn next_of(listener: &mut Listener, method: &str) -> Value {
    loop {
        let message = listener.next().await;
        if message["method"] == method {
            return message;
        }
    }
}

#[tokio::test]
async fn a_change_reaches_standing_streams_and_subscriptions_at_every_gateway() {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;

    for revision in Revision::ALL {
        let client = cluster.legacy(revision).await;
        let uri = subscribe(&client).await;
        let mut standing = client.at(&cluster.gateway(1)).listen().await;
        let mut listener = cluster.modern(2).listen_as(json!("s"), json!({"resourceSubscriptions": [uri]})).await;

        cluster.folder.save("plan.md", format!("changed for {revision:?}"));

        assert_eq!(next_update(&mut standing).await, uri, "{revision:?}");
        let told = next_of(&mut listener, "notifications/resources/updated").await;
        assert_eq!(told["params"], json!({"uri": uri, "_meta": {meta("subscriptionId"): "s"}}));
    }
}

#[tokio::test]
async fn a_session_may_subscribe_at_one_gateway_after_its_stream_opened_at_another() {
    let cluster = Cluster::start(Shape::default()).await;
    let client = cluster.legacy(Revision::R4).await;
    let mut standing = client.at(&cluster.gateway(1)).listen().await;

    let uri = subscribe(&client).await;
    cluster.folder.write("plan.md", "changed");

    assert_eq!(next_update(&mut standing).await, uri);
    client.request("resources/unsubscribe", json!({"uri": uri})).await.result();
    let mut witness = cluster.modern(0).listen(json!({"resourceSubscriptions": [uri]})).await;
    cluster.folder.write("plan.md", "changed again");
    witness.next().await;
    assert_eq!(standing.messages_until_quiet(QUIET).await, Vec::<Value>::new());
}

#[tokio::test]
async fn each_fact_leaves_on_exactly_one_of_two_streams() {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    let client = cluster.legacy(Revision::R4).await;
    let uri = subscribe(&client).await;
    let mut first = client.at(&cluster.gateway(1)).listen().await;
    cluster.folder.write("plan.md", "one");
    assert_eq!(next_update(&mut first).await, uri);

    let mut second = client.at(&cluster.gateway(2)).listen().await;
    for round in 0..5 {
        cluster.folder.write("plan.md", format!("round {round}"));
        assert_eq!(next_update(&mut second).await, uri, "round {round}");
    }

    assert_eq!(first.messages_until_quiet(QUIET).await, Vec::<Value>::new(), "the displaced stream is silent");
    drop(second);
    cluster.folder.write("plan.md", "last");
    assert_eq!(next_update(&mut first).await, uri, "it has the floor again");
}

#[tokio::test]
async fn a_new_file_and_a_new_prompt_change_their_lists_everywhere() {
    let cluster = Cluster::start(Shape::default()).await;
    let client = cluster.legacy(Revision::R3).await;
    let mut standing = client.listen().await;
    let everything = json!({"resourcesListChanged": true, "promptsListChanged": true});
    let mut listener = cluster.modern(1).listen(everything).await;

    cluster.folder.write("new.txt", "new");
    next_of(&mut listener, "notifications/resources/list_changed").await;
    assert_eq!(standing.message().await["method"], "notifications/resources/list_changed");

    cluster.folder.save("prompts/later.md", "---\nname: later\ndescription: Came later.\n---\nWait.\n");
    next_of(&mut listener, "notifications/prompts/list_changed").await;
    for gateway in 0..2 {
        // It is there by then, unless the machine is too slow for the news to wait for it.
        eventually("the new prompt to be listed", async || {
            let listed = cluster.modern(gateway).request("prompts/list", json!({})).await;
            listed.message.to_string().contains("later").then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn field_case_22_nothing_is_told_while_nothing_changes() {
    let cluster = Cluster::start(Shape::default()).await;
    let everything = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    let mut listener = cluster.modern(0).listen(everything).await;

    // Several heartbeats and expiries of the registry pass.
    let told = listener.events.messages_until_quiet(Duration::from_secs(5)).await;

    assert_eq!(told, Vec::<Value>::new());
}

#[tokio::test]
async fn a_gateway_that_is_killed_takes_no_session_and_no_fact_with_it() {
    let mut cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    let client = cluster.legacy(Revision::R4).await;
    let uri = subscribe(&client).await;
    let mut lost = client.at(&cluster.gateway(2)).listen().await;
    cluster.folder.write("plan.md", "one");
    next_update(&mut lost).await;

    cluster.gateways.pop().unwrap().kill().await;
    assert!(lost.ended().await);
    let mut witness = cluster.modern(0).listen(json!({"resourceSubscriptions": [uri]})).await;
    cluster.folder.write("plan.md", "two");
    witness.next().await;

    let elsewhere = client.at(&cluster.gateway(1));
    assert_eq!(elsewhere.request("ping", json!({})).await.status, 200);
    assert_eq!(next_update(&mut elsewhere.listen().await).await, uri, "it was waiting for the next stream");
}

#[tokio::test]
async fn of_two_streams_that_open_at_the_same_instant_at_two_gateways_one_hears_of_each_change() {
    let cluster = Cluster::start(Shape::default()).await;
    let mut sessions = Vec::new();
    for _ in 0..30 {
        let client = cluster.legacy(Revision::R4).await;
        subscribe(&client).await;
        sessions.push(client);
    }
    let mut streams = Vec::new();
    for client in &sessions {
        let (first, second) = (client.at(&cluster.gateway(0)), client.at(&cluster.gateway(1)));
        streams.push(tokio::join!(first.listen(), second.listen()));
    }

    cluster.folder.write("plan.md", "changed once");

    for (first, second) in &mut streams {
        let (first, second) = tokio::join!(first.messages_until_quiet(QUIET), second.messages_until_quiet(QUIET));
        assert_eq!(first.len() + second.len(), 1, "{first:?} {second:?}");
    }
}

#[tokio::test]
async fn a_silent_stream_hears_what_the_one_that_ended_had_not_sent() {
    let cluster = Cluster::start(Shape::default()).await;
    let client = cluster.legacy(Revision::R4).await;
    let uri = subscribe(&client).await;
    let mut silent = client.at(&cluster.gateway(0)).listen().await;
    let holder = client.at(&cluster.gateway(1)).listen().await;

    drop(holder);
    cluster.folder.write("plan.md", "changed while nobody had the floor");

    assert_eq!(next_update(&mut silent).await, uri);
}

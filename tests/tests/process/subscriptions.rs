//! `subscriptions/listen`: what was asked for, tagged, and nothing else.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_tests::{Listener, Revision, meta};

use crate::One;

/// Long enough for something that should not come to come.
const QUIET: Duration = Duration::from_millis(700);

async fn next_update(listener: &mut Listener) -> Value {
    loop {
        let message = listener.next().await;
        if message["method"] == "notifications/resources/updated" {
            return message["params"]["uri"].clone();
        }
    }
}

#[tokio::test]
async fn the_acknowledgement_comes_first_and_names_what_is_honoured() {
    let one = One::start().await;
    let modern = one.modern();
    let uri = modern.uri_of("plan.md").await;
    let asked = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": [uri]});

    let everything = modern.listen(asked.clone()).await;
    let nothing = modern.listen(json!({})).await;
    let more = modern.listen(json!({"toolsListChanged": true, "nobodyKnows": true})).await;

    assert_eq!(everything.acknowledged, asked);
    assert_eq!(nothing.acknowledged, json!({}));
    assert_eq!(more.acknowledged, json!({"toolsListChanged": true}));
}

#[tokio::test]
async fn the_id_of_a_subscription_keeps_its_type() {
    let one = One::start().await;
    let modern = one.modern();
    let uri = modern.uri_of("plan.md").await;
    let mut number = modern.listen_as(json!(7), json!({"resourceSubscriptions": [uri]})).await;
    let mut string = modern.listen_as(json!("7"), json!({"resourceSubscriptions": [uri]})).await;

    one.folder.write("plan.md", "changed");

    assert_eq!(number.next().await["params"]["_meta"][meta("subscriptionId")], json!(7));
    assert_eq!(string.next().await["params"]["_meta"][meta("subscriptionId")], json!("7"));
}

#[tokio::test]
async fn each_kind_of_change_is_told_only_to_those_who_asked() {
    let one = One::start().await;
    let modern = one.modern();
    let uri = modern.uri_of("plan.md").await;
    let mut updates = modern.listen(json!({"resourceSubscriptions": [uri]})).await;
    let mut lists = modern.listen(json!({"resourcesListChanged": true})).await;
    let mut prompts = modern.listen(json!({"promptsListChanged": true})).await;

    one.folder.write("plan.md", "changed");
    assert_eq!(next_update(&mut updates).await, uri);
    one.folder.write("new.txt", "new");
    assert_eq!(lists.next().await["method"], "notifications/resources/list_changed");

    assert_eq!(updates.events.messages_until_quiet(QUIET).await, Vec::<Value>::new());
    assert_eq!(prompts.events.messages_until_quiet(QUIET).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_save_by_rename_a_deletion_and_a_new_file_are_all_told() {
    let one = One::start().await;
    let modern = one.modern();
    let uri = modern.uri_of("plan.md").await;
    let mut updates = modern.listen(json!({"resourceSubscriptions": [uri]})).await;
    let mut lists = modern.listen(json!({"resourcesListChanged": true})).await;

    one.folder.save("plan.md", "saved as editors do");
    assert_eq!(next_update(&mut updates).await, uri);
    let read = modern.request("resources/read", json!({"uri": uri})).await;
    assert_eq!(read.result()["contents"][0]["text"], "saved as editors do");

    one.folder.remove("plan.md");
    assert_eq!(next_update(&mut updates).await, uri);
    assert_eq!(lists.next().await["method"], "notifications/resources/list_changed");
    one.folder.write("plan.md", "back again");
    assert_eq!(next_update(&mut updates).await, uri);
}

#[tokio::test]
async fn of_a_burst_the_last_change_is_never_lost() {
    let one = One::start().await;
    let modern = one.modern();
    let uri = modern.uri_of("notes.txt").await;
    let mut updates = modern.listen(json!({"resourceSubscriptions": [uri]})).await;

    for round in 0..500 {
        one.folder.overwrite("notes.txt", format!("round {round}"));
    }

    // Whoever reads after each update has read the last content in the end.
    let mut told = 0;
    loop {
        next_update(&mut updates).await;
        told += 1;
        let read = modern.request("resources/read", json!({"uri": uri})).await;
        if read.result()["contents"][0]["text"] == "round 499" {
            break;
        }
    }
    assert!(told < 250, "{told} updates for one burst");
}

#[tokio::test]
async fn both_eras_hear_of_the_same_change() {
    let one = One::start().await;
    let modern = one.modern();
    let uri = modern.uri_of("plan.md").await;
    let legacy = one.legacy(Revision::R2).await;
    legacy.request("resources/subscribe", json!({"uri": uri})).await.result();
    let mut standing = legacy.listen().await;
    let mut listener = modern.listen(json!({"resourceSubscriptions": [uri]})).await;

    one.folder.write("plan.md", "changed");

    assert_eq!(next_update(&mut listener).await, uri);
    let told = standing.message().await;
    assert_eq!((&told["method"], &told["params"]["uri"]), (&json!("notifications/resources/updated"), &json!(uri)));
    assert_eq!(told["params"].get("_meta"), None, "{told}");
}

#[tokio::test]
async fn field_case_22_nothing_is_told_while_nothing_changes() {
    let one = One::start().await;
    let modern = one.modern();
    let everything = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    let mut listener = modern.listen(everything).await;

    for _ in 0..20 {
        modern.request("tools/list", json!({})).await;
        modern.call("checkDiskSpace", json!({"path": "/"})).await;
    }

    assert_eq!(listener.events.messages_until_quiet(QUIET).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_client_that_takes_no_stream_cannot_listen() {
    let one = One::start().await;
    let request = one.modern().post(&json!(1), "subscriptions/listen", json!({"notifications": {}}));

    assert_eq!(request.header("Accept", "application/json").send().await.status, 406);
}

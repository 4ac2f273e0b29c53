//! What holds on every transport whose connection is the session.

use serde_json::json;
use switchyard_tests::{Backend, MODERN, ModernClient, Revision, Talker, meta};

use crate::{One, held_by};

async fn speaks_every_revision_with_sessions<T: Talker>(connect: impl AsyncFn() -> T) {
    for revision in Revision::ALL {
        let mut client = connect().await;

        let handshake = client.handshake(revision.date()).await;
        let tools = client.ask("tools/list", json!({})).await;
        let call = client.ask("tools/call", json!({"name": "checkDiskSpace", "arguments": {"path": "/"}})).await;

        assert_eq!(handshake["protocolVersion"], revision.date());
        assert!(tools["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{tools}");
        assert_eq!(call["result"]["content"][0]["type"], "text", "{call}");
    }
}

#[tokio::test]
async fn every_revision_with_sessions_is_spoken() {
    let one = One::start().await;

    speaks_every_revision_with_sessions(async || one.websocket().await).await;
    speaks_every_revision_with_sessions(async || one.sse().await).await;
    speaks_every_revision_with_sessions(async || one.tcp().await).await;
    speaks_every_revision_with_sessions(async || one.unix().await).await;
}

async fn speaks_both_eras(mut client: impl Talker) {
    let discovered = client.ask_modern("server/discover", json!({})).await;
    client.handshake("2025-06-18").await;
    let legacy = client.ask("tools/list", json!({})).await;
    let modern = client.ask_modern("tools/list", json!({})).await;

    assert_eq!(discovered["result"]["supportedVersions"][0], MODERN, "{discovered}");
    assert_eq!(legacy["result"].get("resultType"), None);
    assert_eq!(modern["result"]["resultType"], "complete");
}

#[tokio::test]
async fn both_eras_may_be_mixed_on_one_connection() {
    let one = One::start().await;

    speaks_both_eras(one.websocket().await).await;
    speaks_both_eras(one.sse().await).await;
    speaks_both_eras(one.tcp().await).await;
    speaks_both_eras(one.unix().await).await;
}

async fn asks_for_a_handshake(mut client: impl Talker) {
    let early = client.ask("tools/list", json!({})).await;
    let ping = client.ask("ping", json!({})).await;
    client.handshake("2025-11-25").await;
    let again = client
        .ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        )
        .await;

    assert_eq!(early["error"]["code"], -32600, "{early}");
    assert_eq!(ping["result"], json!({}));
    assert_eq!(again["error"]["code"], -32600, "{again}");
}

#[tokio::test]
async fn a_session_begins_with_one_handshake() {
    let one = One::start().await;

    asks_for_a_handshake(one.websocket().await).await;
    asks_for_a_handshake(one.sse().await).await;
    asks_for_a_handshake(one.tcp().await).await;
}

async fn hears_of_a_change(one: &One, mut client: impl Talker) {
    client.handshake("2025-11-25").await;
    let uri = client.uri_of("plan.md").await;
    assert_eq!(client.ask("resources/subscribe", json!({"uri": uri})).await["result"], json!({}));

    one.folder.write("plan.md", "changed");

    let update = client.notified("notifications/resources/updated").await;
    assert_eq!(update["params"]["uri"], uri);
}

#[tokio::test]
async fn a_session_hears_of_what_it_subscribed_to() {
    let one = One::start().await;

    hears_of_a_change(&one, one.websocket().await).await;
    hears_of_a_change(&one, one.sse().await).await;
    hears_of_a_change(&one, one.tcp().await).await;
}

async fn listens_without_a_session(one: &One, file: &str, mut client: impl Talker) {
    let params = ModernClient::params(json!({"notifications": {"resourcesListChanged": true}}));
    client.begin(&json!("s"), "subscriptions/listen", params).await;
    client.notified("notifications/subscriptions/acknowledged").await;

    one.folder.write(file, "new");

    let changed = client.notified("notifications/resources/list_changed").await;
    assert_eq!(changed["params"]["_meta"][meta("subscriptionId")], "s");
    client.cancel(&json!("s")).await;
    assert!(client.ask_modern("tools/list", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn a_stateless_client_listens_and_gives_it_up() {
    let one = One::start().await;

    listens_without_a_session(&one, "1.txt", one.websocket().await).await;
    listens_without_a_session(&one, "2.txt", one.sse().await).await;
    listens_without_a_session(&one, "3.txt", one.tcp().await).await;
    one.until_open("listen", 0).await;
}

async fn cancels(mut client: impl Talker) {
    let backend = Backend::start().await;
    client.handshake("2025-11-25").await;
    for params in [held_by(&backend), ModernClient::params(held_by(&backend))] {
        client.begin(&json!("x"), "tools/call", params).await;
        let held = backend.next_request().await;

        client.cancel(&json!("x")).await;

        held.given_up().await;
        // Nothing is said of it: what comes next is this answer.
        client.begin(&json!("y"), "ping", json!({})).await;
        assert_eq!(client.hear().await.unwrap()["id"], "y");
    }
}

#[tokio::test]
async fn a_call_that_its_client_gives_up_is_cancelled_down_to_the_tool() {
    let one = One::start().await;

    cancels(one.websocket().await).await;
    cancels(one.sse().await).await;
    cancels(one.tcp().await).await;
}

async fn vanishes(mut client: impl Talker) {
    let backend = Backend::start().await;
    client.handshake("2025-11-25").await;
    client.begin(&json!(1001), "tools/call", held_by(&backend)).await;
    let legacy = backend.next_request().await;
    client.begin(&json!(1002), "tools/call", ModernClient::params(held_by(&backend))).await;
    let modern = backend.next_request().await;

    drop(client);

    legacy.given_up().await;
    modern.given_up().await;
}

#[tokio::test]
async fn the_calls_of_a_client_that_hangs_up_are_cancelled_and_its_session_ends() {
    let one = One::start().await;

    vanishes(one.websocket().await).await;
    vanishes(one.sse().await).await;

    for kind in ["websocket", "sse", "standing"] {
        one.until_open(kind, 0).await;
    }
}

async fn tells_calls_apart(mut client: impl Talker) {
    let backend = Backend::start().await;
    client.handshake("2025-11-25").await;
    let ids = [json!(1), json!("1"), json!(0), json!(-1), json!(""), json!(9_007_199_254_740_993_i64)];
    let mut held = Vec::new();
    for id in &ids {
        client.begin(id, "tools/call", held_by(&backend)).await;
        held.push(backend.next_request().await);
    }
    client.begin(&json!("1"), "tools/call", held_by(&backend)).await;
    let twice = client.response(&json!("1")).await;

    assert_eq!(twice["error"]["code"], -32600, "it runs already: {twice}");
    for (id, held) in ids.iter().zip(held).rev() {
        held.answer().await;
        let answer = client.hear().await.unwrap();
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (id, &json!(false)), "{answer}");
    }
}

#[tokio::test]
async fn field_case_80_ids_come_back_as_they_were_sent_and_never_mix() {
    let one = One::start().await;

    tells_calls_apart(one.websocket().await).await;
    tells_calls_apart(one.sse().await).await;
    tells_calls_apart(one.tcp().await).await;
}

#[tokio::test]
async fn batches_are_taken_in_the_revision_that_has_them_and_nowhere_else() {
    let one = One::start().await;
    let ping = |id: &str| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let batch = json!([ping("a"), {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}, 1, [], ping("b")]);
    for revision in Revision::ALL {
        let mut client = one.tcp().await;
        client.handshake(revision.date()).await;

        client.say(&batch.to_string()).await;

        if revision == Revision::R2 {
            assert_eq!(client.hear().await.unwrap()["id"], "a");
            for _ in 0..2 {
                assert_eq!(client.hear().await.unwrap()["error"]["code"], -32600);
            }
            assert_eq!(client.hear().await.unwrap()["id"], "b");
        } else {
            assert_eq!(client.hear().await.unwrap()["error"]["code"], -32600, "{revision:?}");
        }
        client.say("[]").await;
        assert_eq!(client.hear().await.unwrap()["error"]["code"], -32600, "{revision:?}");
    }
}

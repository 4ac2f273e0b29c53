//! Signs of life, asked for by either side.

use serde_json::{Value, json};
use switchyard_tests::{Door, ModernClient, Revision, Stage, Talker};

#[tokio::test]
async fn a_ping_is_answered_in_every_revision_with_sessions_also_while_a_call_runs() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        for revision in Revision::ALL {
            let mut client = door.session(&stage, revision, &json!({})).await;
            client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
            let run = stage.service.next_run().await;

            for params in [json!({}), json!({"_meta": {"progressToken": 1}}), json!({"com.example": [1]})] {
                assert_eq!(client.ask("ping", params).await["result"], json!({}), "{door:?} {revision:?}");
            }
            client.say(&json!({"jsonrpc": "2.0", "id": "bare", "method": "ping"}).to_string()).await;
            assert_eq!(client.response(&json!("bare")).await["result"], json!({}));

            run.say("done").await;
            assert!(client.response(&json!("x")).await["result"].is_object());
        }
    }
}

#[tokio::test]
async fn the_stateless_revision_has_no_ping() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;

        let refused = client.ask("ping", ModernClient::params(json!({}))).await;

        assert_eq!(refused["error"]["code"], -32601, "{door:?}: {refused}");
    }
}

#[tokio::test]
async fn a_silent_session_is_pinged_and_its_answer_is_no_surprise() {
    let stage = Stage::start_with(&[], &json!({"idleTimeout": "2s"})).await;
    // WebSocket has pings of its own.
    for door in [Door::Sse, Door::Tcp, Door::Unix] {
        for revision in [Revision::R1, Revision::R4] {
            let mut client = door.session(&stage, revision, &json!({})).await;

            let ping = client.hear().await.expect("the connection stays open");
            assert_eq!((&ping["method"], ping.get("params")), (&json!("ping"), None::<&Value>), "{door:?} {ping}");
            client.answer(&ping, &json!({})).await;

            assert_eq!(client.ask("ping", json!({})).await["result"], json!({}), "{door:?} {revision:?}");
        }
    }
    let dropped = stage.metric("switchyard_answers_dropped_total").await;
    assert!(dropped < 1.0, "{dropped} answers to pings were taken for something else");
}

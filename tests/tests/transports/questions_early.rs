//! Clients that cannot be asked yet, or have no stream to be asked on: refused at once, and nothing is left behind.

use serde_json::json;
use switchyard_tests::{AnyClient, Door, HttpClient, Revision, Stage, Talker};

use crate::questions::{abilities, form, prompt};

/// A session whose client has not said yet that it is ready.
async fn unready(door: Door, stage: &Stage, revision: Revision) -> AnyClient {
    let mut client = door.enter(stage).await;
    let params = json!({"protocolVersion": revision.date(), "capabilities": abilities(revision),
        "clientInfo": {"name": "switchyard-tests", "version": "1"}});
    client.ask("initialize", params).await;
    client
}

#[tokio::test]
async fn nobody_is_asked_before_the_handshake_is_over() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        for revision in Revision::ALL {
            let mut client = unready(door, &stage, revision).await;
            client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
            stage.service.next_run().await.ask(&json!({"k": prompt()}), "").await;

            let again = stage.service.next_run().await;

            assert!(again.answers["k"]["error"]["code"].is_i64(), "{door:?} {revision:?}: {}", again.answers);
            again.say("nobody was asked").await;
            let next = client.hear().await.unwrap();
            assert_eq!(next["id"], "x", "{door:?} {revision:?}: {next}");
        }
    }
}

#[tokio::test]
async fn field_case_40_a_client_that_takes_no_stream_is_asked_nothing_and_its_tool_told_so_at_once() {
    let stage = Stage::start().await;
    for revision in [Revision::R3, Revision::R4] {
        let mut client = HttpClient::new(&stage.node.mcp());
        let params = json!({"protocolVersion": revision.date(), "capabilities": abilities(revision),
            "clientInfo": {"name": "switchyard-tests", "version": "1"}});
        client.ask("initialize", params).await;
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
        client.takes_streams = false;
        client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
        stage.service.next_run().await.ask(&json!({"k": form()}), "").await;

        let again = stage.service.next_run().await;

        assert!(again.answers["k"]["error"]["code"].is_i64(), "{revision:?}: {}", again.answers);
        again.say("nobody was asked").await;
        assert_eq!(client.response(&json!("x")).await["result"]["content"][0]["text"], "nobody was asked");
    }
}

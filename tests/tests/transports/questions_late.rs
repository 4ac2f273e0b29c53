//! State that a stateless client brings back too late.

use serde_json::json;
use switchyard_tests::{Door, ModernClient, Offered, Stage, Talker, eventually, meta};

use crate::questions::form;

#[tokio::test]
async fn a_state_that_is_too_old_is_refused_and_the_call_can_begin_anew() {
    let stage = Stage::start_with(&[Offered::tool("held")], &json!({"answerTimeout": "1s"})).await;
    let capabilities = json!({meta("clientCapabilities"): {"elicitation": {}}});
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;
        let mut params = ModernClient::params(json!({"name": "held", "_meta": capabilities}));
        client.begin(&json!("first"), "tools/call", params.clone()).await;
        stage.service.next_run().await.ask(&json!({"k": form()}), "").await;
        let state = client.response(&json!("first")).await["result"]["requestState"].clone();
        params["requestState"] = state;
        params["inputResponses"] = json!({"k": {"action": "decline"}});

        eventually("the state to be too old", async || {
            let id = json!(client.next_id());
            client.begin(&id, "tools/call", params.clone()).await;
            tokio::select! {
                run = stage.service.next_run() => {
                    run.say("still in time").await;
                    client.response(&id).await;
                    None
                }
                refused = client.response(&id) => {
                    assert_eq!(refused["error"]["code"], -32602, "{door:?}: {refused}");
                    Some(())
                }
            }
        })
        .await;

        params.as_object_mut().unwrap().remove("requestState");
        client.begin(&json!("anew"), "tools/call", params).await;
        stage.service.next_run().await.say("done").await;
        assert!(client.response(&json!("anew")).await["result"].is_object(), "{door:?}");
    }
}

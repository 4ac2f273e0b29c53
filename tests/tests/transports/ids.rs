//! Ids of requests, on every transport: given back as they came, or refused.

use serde_json::json;
use switchyard_tests::{Door, ModernClient, Revision, Stage, Talker};

#[tokio::test]
async fn field_case_79_an_id_comes_back_as_it_was_sent_at_once_and_by_a_stream() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R4, &json!({})).await;
        for id in [json!("7"), json!(7), json!(0), json!(-1), json!("a b"), json!(""), json!(9_007_199_254_740_993_i64)]
        {
            for params in [json!({}), ModernClient::params(json!({}))] {
                client.begin(&id, "tools/list", params).await;
                let answer = client.hear().await.unwrap();
                assert_eq!(answer["id"], id, "{door:?}: {answer}");
            }
            for params in [json!({"name": "held"}), ModernClient::params(json!({"name": "held"}))] {
                let mut params = params;
                params["_meta"]["progressToken"] = id.clone();
                client.begin(&id, "tools/call", params).await;
                let run = stage.service.next_run().await;
                run.progress(1.0).await;
                let progress = client.hear().await.unwrap();
                assert_eq!(progress["params"]["progressToken"], id, "{door:?}: {progress}");
                run.say("done").await;
                let answer = client.hear().await.unwrap();
                assert_eq!((&answer["id"], answer["result"].is_object()), (&id, true), "{door:?}: {answer}");
            }
        }
    }
}

#[tokio::test]
async fn field_case_81_an_id_of_another_kind_is_refused_and_the_connection_goes_on() {
    let stage = Stage::start().await;
    // Over HTTP the refusal is a status, which is looked at where statuses are.
    for door in [Door::WebSocket, Door::Tcp, Door::Unix, Door::Bridge] {
        let mut client = door.session(&stage, Revision::R4, &json!({})).await;
        for id in ["{}", "true", "[1]", "null", "1.5e400", "1.5"] {
            client.say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}")).await;
            let answer = client.hear().await.unwrap();
            assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(-32600), None), "{door:?} {id}: {answer}");
        }
        assert_eq!(client.ask("ping", json!({})).await["result"], json!({}), "{door:?}");
    }
}

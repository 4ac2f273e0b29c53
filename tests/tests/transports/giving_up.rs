//! Giving requests up, in the way of each transport and era, down to whatever works on them.

use serde_json::{Value, json};
use switchyard_tests::{Door, ModernClient, Revision, Stage, Talker, eventually};

use crate::questions::asking_stage;

/// One call of each kind, by its method.
fn calls() -> [(&'static str, Value); 3] {
    [
        ("tools/call", json!({"name": "held", "arguments": {}})),
        ("prompts/get", json!({"name": "held"})),
        ("resources/read", json!({"uri": "held://one"})),
    ]
}

/// Waits until the gateway counts so many calls as cancelled.
async fn until_cancelled(stage: &Stage, era: &str, count: usize) {
    eventually("cancelled calls to be counted", async || {
        let metrics = stage.node.admin("/metrics").await.text().await;
        let counts = metrics.lines().filter(|line| {
            line.starts_with("switchyard_requests_total")
                && line.contains("outcome=\"cancelled\"")
                && line.contains(&format!("era=\"{era}\""))
        });
        let sum: usize = counts.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum();
        (sum == count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn field_case_42_a_session_gives_up_tools_prompts_and_resources_and_hears_no_more_of_them() {
    let stage = asking_stage().await;
    let mut given_up = 0;
    for door in Door::ALL {
        for revision in Revision::ALL {
            let mut client = door.session(&stage, revision, &json!({})).await;
            for (method, params) in calls() {
                client.begin(&json!("x"), method, params).await;
                let run = stage.service.next_run().await;

                client.cancel(&json!("x")).await;

                run.given_up().await;
                // What comes next is this answer.
                client.begin(&json!("y"), "ping", json!({})).await;
                let next = client.hear().await.unwrap();
                assert_eq!(next["id"], "y", "{door:?} {revision:?} {method}: {next}");
                given_up += 1;
            }
        }
    }
    until_cancelled(&stage, "legacy", given_up).await;
}

#[tokio::test]
async fn field_case_43_a_stateless_client_gives_them_up_and_their_place_is_free_again() {
    let stage = asking_stage().await;
    let mut given_up = 0;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;
        for (method, params) in calls() {
            client.begin(&json!("x"), method, ModernClient::params(params)).await;
            let run = stage.service.next_run().await;

            client.cancel(&json!("x")).await;

            run.given_up().await;
            client.begin(&json!("y"), "server/discover", ModernClient::params(json!({}))).await;
            let next = client.hear().await.unwrap();
            assert_eq!(next["id"], "y", "{door:?} {method}: {next}");
            given_up += 1;
        }
    }
    until_cancelled(&stage, "modern", given_up).await;
}

#[tokio::test]
async fn field_case_43_the_only_place_for_a_call_is_free_once_its_client_has_gone() {
    let stage = Stage::start_with(&[switchyard_tests::Offered::tool("held")], &json!({"maxCalls": 1})).await;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;
        client.begin(&json!("x"), "tools/call", ModernClient::params(json!({"name": "held"}))).await;
        let run = stage.service.next_run().await;
        let full = stage.modern().request("tools/call", json!({"name": "held"})).await;
        assert_eq!(full.status, 503, "{}", full.message);

        drop(client);

        run.given_up().await;
        eventually("a place to be free", async || {
            (stage.modern().request("tools/list", json!({})).await.status == 200).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn giving_up_what_does_not_run_does_nothing() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R3, &json!({})).await;
        client.begin(&json!(1), "tools/call", json!({"name": "held"})).await;
        let run = stage.service.next_run().await;

        for id in [json!("1"), json!(2), json!(null), json!({}), json!(1.5)] {
            client.cancel(&id).await;
        }
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}).to_string()).await;

        run.say("undisturbed").await;
        assert_eq!(client.response(&json!(1)).await["result"]["content"][0]["text"], "undisturbed", "{door:?}");
        client.cancel(&json!(1)).await;
        assert_eq!(client.ask("ping", json!({})).await["result"], json!({}), "{door:?}");
    }
}

//! Answers that nobody waits for: dropped and counted, whatever they answer.

use serde_json::{Value, json};
use switchyard_tests::{Door, Revision, Stage, Talker, eventually};

use crate::questions::{abilities, form};

const DROPPED: &str = "switchyard_answers_dropped_total";

async fn until_dropped(stage: &Stage, count: f64) {
    eventually(&format!("{count} dropped answers"), async || (stage.metric(DROPPED).await >= count).then_some(()))
        .await;
    let dropped = stage.metric(DROPPED).await;
    assert!((dropped - count).abs() < f64::EPSILON, "{dropped} in place of {count}");
}

#[tokio::test]
async fn field_case_45_an_answer_that_nobody_asked_for_is_dropped_and_counted() {
    let stage = Stage::start().await;
    let mut dropped = 0.0;
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R4, &abilities(Revision::R4)).await;
        client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
        stage.service.next_run().await.ask(&json!({"k": form()}), "").await;
        let request = client.hear().await.unwrap();
        let of_a_node = request["id"].as_str().unwrap().split_once('.').unwrap().0.to_owned();

        let never_asked = [
            json!(7),
            json!(0),
            json!(-1),
            json!("x"),
            json!("nobody.7"),
            json!(format!("{of_a_node}.999999")),
            json!(format!("{of_a_node}.")),
        ];
        for id in &never_asked {
            client.answer(&json!({"id": id}), &json!({"action": "accept", "content": {"name": "Eve"}})).await;
            client.refuse(&json!({"id": id}), -1, "never").await;
            dropped += 2.0;
        }
        until_dropped(&stage, dropped).await;
        client.answer(&request, &json!({"action": "accept", "content": {"name": "Ada"}})).await;
        client.answer(&request, &json!({"action": "accept", "content": {"name": "too late"}})).await;
        dropped += 1.0;

        let again = stage.service.next_run().await;
        assert_eq!(again.answers["k"]["content"]["name"], "Ada", "{door:?}");
        until_dropped(&stage, dropped).await;
        again.say("done").await;
        assert!(client.response(&json!("x")).await["result"].is_object(), "{door:?}");
    }
}

#[tokio::test]
async fn one_session_cannot_answer_for_another() {
    let stage = Stage::start().await;
    let mut dropped = 0.0;
    for door in Door::ALL {
        let mut owner = door.session(&stage, Revision::R4, &abilities(Revision::R4)).await;
        let mut other = door.session(&stage, Revision::R4, &abilities(Revision::R4)).await;
        owner.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
        stage.service.next_run().await.ask(&json!({"k": form()}), "").await;
        let request = owner.hear().await.unwrap();

        other.answer(&request, &json!({"action": "accept", "content": {"name": "Eve"}})).await;
        dropped += 1.0;
        until_dropped(&stage, dropped).await;
        owner.answer(&request, &json!({"action": "decline"})).await;

        let again = stage.service.next_run().await;
        assert_eq!(again.answers["k"], json!({"action": "decline"}), "{door:?}");
        again.say("done").await;
        owner.response(&json!("x")).await;
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_waits_for_no_answer() {
    let stage = Stage::start().await;
    let mut dropped = 0.0;
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R4, &abilities(Revision::R4)).await;
        client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
        stage.service.next_run().await.ask(&json!({"k": form()}), "").await;
        let request = client.notified("elicitation/create").await;

        client.cancel(&json!("x")).await;
        // The same connection's next request is taken after the cancel.
        assert_eq!(client.ask("ping", json!({})).await["result"], json!({}), "{door:?}");
        client.answer(&request, &json!({"action": "accept", "content": {"name": "Ada"}})).await;
        dropped += 1.0;

        until_dropped(&stage, dropped).await;
        assert!(stage.service.is_idle().await, "{door:?}: the call went on");
        assert_eq!(client.ask("ping", json!({})).await["result"], Value::Object(serde_json::Map::new()));
    }
}

#[tokio::test]
async fn field_case_45_answers_outside_of_a_session_and_to_pings_that_never_were_are_counted_too() {
    let stage = Stage::start().await;
    let mut dropped = 0.0;
    for door in Door::CONNECTIONS {
        let mut client = door.enter(&stage).await;
        client.answer(&json!({"id": 7}), &json!({})).await;
        let mut client = door.session(&stage, Revision::R4, &json!({})).await;
        client.answer(&json!({"id": "ping.999"}), &Value::Object(serde_json::Map::new())).await;
        dropped += 2.0;

        until_dropped(&stage, dropped).await;
    }
}

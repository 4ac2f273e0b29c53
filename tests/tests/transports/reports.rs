//! Progress and log messages of running calls, on every transport.

use serde_json::{Value, json};
use switchyard_tests::{AnyClient, Door, ModernClient, Revision, Stage, Talker, meta};

/// Tokens of every type that there is.
fn tokens() -> [Value; 6] {
    [json!("t"), json!(""), json!("7"), json!(7), json!(0), json!(-1)]
}

/// Lets a call report twice, the second time nothing new, and then again; each report is heard before the next step.
async fn reports(stage: &Stage, client: &mut AnyClient, params: Value, token: &Value) {
    client.begin(&json!("x"), "tools/call", params).await;
    let run = stage.service.next_run().await;
    for progress in [1.0, 50.5] {
        run.progress(progress).await;
        let heard = client.hear().await.unwrap();
        assert_eq!(heard["method"], "notifications/progress", "{heard}");
        assert_eq!((&heard["params"]["progressToken"], heard["params"]["progress"].as_f64()), (token, Some(progress)));
        assert_eq!(heard["params"]["total"].as_f64(), Some(100.0));
    }
    run.progress(50.5).await;
    run.progress(20.0).await;
    run.progress(99.0).await;
    let heard = client.hear().await.unwrap();
    assert_eq!(heard["params"]["progress"].as_f64(), Some(99.0), "progress only grows: {heard}");
    run.say("done").await;
    let last = client.hear().await.unwrap();
    assert_eq!(last["id"], "x", "{last}");
}

#[tokio::test]
async fn progress_comes_as_it_happens_under_the_token_of_whoever_asked() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut modern = door.enter(&stage).await;
        for token in tokens() {
            let params = ModernClient::params(json!({"name": "held", "_meta": {"progressToken": token}}));
            reports(&stage, &mut modern, params, &token).await;
        }
        for revision in Revision::ALL {
            let mut client = door.session(&stage, revision, &json!({})).await;
            for token in tokens() {
                let params = json!({"name": "held", "_meta": {"progressToken": token}});
                reports(&stage, &mut client, params, &token).await;
            }
        }
    }
}

#[tokio::test]
async fn a_call_without_a_token_reports_no_progress_and_a_wrong_token_is_refused() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R4, &json!({})).await;
        client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
        let run = stage.service.next_run().await;
        run.progress(50.0).await;
        run.say("done").await;
        let only = client.hear().await.unwrap();
        assert_eq!(only["id"], "x", "{door:?}: {only}");

        for token in [json!(1.5), json!({}), json!(true), json!([1])] {
            let params = json!({"name": "held", "_meta": {"progressToken": token}});
            let refused = client.ask("tools/call", params.clone()).await;
            assert_eq!(refused["error"]["code"], -32602, "{door:?} {token}: {refused}");
            let refused = client.ask("tools/call", ModernClient::params(params)).await;
            assert_eq!(refused["error"]["code"], -32602, "{door:?} {token}: {refused}");
        }
        assert!(stage.service.is_idle().await);
    }
}

#[tokio::test]
async fn equal_tokens_of_two_clients_do_not_meet() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut clients = Vec::new();
        let mut runs = Vec::new();
        for _ in 0..2 {
            let mut client = door.session(&stage, Revision::R3, &json!({})).await;
            let params = json!({"name": "held", "_meta": {"progressToken": 1}});
            client.begin(&json!(1), "tools/call", params).await;
            clients.push(client);
            runs.push(stage.service.next_run().await);
        }
        for (run, progress) in runs.into_iter().zip([1.0, 2.0]) {
            run.progress(progress).await;
            run.say(&progress.to_string()).await;
        }

        for (client, progress) in clients.iter_mut().zip([1.0, 2.0]) {
            let (heard, last) = (client.hear().await.unwrap(), client.hear().await.unwrap());
            assert_eq!(heard["params"]["progress"].as_f64(), Some(progress), "{door:?}");
            assert_eq!(last["result"]["content"][0]["text"], progress.to_string(), "{door:?}");
        }
    }
}

/// Lets a call write to the log at every level, and returns what its client heard, by level.
async fn heard(stage: &Stage, client: &mut AnyClient, params: Value) -> Vec<String> {
    client.begin(&json!("x"), "tools/call", params).await;
    let run = stage.service.next_run().await;
    for level in LEVELS {
        run.log(level, &json!({"at": level, "n": [1, null]})).await;
    }
    run.say("done").await;
    let mut levels = Vec::new();
    loop {
        let message = client.hear().await.unwrap();
        if message["id"] == "x" {
            return levels;
        }
        assert_eq!(
            (&message["method"], &message["params"]["logger"]),
            (&json!("notifications/message"), &json!("held"))
        );
        let level = message["params"]["level"].as_str().unwrap().to_owned();
        assert_eq!(message["params"]["data"], json!({"at": level, "n": [1, null]}));
        levels.push(level);
    }
}

/// Least severe first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

#[tokio::test]
async fn a_session_hears_of_what_is_as_severe_as_it_said() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        for revision in Revision::ALL {
            let mut client = door.session(&stage, revision, &json!({})).await;
            let call = || json!({"name": "held"});
            for (index, level) in LEVELS.into_iter().enumerate().step_by(3) {
                assert_eq!(client.ask("logging/setLevel", json!({"level": level})).await["result"], json!({}));

                assert_eq!(heard(&stage, &mut client, call()).await, LEVELS[index..], "{door:?} {revision:?}");
            }
            let wrong = client.ask("logging/setLevel", json!({"level": "loud"})).await;
            assert_eq!(wrong["error"]["code"], -32602, "{door:?} {revision:?}: {wrong}");
            assert_eq!(heard(&stage, &mut client, call()).await, LEVELS[6..], "the level stays what it was");
        }
    }
}

#[tokio::test]
async fn a_stateless_client_hears_what_it_asked_for_with_the_call_and_else_nothing() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;
        let call = |level: &str| ModernClient::params(json!({"name": "held", "_meta": {meta("logLevel"): level}}));

        assert_eq!(heard(&stage, &mut client, call("warning")).await, LEVELS[3..], "{door:?}");
        assert_eq!(heard(&stage, &mut client, call("debug")).await, LEVELS, "{door:?}");
        let silent = heard(&stage, &mut client, ModernClient::params(json!({"name": "held"}))).await;
        assert!(silent.is_empty(), "{door:?}: {silent:?}");
    }
}

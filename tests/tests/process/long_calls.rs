//! Calls that take their time: what they report comes at once, and only their own limits end them.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_tests::{EventStream, LegacyClient, ModernClient, Offered, Request, Revision, Stage};

/// A call with a progress token, of each revision.
async fn calls(stage: &Stage, tool: &str) -> Vec<Request> {
    let params = json!({"name": tool, "_meta": {"progressToken": 1}});
    let mut requests = vec![stage.modern().post(&json!(1), "tools/call", params.clone())];
    for revision in Revision::ALL {
        let client = LegacyClient::connect(&stage.node.mcp(), revision).await;
        requests.push(client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})));
    }
    requests
}

async fn refused_for_time(client: &ModernClient, tool: &str) -> Value {
    let reply = client.request("tools/call", json!({"name": tool})).await;
    assert_eq!(reply.error().code, -32603, "{}", reply.message);
    assert!(reply.error().message.contains("took longer"), "{}", reply.message);
    reply.message
}

#[tokio::test]
async fn field_case_27_each_event_comes_before_the_call_goes_on_unbuffered_and_not_compressed() {
    let stage = Stage::start().await;
    for request in calls(&stage, "held").await {
        let sending = request.header("Accept-Encoding", "gzip, br").send();
        let reporting = async {
            let run = stage.service.next_run().await;
            run.progress(1.0).await;
            run
        };
        let (response, run) = tokio::join!(sending, reporting);
        let mut events: EventStream = response.events();

        // Nothing more happens in the call until what it said has been heard.
        for progress in 1..=3 {
            assert_eq!(events.message().await["params"]["progress"].as_f64(), Some(f64::from(progress)));
            run.progress(f64::from(progress + 1)).await;
        }

        assert_eq!(events.header("x-accel-buffering"), Some("no"));
        assert_eq!(events.header("content-encoding"), None);
        assert!(events.header("cache-control").is_some_and(|value| value.contains("no-transform")));
        run.say("done").await;
        assert_eq!(events.message().await["params"]["progress"].as_f64(), Some(4.0));
        assert!(events.message().await["result"].is_object());
        assert_eq!(events.event().await, None);
    }
}

#[tokio::test]
async fn field_case_28_a_call_may_take_as_long_as_its_own_tool_says() {
    let tools = [Offered::tool("quick"), Offered::tool("patient").within(Duration::from_secs(3600))];
    let stage = Stage::start_with(&tools, &json!({"callTimeout": "300ms"})).await;
    let client = stage.modern();
    let mut patient = Vec::new();
    for request in calls(&stage, "patient").await {
        let (response, run) = tokio::join!(request.send(), stage.service.next_run());
        patient.push((response.events(), run));
    }

    // Once these have run into their limit, the others have long passed it.
    for _ in 0..2 {
        let (_, quick) = tokio::join!(refused_for_time(&client, "quick"), stage.service.next_run());
        quick.given_up().await;
    }

    for (mut events, run) in patient {
        run.say("all in good time").await;
        assert_eq!(events.message().await["result"]["content"][0]["text"], "all in good time");
    }
}

#[tokio::test]
async fn field_case_44_a_call_that_reports_progress_is_not_ended_by_a_limit_for_silence() {
    let stage = Stage::start_with(&[Offered::tool("held")], &json!({"callTimeout": "2s"})).await;
    let client = stage.modern();
    let mut lively = Vec::new();
    for request in calls(&stage, "held").await {
        // Its stream begins with progress, for whatever is silent does not begin before a second has passed.
        let reporting = async {
            let run = stage.service.next_run().await;
            run.progress(1.0).await;
            run
        };
        let (response, run) = tokio::join!(request.send(), reporting);
        lively.push((response.events(), run));
    }

    let silent = async {
        for _ in 0..2 {
            let (_, run) = tokio::join!(refused_for_time(&client, "held"), stage.service.next_run());
            run.given_up().await;
        }
    };
    let reporting = async {
        for step in 2.. {
            for (_, run) in &lively {
                run.progress(f64::from(step)).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = silent => {}
        () = reporting => unreachable!("there is always another step"),
    }

    for (mut events, run) in lively {
        run.say("done").await;
        loop {
            let message = events.message().await;
            if message["method"] != "notifications/progress" {
                assert_eq!(message["result"]["content"][0]["text"], "done", "{message}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn no_progress_saves_a_call_from_the_limit_for_all_of_it() {
    let stage = Stage::start_with(&[Offered::tool("held")], &json!({"callTimeoutMax": "1s"})).await;
    let client = stage.modern();

    let reporting = async {
        let run = stage.service.next_run().await;
        for step in 1.. {
            run.progress(f64::from(step)).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let refused = tokio::select! {
        refused = refused_for_time(&client, "held") => refused,
        () = reporting => unreachable!("there is always another step"),
    };

    assert!(refused["error"]["message"].as_str().unwrap().contains("1 s"), "{refused}");
}

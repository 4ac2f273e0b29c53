//! Questions on streams that broke off: they come again to whoever resumes, and the call ends there.

use serde_json::{Value, json};
use switchyard_tests::{Event, EventStream, HttpClient, Revision, Stage, Talker};

/// A session over plain HTTP whose client fills in forms; its id.
async fn session(stage: &Stage, revision: Revision) -> (HttpClient, String) {
    let mut client = HttpClient::new(&stage.node.mcp());
    let params = json!({"protocolVersion": revision.date(), "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "switchyard-tests", "version": "1"}});
    client.ask("initialize", params).await;
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
    let session = client.session().to_owned();
    (client, session)
}

/// The next event with a message of this method, or an answer for an empty one.
async fn next(stream: &mut EventStream, method: &str) -> (Event, Value) {
    loop {
        let event = stream.event().await.expect("the stream goes on");
        if event.data.is_empty() {
            continue;
        }
        let message = event.message();
        if message["method"].as_str().unwrap_or_default() == method {
            return (event, message);
        }
    }
}

#[tokio::test]
async fn a_question_that_was_not_seen_comes_again_and_its_answer_ends_the_call() {
    let stage = Stage::start().await;
    let form = json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}});
    for revision in [Revision::R3, Revision::R4] {
        let (mut client, session) = session(&stage, revision).await;
        let call = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call",
            "params": {"name": "held", "_meta": {"progressToken": 1}}});
        let in_session = |method: &str| {
            let request = stage.node.mcp().request(method).header("Mcp-Session-Id", &session);
            request.header("MCP-Protocol-Version", revision.date())
        };
        let post = in_session("POST").header("Accept", "application/json, text/event-stream").json(&call);
        let (response, run) = tokio::join!(post.send(), async {
            let run = stage.service.next_run().await;
            run.progress(1.0).await;
            run
        });
        let mut broken = response.events();
        let (seen, _) = next(&mut broken, "notifications/progress").await;

        drop(broken);
        run.ask(&json!({"k": form}), "kept").await;
        let get = in_session("GET").header("Accept", "text/event-stream");
        let mut resumed = get.header("Last-Event-ID", seen.id.as_deref().unwrap()).send().await.events();
        let (_, asked) = next(&mut resumed, "elicitation/create").await;
        let answer = json!({"action": "accept", "content": {"name": "Ada"}});
        client.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}).to_string()).await;

        let again = stage.service.next_run().await;
        assert_eq!((&again.answers["k"], again.state.as_str()), (&answer, "kept"), "{revision:?}");
        again.say("Hello, Ada").await;
        let (_, last) = next(&mut resumed, "").await;
        assert_eq!((&last["id"], &last["result"]["content"][0]["text"]), (&json!("x"), &json!("Hello, Ada")));
        assert_eq!(resumed.event().await, None, "{revision:?}: nothing follows the answer");
    }
}

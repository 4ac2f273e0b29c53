//! Questions to stateless clients: the result of a call, which the client sends again with its answers and the state
//! that it was given, on every transport.

use serde_json::{Value, json};
use switchyard_tests::{AnyClient, Door, ModernClient, Offered, Stage, Talker, meta};

use crate::questions::{asking_stage, contents, directories, form, page, prompt, prompt_with_tools};

/// Everything that a client can be asked.
fn everything() -> Value {
    json!({"roots": {}, "sampling": {"tools": {}, "context": {}}, "elicitation": {"form": {}, "url": {}}})
}

/// The parameters of a stateless call of a client that can be asked what `capabilities` say.
fn call(capabilities: &Value, more: &Value) -> Value {
    let mut params =
        json!({"name": "held", "arguments": {"n": 7}, "_meta": {meta("clientCapabilities"): capabilities}});
    for (name, value) in more.as_object().expect("more members are an object") {
        params[name] = value.clone();
    }
    ModernClient::params(params)
}

/// Sends a call, and returns its id.
async fn send(client: &mut AnyClient, params: Value) -> Value {
    let id = json!(client.next_id());
    client.begin(&id, "tools/call", params).await;
    id
}

/// Sends a call, lets its tool ask, and returns the result.
async fn asked(stage: &Stage, client: &mut AnyClient, params: Value, questions: &Value, state: &str) -> Value {
    let id = send(client, params).await;
    stage.service.next_run().await.ask(questions, state).await;
    client.response(&id).await["result"].clone()
}

/// Sends a call that must be refused, and returns the code.
async fn refused(client: &mut AnyClient, params: Value) -> Value {
    let id = send(client, params).await;
    client.response(&id).await["error"]["code"].clone()
}

#[tokio::test]
async fn questions_are_a_result_and_the_next_round_brings_answers_and_state() {
    let stage = Stage::start().await;
    let questions = json!({"name": form(), "page": page(), "capital": prompt(), "look": prompt_with_tools(),
        "roots": directories()});
    let answers = json!({"name": {"action": "accept", "content": {"name": "Ada"}}, "page": {"action": "accept"},
        "capital": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Paris"}},
        "look": {"role": "assistant", "model": "m", "content": []}, "roots": {"roots": []}});
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;

        let result = asked(&stage, &mut client, call(&everything(), &json!({})), &questions, "what was learnt").await;
        assert_eq!(result["resultType"], "input_required", "{door:?}: {result}");
        assert_eq!(result["inputRequests"], questions, "{door:?}");
        assert_eq!((result.get("ttlMs"), result.get("cacheScope")), (None, None), "{result}");

        let round = json!({"inputResponses": answers, "requestState": result["requestState"]});
        let id = send(&mut client, call(&everything(), &round)).await;
        let again = stage.service.next_run().await;
        assert_eq!((&again.answers, again.state.as_str()), (&answers, "what was learnt"), "{door:?}");
        again.say("done").await;
        assert_eq!(client.response(&id).await["result"]["resultType"], "complete", "{door:?}");
    }
}

#[tokio::test]
async fn questions_may_follow_from_answers() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;
        let mut more = json!({});
        for round in 0..3 {
            let id = send(&mut client, call(&everything(), &more)).await;
            let run = stage.service.next_run().await;
            assert_eq!(run.state, if round == 0 { String::new() } else { format!("round {round}") }, "{door:?}");
            run.ask(&json!({"k": form()}), &format!("round {}", round + 1)).await;
            let result = client.response(&id).await["result"].clone();
            more = json!({"inputResponses": {"k": {"action": "decline"}}, "requestState": result["requestState"]});
        }

        let id = send(&mut client, call(&everything(), &more)).await;
        let last = stage.service.next_run().await;

        assert_eq!(last.state, "round 3", "{door:?}");
        last.say("done").await;
        assert_eq!(client.response(&id).await["result"]["content"][0]["text"], "done");
    }
}

#[tokio::test]
async fn field_case_40_what_a_stateless_client_did_not_declare_is_refused_and_named() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;
        for (capabilities, question, lacking) in [
            (json!({}), form(), json!({"elicitation": {}})),
            (json!({"elicitation": {}}), page(), json!({"elicitation": {"url": {}}})),
            (json!({}), prompt(), json!({"sampling": {}})),
            (json!({"sampling": {}}), prompt_with_tools(), json!({"sampling": {"tools": {}}})),
            (json!({"elicitation": {}, "sampling": {}}), directories(), json!({"roots": {}})),
        ] {
            let id = send(&mut client, call(&capabilities, &json!({}))).await;
            stage.service.next_run().await.ask(&json!({"k": question}), "").await;

            let error = client.response(&id).await["error"].clone();

            assert_eq!(error["code"], -32021, "{door:?} {capabilities}: {error}");
            assert_eq!(error["data"], json!({"requiredCapabilities": lacking}), "{door:?}");
        }
    }
}

#[tokio::test]
async fn a_tool_that_cannot_do_without_an_ability_is_not_even_begun() {
    let tool = Offered::tool("held").needing(&json!({"sampling": {"tools": {}}}));
    let stage = Stage::start_with(&[tool], &json!({})).await;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;

        let id = send(&mut client, call(&json!({"sampling": {}}), &json!({}))).await;
        let error = client.response(&id).await["error"].clone();

        assert_eq!(error["code"], -32021, "{door:?}: {error}");
        assert_eq!(error["data"]["requiredCapabilities"], json!({"sampling": {"tools": {}}}), "{door:?}");
        assert!(stage.service.is_idle().await, "{door:?}: the tool was begun");
    }
    let refused = stage.modern().request("tools/call", call(&json!({}), &json!({}))).await;
    assert_eq!(refused.refusal(), (400, -32021));
}

#[tokio::test]
async fn a_state_that_is_forged_or_of_another_request_is_refused() {
    let stage = Stage::start_with(&[Offered::tool("held"), Offered::tool("other")], &json!({})).await;
    let foreign = Stage::start().await;
    let mut stranger = Door::Http.enter(&foreign).await;
    let questions = json!({"k": form()});
    let theirs = asked(&foreign, &mut stranger, call(&everything(), &json!({})), &questions, "s").await;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;
        let result = asked(&stage, &mut client, call(&everything(), &json!({})), &questions, "state").await;
        let state = result["requestState"].as_str().unwrap().to_owned();
        let with = |state: &str| call(&everything(), &json!({"requestState": state, "inputResponses": {"k": {}}}));

        for at in [0, state.len() / 2, state.len() - 1] {
            let flipped = if state.as_bytes()[at] == b'A' { "B" } else { "A" };
            let mut forged = state.clone();
            forged.replace_range(at..=at, flipped);
            assert_eq!(refused(&mut client, with(&forged)).await, -32602, "{door:?}: a changed letter at {at}");
        }
        for wrong in
            ["", "AAAA", "not base64 !", &state[1..], &format!("{state}AAAA"), theirs["requestState"].as_str().unwrap()]
        {
            assert_eq!(refused(&mut client, with(wrong)).await, -32602, "{door:?}: `{wrong}`");
        }
        for wrong in [json!(7), json!({}), json!([state])] {
            let params = call(&everything(), &json!({"requestState": wrong}));
            assert_eq!(refused(&mut client, params).await, -32602, "{door:?}: {wrong}");
        }
        let other_arguments = json!({"requestState": state, "arguments": {"n": 8}});
        assert_eq!(refused(&mut client, call(&everything(), &other_arguments)).await, -32602, "{door:?}");
        let other_tool = json!({"requestState": state, "name": "other"});
        assert_eq!(refused(&mut client, call(&everything(), &other_tool)).await, -32602, "{door:?}");
        assert!(stage.service.is_idle().await, "{door:?}: a refused call was begun");

        // It still is what it was, for the request that it belongs to.
        let id = send(&mut client, with(&state)).await;
        let again = stage.service.next_run().await;
        assert_eq!(again.state, "state", "{door:?}");
        again.say("done").await;
        assert!(client.response(&id).await["result"].is_object(), "{door:?}");
    }
}

#[tokio::test]
async fn answers_may_come_first_lack_some_or_be_more_than_was_asked_for() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;
        let early = json!({"k": {"action": "accept", "content": {}}, "nobody asked": {"action": "accept"}});

        let id = send(&mut client, call(&everything(), &json!({"inputResponses": early}))).await;
        let run = stage.service.next_run().await;
        assert_eq!((&run.answers["k"], run.state.as_str()), (&early["k"], ""), "{door:?}");
        run.ask(&json!({"more": form()}), "").await;
        assert_eq!(client.response(&id).await["result"]["resultType"], "input_required", "{door:?}");

        for malformed in [json!(7), json!([]), json!("{}")] {
            let params = call(&everything(), &json!({"inputResponses": malformed}));
            assert_eq!(refused(&mut client, params).await, -32602, "{door:?}: {malformed}");
        }
    }
}

#[tokio::test]
async fn prompts_and_resources_ask_by_result_too() {
    let stage = asking_stage().await;
    for door in Door::ALL {
        let mut client = door.enter(&stage).await;
        for (method, subject) in
            [("prompts/get", json!({"name": "held"})), ("resources/read", json!({"uri": "held://one"}))]
        {
            let mut params = subject.clone();
            params["_meta"] = json!({meta("clientCapabilities"): everything()});
            let id = json!(client.next_id());
            client.begin(&id, method, ModernClient::params(params.clone())).await;
            stage.service.next_run().await.ask(&json!({"k": form()}), "s").await;
            let result = client.response(&id).await["result"].clone();
            assert_eq!(result["resultType"], "input_required", "{door:?} {method}: {result}");

            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] = json!({"k": {"action": "decline"}});
            let id = json!(client.next_id());
            client.begin(&id, method, ModernClient::params(params)).await;
            let again = stage.service.next_run().await;
            assert_eq!((&again.answers["k"]["action"], again.state.as_str()), (&json!("decline"), "s"), "{door:?}");
            if method == "prompts/get" {
                again.render(&json!([])).await;
            } else {
                again.read(contents("held://one", "as you like")).await;
            }
            assert_eq!(client.response(&id).await["result"]["resultType"], "complete", "{door:?} {method}");
        }
    }
}

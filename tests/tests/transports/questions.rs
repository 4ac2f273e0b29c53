//! Questions to clients with sessions: requests on the call's own stream, on every transport.

use serde_json::{Value, json};
use switchyard_proto::v1::{Resource, ResourceContents, ResourceResult, resource_contents::Body};
use switchyard_tests::{AnyClient, Door, Offered, Revision, Stage, Talker};

/// Everything that a client of this revision can be asked.
pub fn abilities(revision: Revision) -> Value {
    match revision {
        Revision::R1 | Revision::R2 => json!({"roots": {"listChanged": true}, "sampling": {}}),
        Revision::R3 => json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}}),
        Revision::R4 => json!({"roots": {"listChanged": true}, "sampling": {"tools": {}, "context": {}},
            "elicitation": {"form": {}, "url": {}}}),
    }
}

/// A form with one field.
pub fn form() -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": "What is your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}})
}

/// A page to look at.
pub fn page() -> Value {
    json!({"method": "elicitation/create",
        "params": {"mode": "url", "message": "Sign here.", "url": "https://sign.example/7"}})
}

/// A question to a model.
pub fn prompt() -> Value {
    json!({"method": "sampling/createMessage", "params": {"maxTokens": 100,
        "messages": [{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}]}})
}

/// A question to a model that may use tools.
pub fn prompt_with_tools() -> Value {
    let mut prompt = prompt();
    prompt["params"]["tools"] = json!([{"name": "look", "inputSchema": {"type": "object"}}]);
    prompt["params"]["toolChoice"] = json!({"mode": "auto"});
    prompt
}

/// A question for directories.
pub fn directories() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// Lets a tool ask one thing, and answers it. Returns the request that the client got, and what the tool found.
async fn asked(stage: &Stage, client: &mut AnyClient, question: &Value, answer: &Value) -> (Value, Value) {
    let id = json!(client.next_id());
    client.begin(&id, "tools/call", json!({"name": "held", "arguments": {"n": 7}})).await;
    let run = stage.service.next_run().await;
    run.ask(&json!({"the key": question}), "what was learnt").await;

    let request = client.hear().await.expect("the connection stays open");
    assert_eq!(request["method"], question["method"], "{request}");
    client.answer(&request, answer).await;

    let again = stage.service.next_run().await;
    assert_eq!((&again.arguments, again.state.as_str()), (&json!({"n": 7}), "what was learnt"));
    let found = again.answers["the key"].clone();
    again.say("done").await;
    assert_eq!(client.response(&id).await["result"]["content"][0]["text"], "done");
    (request, found)
}

/// Lets a tool ask what its client cannot be asked. Returns what the tool found in place of an answer.
async fn refused(stage: &Stage, client: &mut AnyClient, question: &Value) -> Value {
    let id = json!(client.next_id());
    client.begin(&id, "tools/call", json!({"name": "held", "arguments": {}})).await;
    stage.service.next_run().await.ask(&json!({"the key": question}), "").await;

    let again = stage.service.next_run().await;
    let found = again.answers["the key"].clone();
    again.say("nobody was asked").await;
    // Nothing comes before the result: the client was asked nothing.
    let next = client.hear().await.expect("the connection stays open");
    assert_eq!((&next["id"], &next["result"]["content"][0]["text"]), (&id, &json!("nobody was asked")), "{next}");
    found
}

#[tokio::test]
async fn field_case_39_a_form_reaches_clients_of_each_revision_that_has_forms_under_an_id_of_ours() {
    let stage = Stage::start().await;
    let accepted = json!({"action": "accept", "content": {"name": "Ada"}});
    for door in Door::ALL {
        for revision in [Revision::R3, Revision::R4] {
            let mut client = door.session(&stage, revision, &abilities(revision)).await;

            let (request, found) = asked(&stage, &mut client, &form(), &accepted).await;

            assert!(request["id"].is_string(), "ids of clients are numbers here: {request}");
            let mut expected = form()["params"].clone();
            if revision == Revision::R3 {
                expected.as_object_mut().unwrap().remove("mode");
            }
            assert_eq!(request["params"], expected, "{door:?} {revision:?}");
            assert_eq!(found, accepted, "{door:?} {revision:?}");
        }
    }
}

#[tokio::test]
async fn declining_and_dismissing_a_form_are_answers_too() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R4, &abilities(Revision::R4)).await;
        for answer in [json!({"action": "decline"}), json!({"action": "cancel"})] {
            let (_, found) = asked(&stage, &mut client, &form(), &answer).await;

            assert_eq!(found, answer, "{door:?}");
        }
    }
}

#[tokio::test]
async fn a_page_to_look_at_reaches_clients_that_have_pages() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut newest = door.session(&stage, Revision::R4, &abilities(Revision::R4)).await;
        let (request, found) = asked(&stage, &mut newest, &page(), &json!({"action": "accept"})).await;

        assert_eq!((&request["params"]["mode"], &request["params"]["url"]), (&json!("url"), &page()["params"]["url"]));
        assert!(request["params"]["elicitationId"].is_string(), "{request}");
        assert_eq!(found, json!({"action": "accept"}));

        let mut forms_only = door.session(&stage, Revision::R4, &json!({"elicitation": {}})).await;
        let mut older = door.session(&stage, Revision::R3, &abilities(Revision::R3)).await;
        for client in [&mut forms_only, &mut older] {
            let found = refused(&stage, client, &page()).await;
            assert!(found["error"]["code"].is_i64(), "{door:?}: {found}");
        }
    }
}

#[tokio::test]
async fn defaults_and_every_form_of_choice_reach_the_revision_that_has_them_unchanged() {
    let stage = Stage::start().await;
    let titled = json!([{"const": "a", "title": "The first"}, {"const": "b", "title": "The second"}]);
    let mut question = form();
    question["params"]["requestedSchema"] = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "default": "Ada", "minLength": 1, "maxLength": 80},
        "mail": {"type": "string", "format": "email"},
        "age": {"type": "integer", "default": 36, "minimum": 0},
        "score": {"type": "number", "default": 95.5},
        "sure": {"type": "boolean", "default": true},
        "one": {"type": "string", "enum": ["a", "b"], "default": "b"},
        "titled": {"type": "string", "oneOf": titled},
        "named": {"type": "string", "enum": ["a", "b"], "enumNames": ["The first", "The second"]},
        "some": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1},
        "some_titled": {"type": "array", "items": {"anyOf": titled}, "default": ["a"]},
    }});
    let answer = json!({"action": "accept", "content": {"name": "Ada", "age": 36, "score": 95.25, "sure": false,
        "some": ["a", "b"]}});
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R4, &abilities(Revision::R4)).await;

        let (request, found) = asked(&stage, &mut client, &question, &answer).await;

        assert_eq!(request["params"], question["params"], "{door:?}");
        assert_eq!(found, answer, "{door:?}");
    }
}

#[tokio::test]
async fn a_model_is_asked_in_every_revision_and_with_tools_where_the_client_has_them() {
    let stage = Stage::start().await;
    let said = json!({"role": "assistant", "model": "m", "stopReason": "endTurn",
        "content": {"type": "text", "text": "Paris"}});
    let uses = json!({"role": "assistant", "model": "m", "stopReason": "toolUse",
        "content": [{"type": "tool_use", "id": "u1", "name": "look", "input": {}}]});
    for door in Door::ALL {
        for revision in Revision::ALL {
            let mut client = door.session(&stage, revision, &abilities(revision)).await;

            let (request, found) = asked(&stage, &mut client, &prompt(), &said).await;
            assert_eq!((&request["params"], &found), (&prompt()["params"], &said), "{door:?} {revision:?}");

            if revision == Revision::R4 {
                let (request, found) = asked(&stage, &mut client, &prompt_with_tools(), &uses).await;
                assert_eq!((&request["params"], &found), (&prompt_with_tools()["params"], &uses), "{door:?}");
            } else {
                let found = refused(&stage, &mut client, &prompt_with_tools()).await;
                assert!(found["error"]["code"].is_i64(), "{door:?} {revision:?}: {found}");
            }
        }
    }
}

#[tokio::test]
async fn directories_are_asked_for_anew_each_time_so_that_a_change_of_them_counts() {
    let stage = Stage::start().await;
    let before = json!({"roots": [{"uri": "file:///before", "name": "before"}]});
    let after = json!({"roots": [{"uri": "file:///after"}, {"uri": "file:///and/more"}]});
    for door in Door::ALL {
        for revision in Revision::ALL {
            let mut client = door.session(&stage, revision, &abilities(revision)).await;

            let (request, found) = asked(&stage, &mut client, &directories(), &before).await;
            assert_eq!((request.get("params"), &found), (None, &before), "{door:?} {revision:?}");

            client.say(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).to_string()).await;
            let (_, found) = asked(&stage, &mut client, &directories(), &after).await;
            assert_eq!(found, after, "{door:?} {revision:?}");
        }
    }
}

#[tokio::test]
async fn field_case_40_a_tool_is_refused_at_once_what_its_client_cannot_be_asked() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        for revision in Revision::ALL {
            let mut client = door.session(&stage, revision, &json!({})).await;
            for question in [form(), page(), prompt(), prompt_with_tools(), directories()] {
                let found = refused(&stage, &mut client, &question).await;

                let error = &found["error"];
                assert!(error["code"].is_i64() && error["message"].is_string(), "{door:?} {revision:?}: {found}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_refuses_is_heard_by_the_tool() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R3, &abilities(Revision::R3)).await;
        client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
        stage.service.next_run().await.ask(&json!({"answer": prompt()}), "").await;

        let request = client.hear().await.unwrap();
        client.refuse(&request, -1, "the user said no").await;

        let again = stage.service.next_run().await;
        assert_eq!(
            again.answers,
            json!({"answer": {"error": {"code": -1, "message": "the user said no"}}}),
            "{door:?}"
        );
        again.say("never mind").await;
        assert!(client.response(&json!("x")).await["result"].is_object());
    }
}

#[tokio::test]
async fn several_questions_at_once_may_be_answered_in_any_order() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        for revision in [Revision::R3, Revision::R4] {
            let mut client = door.session(&stage, revision, &abilities(revision)).await;
            client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
            let questions = json!({"name": form(), "capital": prompt(), "roots": directories()});
            stage.service.next_run().await.ask(&questions, "").await;

            let mut requests = Vec::new();
            for _ in 0..3 {
                requests.push(client.hear().await.unwrap());
            }
            for request in requests.iter().rev() {
                client.answer(request, &json!({"for": request["method"]})).await;
            }

            let again = stage.service.next_run().await;
            let expected = json!({"name": {"for": "elicitation/create"}, "roots": {"for": "roots/list"},
                "capital": {"for": "sampling/createMessage"}});
            assert_eq!(again.answers, expected, "{door:?} {revision:?}");
            again.say("done").await;
            assert!(client.response(&json!("x")).await["result"].is_object());
        }
    }
}

#[tokio::test]
async fn questions_may_follow_from_answers_and_calls_may_ask_side_by_side() {
    let stage = Stage::start().await;
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R4, &abilities(Revision::R4)).await;
        for call in ["one", "two"] {
            client.begin(&json!(call), "tools/call", json!({"name": "held", "arguments": {"call": call}})).await;
        }
        for round in 0..3 {
            for _ in 0..2 {
                let run = stage.service.next_run().await;
                let call = run.arguments["call"].as_str().unwrap().to_owned();
                let before = if round == 0 { Value::Null } else { json!({"k": {"of": call, "round": round - 1}}) };
                assert_eq!((&run.answers, run.state.is_empty()), (&before, round == 0), "{door:?}");
                let mut question = form();
                question["params"]["message"] = json!(call);
                run.ask(&json!({"k": question}), &format!("{call} {round}")).await;
            }
            for _ in 0..2 {
                let request = client.hear().await.unwrap();
                let answer = json!({"of": request["params"]["message"], "round": round});
                client.answer(&request, &answer).await;
            }
        }
        for _ in 0..2 {
            let last = stage.service.next_run().await;
            assert_eq!(last.state, format!("{} 2", last.arguments["call"].as_str().unwrap()));
            let call = last.arguments["call"].clone();
            last.say("done").await;
            assert_eq!(client.response(&call).await["id"], call, "{door:?}");
        }
    }
}

#[tokio::test]
async fn prompts_and_resources_ask_their_client_too() {
    let stage = asking_stage().await;
    for door in Door::ALL {
        let mut client = door.session(&stage, Revision::R3, &abilities(Revision::R3)).await;

        client.begin(&json!("p"), "prompts/get", json!({"name": "held"})).await;
        stage.service.next_run().await.ask(&json!({"k": form()}), "").await;
        let request = client.notified("elicitation/create").await;
        client.answer(&request, &json!({"action": "accept", "content": {"name": "Ada"}})).await;
        let again = stage.service.next_run().await;
        assert_eq!(again.answers["k"]["content"]["name"], "Ada", "{door:?}");
        again.render(&json!([{"role": "user", "content": {"type": "text", "text": "Hello, Ada"}}])).await;
        let rendered = client.response(&json!("p")).await;
        assert_eq!(rendered["result"]["messages"][0]["content"]["text"], "Hello, Ada");

        client.begin(&json!("r"), "resources/read", json!({"uri": "held://one"})).await;
        stage.service.next_run().await.ask(&json!({"k": form()}), "").await;
        let request = client.notified("elicitation/create").await;
        client.answer(&request, &json!({"action": "decline"})).await;
        let again = stage.service.next_run().await;
        assert_eq!(again.answers["k"]["action"], "decline", "{door:?}");
        again.read(contents("held://one", "as you like")).await;
        assert_eq!(client.response(&json!("r")).await["result"]["contents"][0]["text"], "as you like");
    }
}

/// A stage whose service also has a resource, `held://one`.
pub async fn asking_stage() -> Stage {
    let prompt = Offered::prompt_like(&json!({"name": "held"}));
    let stage =
        Stage::start_with(&[Offered::tool("held"), prompt, Offered::provider("held", "held://")], &json!({})).await;
    stage.service.list(vec![Resource { uri: "held://one".into(), name: "one".into(), ..Resource::default() }]);
    stage
}

/// A text at a URI.
pub fn contents(uri: &str, text: &str) -> ResourceResult {
    let body = Some(Body::Text(text.into()));
    ResourceResult { contents: vec![ResourceContents { uri: uri.into(), body, ..ResourceContents::default() }] }
}

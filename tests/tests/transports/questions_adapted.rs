//! Questions in the newest words, as older clients with sessions can be asked them: in their own words, or not at all.

use serde_json::{Value, json};
use switchyard_tests::{Door, Revision, Stage, Talker};

use crate::questions::{abilities, form, prompt};

/// Lets a tool ask, and returns what its client is asked; `None` where the tool is refused instead.
async fn asked(stage: &Stage, revision: Revision, question: &Value) -> Option<Value> {
    let mut client = Door::Tcp.session(stage, revision, &abilities(revision)).await;
    client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
    stage.service.next_run().await.ask(&json!({"k": question}), "").await;
    tokio::select! {
        request = client.hear() => Some(request?["params"].clone()),
        again = stage.service.next_run() => {
            assert!(again.answers["k"]["error"]["code"].is_i64(), "{}", again.answers);
            None
        }
    }
}

/// A form with one field.
fn field(field: &Value) -> Value {
    let mut question = form();
    question["params"]["requestedSchema"]["properties"]["name"] = field.clone();
    question
}

#[tokio::test]
async fn a_form_for_an_older_client_has_only_what_its_forms_had() {
    let stage = Stage::start().await;
    let titled = json!([{"const": "a", "title": "The first"}, {"const": "b", "title": "The second"}]);
    for (newest, older) in [
        (json!({"type": "string", "maxLength": 9, "default": "x"}), json!({"type": "string", "maxLength": 9})),
        (json!({"type": "integer", "minimum": 0, "default": 7}), json!({"type": "integer", "minimum": 0})),
        (json!({"type": "boolean", "default": true}), json!({"type": "boolean", "default": true})),
        (json!({"type": "string", "enum": ["a", "b"], "default": "a"}), json!({"type": "string", "enum": ["a", "b"]})),
        (
            json!({"type": "string", "title": "Which", "oneOf": titled}),
            json!({"type": "string", "title": "Which", "enum": ["a", "b"], "enumNames": ["The first", "The second"]}),
        ),
    ] {
        let asked = asked(&stage, Revision::R3, &field(&newest)).await.expect("it can be asked");

        assert_eq!(asked["requestedSchema"]["properties"]["name"], older);
        assert_eq!((&asked["message"], asked.get("mode")), (&form()["params"]["message"], None));
    }
}

#[tokio::test]
async fn a_form_with_lists_is_no_question_for_an_older_client() {
    let stage = Stage::start().await;
    let several = json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}});

    assert_eq!(asked(&stage, Revision::R3, &field(&several)).await, None);
    assert!(asked(&stage, Revision::R4, &field(&several)).await.is_some());
}

#[tokio::test]
async fn a_message_of_several_blocks_is_several_messages_for_an_older_model() {
    let stage = Stage::start().await;
    let mut question = prompt();
    let (words, sound) = (
        json!({"type": "text", "text": "Listen."}),
        json!({"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}),
    );
    question["params"]["messages"] = json!([{"role": "user", "content": [words, sound]}]);
    for revision in Revision::ALL {
        let asked = asked(&stage, revision, &question).await.expect("it can be asked");

        let messages = &asked["messages"];
        if revision == Revision::R4 {
            assert_eq!(*messages, question["params"]["messages"]);
            continue;
        }
        assert_eq!(messages[0], json!({"role": "user", "content": words}), "{revision:?}");
        if revision == Revision::R1 {
            assert_eq!(messages[1]["content"]["type"], "text", "{messages}");
            assert!(messages[1]["content"]["text"].as_str().unwrap().contains("audio/wav"), "{messages}");
        } else {
            assert_eq!(messages[1], json!({"role": "user", "content": sound}), "{revision:?}");
        }
    }
}

#[tokio::test]
async fn a_question_about_the_use_of_tools_is_none_for_an_older_model() {
    let stage = Stage::start().await;
    let mut question = prompt();
    question["params"]["messages"] = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "u", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "toolUseId": "u", "content": []}]},
    ]);
    for revision in [Revision::R1, Revision::R2, Revision::R3] {
        assert_eq!(asked(&stage, revision, &question).await, None, "{revision:?}");
    }
}

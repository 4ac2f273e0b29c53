//! What services say, as each revision can hold it: every kind of content, structured output, titles, icons,
//! annotations and `_meta`.

use serde_json::{Value, json};
use switchyard_proto::v1::{Resource, ResourceContents, ResourceResult, resource_contents::Body};
use switchyard_tests::{LegacyClient, Offered, Revision, Stage};

/// One block of each kind, with everything that the newest revision lets it have.
fn blocks() -> Value {
    let annotations = json!({"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-02T03:04:05Z"});
    let about = json!({"com.example/k": {"v": 1}});
    json!([
        {"type": "text", "text": "words", "annotations": annotations, "_meta": about},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "annotations": annotations, "_meta": about},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav", "annotations": annotations, "_meta": about},
        {"type": "resource", "annotations": annotations, "_meta": about, "resource":
            {"uri": "held://one", "mimeType": "text/plain", "text": "inside", "_meta": about}},
        {"type": "resource", "resource": {"uri": "held://two", "mimeType": "image/png", "blob": "iVBORw0KGgo="}},
        {"type": "resource_link", "uri": "held://one", "name": "one", "title": "The first", "mimeType": "text/plain",
            "description": "It is elsewhere.", "size": 7, "annotations": annotations, "_meta": about,
            "icons": [{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"]}]},
    ])
}

/// Calls the tool in a session, which ends with `result`.
async fn result_of(stage: &Stage, client: &LegacyClient, result: &Value) -> Value {
    let (said, ()) = tokio::join!(client.call("held", json!({})), async {
        stage.service.next_run().await.finish(result).await;
    });
    said
}

async fn modern_result_of(stage: &Stage, result: &Value) -> Value {
    let client = stage.modern();
    let (said, ()) = tokio::join!(client.call("held", json!({})), async {
        stage.service.next_run().await.finish(result).await;
    });
    said
}

fn types(content: &Value) -> Vec<&str> {
    content.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn content_reaches_newer_clients_as_it_was_said() {
    let stage = Stage::start().await;
    let said = json!({"content": blocks(), "_meta": {"com.example/call": [1, null, "x"]}});

    let modern = modern_result_of(&stage, &said).await;
    assert_eq!(modern["content"], blocks());
    assert_eq!(modern["_meta"]["com.example/call"], json!([1, null, "x"]));

    let client = LegacyClient::connect(&stage.node.mcp(), Revision::R4).await;
    let newest = result_of(&stage, &client, &said).await;
    assert_eq!((&newest["content"], &newest["_meta"]), (&blocks(), &said["_meta"]));
}

#[tokio::test]
async fn kinds_that_a_revision_lacks_become_text_that_says_what_they_are() {
    let stage = Stage::start().await;
    let said = json!({"content": blocks(), "_meta": {"com.example/call": true}});
    for (revision, expected) in [
        (Revision::R1, ["text", "image", "text", "resource", "resource", "text"]),
        (Revision::R2, ["text", "image", "audio", "resource", "resource", "text"]),
        (Revision::R3, ["text", "image", "audio", "resource", "resource", "resource_link"]),
    ] {
        let client = LegacyClient::connect(&stage.node.mcp(), revision).await;

        let heard = result_of(&stage, &client, &said).await;

        let content = &heard["content"];
        assert_eq!(types(content), expected, "{revision:?}");
        assert_eq!(content[0]["text"], "words");
        assert_eq!(content[3]["resource"]["text"], "inside");
        assert_eq!(content[0].get("_meta").is_some(), revision >= Revision::R3, "{revision:?}: {content}");
        let modified = content[0]["annotations"].get("lastModified").is_some();
        assert_eq!(modified, revision >= Revision::R3, "{revision:?}: {content}");
        assert_eq!(content[0]["annotations"]["priority"], 0.5, "{revision:?}");
        let audio = if revision == Revision::R1 { &content[2]["text"] } else { &content[2]["mimeType"] };
        assert!(audio.as_str().unwrap().contains("audio/wav"), "{revision:?}: {audio}");
        let link = if revision < Revision::R3 { &content[5]["text"] } else { &content[5]["uri"] };
        assert!(link.as_str().unwrap().contains("held://one"), "{revision:?}: {link}");
    }
}

#[tokio::test]
async fn prompts_have_the_same_kinds_and_the_same_ways_out() {
    let stage = Stage::start().await;
    let messages: Vec<Value> =
        blocks().as_array().unwrap().iter().map(|block| json!({"role": "user", "content": block})).collect();
    let newest = json!(messages);
    let get = json!({"name": "held"});
    let modern = stage.modern();
    let (reply, ()) = tokio::join!(modern.request("prompts/get", get.clone()), async {
        stage.service.next_run().await.render(&newest).await;
    });
    assert_eq!(reply.result()["messages"], newest);

    for (revision, expected) in [
        (Revision::R1, ["text", "image", "text", "resource", "resource", "text"]),
        (Revision::R2, ["text", "image", "audio", "resource", "resource", "text"]),
        (Revision::R3, ["text", "image", "audio", "resource", "resource", "resource_link"]),
        (Revision::R4, ["text", "image", "audio", "resource", "resource", "resource_link"]),
    ] {
        let client = LegacyClient::connect(&stage.node.mcp(), revision).await;
        let (reply, ()) = tokio::join!(client.request("prompts/get", get.clone()), async {
            stage.service.next_run().await.render(&newest).await;
        });
        let content: Value =
            reply.result()["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect();
        assert_eq!(types(&content), expected, "{revision:?}");
    }
}

#[tokio::test]
async fn structured_output_of_any_form_reaches_those_who_can_hold_it() {
    let stage = Stage::start().await;
    for structured in [json!({"n": 9_007_199_254_740_993_i64}), json!([1, 2]), json!("words"), json!(7), json!(null)] {
        let said =
            json!({"content": [{"type": "text", "text": structured.to_string()}], "structuredContent": structured});

        let modern = modern_result_of(&stage, &said).await;
        assert_eq!(modern.get("structuredContent"), Some(&structured));
        for revision in Revision::ALL {
            let client = LegacyClient::connect(&stage.node.mcp(), revision).await;
            let heard = result_of(&stage, &client, &said).await;

            let holds = revision >= Revision::R3 && structured.is_object();
            assert_eq!(heard.get("structuredContent"), holds.then_some(&structured), "{revision:?}");
            assert_eq!(heard["content"][0]["text"], structured.to_string(), "{revision:?}: the text stays");
        }
    }
}

/// A definition with all that the newest revision knows.
fn definition(name: &str) -> Value {
    json!({"name": name, "title": "A title", "description": "Words.", "_meta": {"com.example/k": [1]},
        "icons": [{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}]})
}

/// Which of these members an entry has.
fn has<'a>(entry: &Value, members: &[&'a str]) -> Vec<&'a str> {
    members.iter().filter(|member| entry.get(**member).is_some()).copied().collect()
}

#[tokio::test]
async fn titles_icons_annotations_and_meta_of_definitions_go_to_revisions_that_have_them() {
    let mut tool = definition("held");
    tool["inputSchema"] = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    tool["outputSchema"] = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    tool["annotations"] = json!({"readOnlyHint": true, "openWorldHint": false});
    let mut prompt = definition("held");
    prompt["arguments"] = json!([{"name": "a", "title": "An argument", "description": "Words.", "required": false}]);
    let mut template = definition("held");
    template["uriTemplate"] = json!("held://{id}");
    template["mimeType"] = json!("text/plain");
    template["annotations"] = json!({"audience": ["user"], "priority": 1.0});
    let offered = [Offered::tool_like(&tool), Offered::prompt_like(&prompt), Offered::template_like(&template)];
    let stage = Stage::start_with(&offered, &json!({})).await;
    let of = |list: &Value, kind: &str| {
        let entries = list[kind].as_array().unwrap();
        entries.iter().find(|entry| entry["name"] == "held").unwrap().clone()
    };
    let common = ["title", "icons", "annotations", "_meta", "outputSchema"];

    let modern = stage.modern();
    for (method, kind, expected) in [
        ("tools/list", "tools", &tool),
        ("prompts/list", "prompts", &prompt),
        ("resources/templates/list", "resourceTemplates", &template),
    ] {
        assert_eq!(of(modern.request(method, json!({})).await.result(), kind), *expected, "{method}");
    }
    for (revision, tools, prompts, templates) in [
        (Revision::R1, &[][..], &[][..], &["annotations"][..]),
        (Revision::R2, &["annotations"], &[], &["annotations"]),
        (
            Revision::R3,
            &["title", "annotations", "_meta", "outputSchema"],
            &["title", "_meta"],
            &["title", "annotations", "_meta"],
        ),
        (
            Revision::R4,
            &["title", "icons", "annotations", "_meta", "outputSchema"],
            &["title", "icons", "_meta"],
            &["title", "icons", "annotations", "_meta"],
        ),
    ] {
        let client = LegacyClient::connect(&stage.node.mcp(), revision).await;
        for (method, kind, expected) in [
            ("tools/list", "tools", tools),
            ("prompts/list", "prompts", prompts),
            ("resources/templates/list", "resourceTemplates", templates),
        ] {
            let listed = of(client.request(method, json!({})).await.result(), kind);
            assert_eq!(has(&listed, &common), expected, "{revision:?} {method}: {listed}");
            if kind == "prompts" {
                assert_eq!(listed["arguments"][0].get("title").is_some(), revision >= Revision::R3, "{listed}");
            }
            if kind == "tools" && revision == Revision::R2 {
                assert_eq!(listed["annotations"]["title"], "A title", "its only place there: {listed}");
            }
        }
    }
}

#[tokio::test]
async fn titles_and_meta_of_resources_go_to_revisions_that_have_them() {
    let stage = Stage::start_with(&[Offered::provider("held", "held://")], &json!({})).await;
    stage.service.list(vec![Resource {
        uri: "held://one".into(),
        name: "one".into(),
        title: "The first".into(),
        size: Some(7),
        last_modified: "2026-01-02T03:04:05Z".into(),
        meta_json: r#"{"com.example/k":[1]}"#.into(),
        ..Resource::default()
    }]);
    let of = |list: &Value| {
        let entries = list["resources"].as_array().unwrap();
        entries.iter().find(|entry| entry["name"] == "one").unwrap().clone()
    };
    let read = || async {
        let body = Some(Body::Text("inside".into()));
        let meta_json = r#"{"com.example/c":2}"#.into();
        let contents = ResourceContents { uri: "held://one".into(), mime_type: "text/plain".into(), body, meta_json };
        stage.service.next_run().await.read(ResourceResult { contents: vec![contents] }).await;
    };

    let modern = of(stage.modern().request("resources/list", json!({})).await.result());
    assert_eq!(
        (&modern["title"], &modern["size"], &modern["_meta"]),
        (&json!("The first"), &json!(7), &json!({"com.example/k": [1]}))
    );
    assert_eq!(modern["annotations"]["lastModified"], "2026-01-02T03:04:05Z");
    for revision in Revision::ALL {
        let client = LegacyClient::connect(&stage.node.mcp(), revision).await;
        let listed = of(client.request("resources/list", json!({})).await.result());
        let expected =
            if revision >= Revision::R3 { &["title", "size", "annotations", "_meta"][..] } else { &["size"] };
        assert_eq!(has(&listed, &["title", "size", "annotations", "_meta"]), expected, "{revision:?}: {listed}");

        let (reply, ()) = tokio::join!(client.request("resources/read", json!({"uri": "held://one"})), read());
        let contents = &reply.result()["contents"][0];
        assert_eq!((&contents["text"], &contents["mimeType"]), (&json!("inside"), &json!("text/plain")));
        assert_eq!(contents.get("_meta").is_some(), revision >= Revision::R3, "{revision:?}: {contents}");
    }
}

#[tokio::test]
async fn meta_of_a_request_never_comes_back_and_never_stops_it() {
    let stage = Stage::start().await;
    let about = json!({"com.example/k": {"deep": [1, null]}, "plain": "x"});
    let params = json!({"name": "held", "_meta": about});
    let modern = stage.modern();

    let (reply, ()) = tokio::join!(modern.request("tools/call", params.clone()), async {
        stage.service.next_run().await.say("done").await;
    });
    assert_eq!(reply.result()["_meta"].get("com.example/k"), None, "{}", reply.message);
    for revision in Revision::ALL {
        let client = LegacyClient::connect(&stage.node.mcp(), revision).await;
        let (reply, ()) = tokio::join!(client.request("tools/call", params.clone()), async {
            stage.service.next_run().await.say("done").await;
        });
        assert_eq!(reply.result().get("_meta"), None, "{revision:?}: {}", reply.message);
    }
}

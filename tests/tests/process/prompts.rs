//! Prompts: listed, rendered, and reloaded from their folder.

use serde_json::{Value, json};
use switchyard_tests::{Revision, eventually};

use crate::One;

fn find<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list["prompts"].as_array().expect("a list of prompts").iter().find(|prompt| prompt["name"] == name)
}

#[tokio::test]
async fn a_prompt_is_listed_with_its_arguments() {
    let one = One::start().await;

    let reply = one.modern().request("prompts/list", json!({})).await;

    let greet = find(reply.result(), "greet").unwrap_or_else(|| panic!("{}", reply.message));
    assert_eq!((&greet["title"], &greet["description"]), (&json!("Greeting"), &json!("Says hello to somebody.")));
    assert_eq!(greet["arguments"], json!([{"name": "who", "description": "Whom to greet.", "required": true}]));
}

#[tokio::test]
async fn a_prompt_is_rendered_in_every_revision() {
    let one = One::start().await;
    let params = json!({"name": "greet", "arguments": {"who": "Ada {{ 1 + 1 }}"}});
    let expected = json!([{"role": "user", "content": {"type": "text", "text": "Say hello to Ada {{ 1 + 1 }}."}}]);

    let modern = one.modern().request("prompts/get", params.clone()).await;
    assert_eq!(modern.result()["messages"], expected, "{}", modern.message);
    for revision in Revision::ALL {
        let legacy = one.legacy(revision).await.request("prompts/get", params.clone()).await;
        assert_eq!(legacy.result()["messages"], expected, "{revision:?} {}", legacy.message);
    }
}

#[tokio::test]
async fn a_missing_argument_is_named() {
    let one = One::start().await;

    for arguments in [json!({}), json!({"whom": "Ada"})] {
        let params = json!({"name": "greet", "arguments": arguments});
        let modern = one.modern().request("prompts/get", params.clone()).await;
        let legacy = one.legacy(Revision::R1).await.request("prompts/get", params).await;

        assert_eq!((modern.refusal(), legacy.refusal()), ((200, -32602), (200, -32602)));
        assert!(modern.error().message.contains("who"), "{}", modern.message);
    }
}

#[tokio::test]
async fn a_new_prompt_is_announced_and_served() {
    let one = One::start().await;
    let modern = one.modern();
    let mut listener = modern.listen(json!({"promptsListChanged": true})).await;

    one.folder.save("prompts/later.md", "---\nname: later\ndescription: Came later.\n---\nWait.\n");

    assert_eq!(listener.next().await["method"], "notifications/prompts/list_changed");
    // It is listed by then, unless the machine is too slow for the news to wait for it.
    eventually("the new prompt to be listed", async || {
        let listed = modern.request("prompts/list", json!({})).await;
        find(listed.result(), "later").map(|_| ())
    })
    .await;
}

#[tokio::test]
async fn a_broken_prompt_hides_no_other() {
    let one = One::start().await;
    let modern = one.modern();

    one.folder.save("prompts/broken.md", "---\nname: [\n---\n");
    one.folder.save("prompts/whole.md", "---\nname: whole\ndescription: Is whole.\n---\nFine.\n");

    eventually("the whole prompt to be listed", async || {
        let reply = modern.request("prompts/list", json!({})).await;
        find(reply.result(), "whole").and(find(reply.result(), "greet")).map(|_| ())
    })
    .await;
    eventually("the broken one to be reported", async || one.node.stderr().contains("broken.md").then_some(())).await;
}

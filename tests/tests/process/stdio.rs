//! `switchyard stdio`: the same server, whose standard output carries protocol and nothing else.

use serde_json::json;
use switchyard_tests::{Folder, MODERN, ModernClient, Revision, StdioClient, meta};

#[tokio::test]
async fn every_revision_with_sessions_is_spoken() {
    for revision in Revision::ALL {
        let folder = Folder::sample();
        let mut client = StdioClient::start(&folder);

        let handshake = client.handshake(revision.date()).await;
        let tools = client.legacy("tools/list", json!({})).await;
        let call = client.legacy("tools/call", json!({"name": "checkDiskSpace", "arguments": {"path": "/"}})).await;

        assert_eq!(handshake["protocolVersion"], revision.date());
        assert!(tools["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{tools}");
        assert_eq!(call["result"]["content"][0]["type"], "text", "{call}");
        assert_eq!(client.close().await.code, Some(0));
    }
}

#[tokio::test]
async fn the_stateless_revision_is_spoken_without_a_handshake() {
    let folder = Folder::sample();
    let mut client = StdioClient::start(&folder);

    let discovered = client.modern("server/discover", json!({})).await;
    let call = client.modern("tools/call", json!({"name": "checkDiskSpace", "arguments": {"path": "/"}})).await;

    assert_eq!(discovered["result"]["supportedVersions"][0], MODERN, "{discovered}");
    assert_eq!(call["result"]["resultType"], "complete", "{call}");
    assert_eq!(client.close().await.code, Some(0));
}

#[tokio::test]
async fn both_eras_may_be_mixed_in_one_process() {
    let folder = Folder::sample();
    let mut client = StdioClient::start(&folder);
    client.handshake("2025-06-18").await;

    let legacy = client.legacy("tools/list", json!({})).await;
    let modern = client.modern("tools/list", json!({})).await;

    assert_eq!(legacy["result"].get("resultType"), None);
    assert_eq!(modern["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_request_before_the_handshake_is_refused_and_ping_is_not() {
    let folder = Folder::sample();
    let mut client = StdioClient::start(&folder);

    let early = client.legacy("tools/list", json!({})).await;
    let ping = client.legacy("ping", json!({})).await;

    assert_eq!(early["error"]["code"], -32600, "{early}");
    assert_eq!(ping["result"], json!({}));
}

#[tokio::test]
async fn a_second_handshake_is_refused() {
    let folder = Folder::sample();
    let mut client = StdioClient::start(&folder);
    client.handshake("2025-11-25").await;

    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let again = client.legacy("initialize", params).await;

    assert_eq!(again["error"]["code"], -32600, "{again}");
}

#[tokio::test]
async fn field_case_66_a_line_that_is_no_message_ends_nothing() {
    let folder = Folder::sample();
    let mut client = StdioClient::start(&folder);
    client.handshake("2025-11-25").await;

    for line in [&b"nonsense"[..], b"{\"jsonrpc\":\"2.0\",\"id\":1", b"\"\xff\xfe\"", b"\xef\xbb\xbf{"] {
        client.write(line).await;
        let answer = client.message().await.unwrap();
        assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(-32700), None), "{answer}");
    }
    client.write("").await;
    client.write(json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).to_string()).await;
    assert_eq!(client.message().await.unwrap()["error"]["code"], -32600);
    assert_eq!(client.legacy("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn updates_come_between_the_answers() {
    let folder = Folder::sample();
    let mut client = StdioClient::start(&folder);
    client.handshake("2025-11-25").await;
    let page = client.legacy("resources/list", json!({})).await;
    let resources = page["result"]["resources"].as_array().unwrap();
    let uri = resources.iter().find(|entry| entry["name"] == "plan.md").unwrap()["uri"].clone();
    assert_eq!(client.legacy("resources/subscribe", json!({"uri": uri})).await["result"], json!({}));

    folder.write("plan.md", "changed");

    loop {
        let message = client.message().await.unwrap();
        if message["method"] == "notifications/resources/updated" {
            assert_eq!(message["params"]["uri"], uri);
            break;
        }
    }
}

#[tokio::test]
async fn a_stateless_client_listens_over_stdio_too() {
    let folder = Folder::sample();
    let mut client = StdioClient::start(&folder);
    let params = ModernClient::params(json!({"notifications": {"resourcesListChanged": true}}));
    client
        .write(json!({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params}).to_string())
        .await;
    let acknowledged = client.message().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");

    folder.write("new.txt", "new");

    let changed = client.message().await.unwrap();
    assert_eq!(changed["method"], "notifications/resources/list_changed");
    assert_eq!(changed["params"]["_meta"][meta("subscriptionId")], "s");
}

#[tokio::test]
async fn a_request_is_cancelled_by_a_notification() {
    let folder = Folder::sample();
    let mut client = StdioClient::start(&folder);
    let params = ModernClient::params(json!({"notifications": {"toolsListChanged": true}}));
    client
        .write(json!({"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": params}).to_string())
        .await;
    client.message().await.unwrap();

    let params = json!({"requestId": 9});
    client.write(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string()).await;

    let next = client.modern("tools/list", json!({})).await;
    assert!(next["result"]["tools"].is_array(), "{next}");
    assert_eq!(client.close().await.code, Some(0));
}

//! Start and end: what a stranger reads, what a taken port says, and how Ctrl-C drains.

use rustix::process::Signal;
use serde_json::json;
use switchyard_tests::{Backend, Folder, LegacyClient, ModernClient, Node, NodeOptions, Revision, eventually};

use crate::One;

#[tokio::test]
async fn one_command_serves_the_current_folder_and_says_how_to_connect() {
    let folder = Folder::sample();
    let node = Node::serve(&folder).await;

    let banner = eventually("the banner", async || Some(node.stdout()).filter(|text| text.contains("stdio"))).await;

    let url = node.mcp().to_string();
    assert!(banner.contains(&url), "it names the address {url}: {banner}");
    assert!(banner.contains(&folder.path().display().to_string()), "it names what is served: {banner}");
    assert!(banner.contains("mcpServers"), "it has a configuration to paste: {banner}");
    let listed = ModernClient::new(&node.mcp()).request("resources/list", json!({})).await;
    assert!(listed.message.to_string().contains("plan.md"), "{}", listed.message);
}

#[tokio::test]
async fn the_sample_prompts_and_the_built_in_tools_are_there_without_any_configuration() {
    let folder = Folder::empty();
    let node = Node::serve(&folder).await;
    let modern = ModernClient::new(&node.mcp());

    let params = json!({"name": "code_review", "arguments": {"code": "let x = 1;", "language": "rust"}});
    let review = modern.request("prompts/get", params).await;
    let tools = modern.request("tools/list", json!({})).await;

    assert!(review.message.to_string().contains("let x = 1;"), "{}", review.message);
    for name in ["checkDiskSpace", "checkServiceStatus", "search"] {
        assert!(tools.message.to_string().contains(name), "{}", tools.message);
    }
}

#[tokio::test]
async fn a_taken_port_says_so_and_exits() {
    let folder = Folder::sample();
    let taken = Backend::start().await;
    let url = taken.url("/");
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();

    let clients = NodeOptions::new(&folder, &["serve", "--port", port, "--admin-listen", "127.0.0.1:0"]).run().await;
    let admin = format!("127.0.0.1:{port}");
    let admin = NodeOptions::new(&folder, &["serve", "--port", "0", "--admin-listen", &admin]).run().await;

    for finished in [clients, admin] {
        assert!(finished.code.is_some_and(|code| code != 0), "{finished:?}");
        assert!(finished.stderr.contains(port) && finished.stderr.contains("in use"), "{}", finished.stderr);
    }
}

#[tokio::test]
async fn ctrl_c_lets_running_calls_finish_and_exits_with_success() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let modern = one.modern();
    let params = json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}});
    let call = modern.start("tools/call", params).await;
    let held = backend.next_request().await;
    let mut listener = modern.listen(json!({"toolsListChanged": true})).await;

    one.node.signal(Signal::INT);
    let closing = listener.closing_result().await;
    held.answer().await;

    assert_eq!(closing["resultType"], "complete");
    assert_eq!(call.finish().await.result()["isError"], false);
    assert_eq!(one.node.finished().await.code, Some(0));
}

#[tokio::test]
async fn a_node_that_drains_says_so_before_it_stops_to_listen() {
    let one = One::start().await;
    let backend = Backend::start().await;
    let modern = one.modern();
    let params = json!({"name": "checkServiceStatus", "arguments": {"serviceUrl": backend.url("/"), "timeout": 60}});
    let call = modern.start("tools/call", params).await;
    let held = backend.next_request().await;

    one.node.signal(Signal::TERM);

    eventually("the node to say that it drains", async || {
        (one.node.admin("/readyz").await.status == 503).then_some(())
    })
    .await;
    assert_eq!(one.node.admin("/healthz").await.status, 200, "it is alive all the same");
    held.answer().await;
    assert_eq!(call.finish().await.result()["isError"], false);
    assert_eq!(one.node.finished().await.code, Some(0));
}

#[tokio::test]
async fn standing_streams_do_not_hold_a_drain_up() {
    let one = One::start().await;
    let mut streams = Vec::new();
    for revision in Revision::ALL {
        streams.push(LegacyClient::connect(&one.mcp(), revision).await.listen().await);
    }

    one.node.signal(Signal::TERM);

    for stream in &mut streams {
        assert!(stream.ended().await);
    }
    assert_eq!(one.node.finished().await.code, Some(0));
}

#[tokio::test]
async fn two_nodes_started_alike_do_not_meet() {
    let (one, two) = tokio::join!(One::start(), One::start());
    let session = one.legacy(Revision::R4).await;

    let foreign = session.at(&two.mcp()).post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).send().await;

    assert_eq!(foreign.status, 404);
}

//! Plain TCP and Unix sockets.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::json;
use switchyard_tests::{Backend, Folder, ModernClient, NodeOptions, Talker};

use crate::{One, held_by};

#[tokio::test]
async fn an_address_that_other_machines_reach_is_refused_unless_it_is_meant() {
    let folder = Folder::sample();
    let options = || NodeOptions::serve(&folder).arguments(&["--listen-tcp", "0.0.0.0:0"]);

    let refused = options().run().await;
    let meant = options().arguments(&["--allow-remote-tcp"]).start().await;

    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("server.listenTcp"), "{}", refused.stderr);
    assert!(refused.stderr.contains("`server.allowRemoteTcp` (`--allow-remote-tcp`)"), "{}", refused.stderr);
    assert!(meant.tcp().ip().is_unspecified());
}

#[tokio::test]
async fn without_options_there_are_no_sockets() {
    let folder = Folder::sample();

    let node = NodeOptions::serve(&folder).start().await;

    assert!(!node.stderr().contains("listening tcp=") && !node.stderr().contains("listening unix="));
}

#[tokio::test]
async fn the_unix_socket_is_for_its_user_alone_and_gone_at_the_end() {
    let one = One::start().await;
    let path = one.unix_path();
    let mode = path.metadata().unwrap().permissions().mode();

    one.node.signal(Signal::INT);
    let finished = one.node.finished().await;

    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(finished.code, Some(0));
    assert!(!path.exists());
}

#[tokio::test]
async fn a_unix_socket_that_a_killed_process_left_is_taken_over_and_one_in_use_is_not() {
    let one = One::start().await;
    let path = one.unix_path();
    let arguments = ["--listen-unix", path.to_str().unwrap()];

    let taken = NodeOptions::serve(&one.folder).arguments(&arguments).run().await;
    one.node.kill().await;
    let successor = NodeOptions::serve(&one.folder).arguments(&arguments).start().await;

    assert_eq!(taken.code, Some(1));
    assert!(taken.stderr.contains("`server.listenUnix` (`--listen-unix`)"), "{}", taken.stderr);
    let mut client = switchyard_tests::LineClient::unix(&path).await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    drop(successor);
}

#[tokio::test]
async fn a_client_that_has_said_everything_still_gets_its_answers() {
    let one = One::start().await;
    for mut client in [one.tcp().await, one.unix().await] {
        let backend = Backend::start().await;
        client.begin(&json!(7), "tools/call", ModernClient::params(held_by(&backend))).await;
        let held = backend.next_request().await;

        client.end().await;
        held.answer().await;

        assert_eq!(client.response(&json!(7)).await["result"]["isError"], false);
        client.closed().await;
    }
}

#[tokio::test]
async fn field_case_65_a_message_of_ten_megabytes_comes_and_goes_on_one_line() {
    let one = One::start_with(json!({"maxBodyBytes": 20_000_000})).await;
    let long = "x".repeat(10_000_000);
    one.folder.write("long.txt", &long);
    let mut client = one.tcp().await;
    client.handshake("2025-11-25").await;
    let uri = format!("file://{}", one.folder.path().join("long.txt").display());

    let read = client.ask("resources/read", json!({"uri": uri})).await;
    let echoed =
        client.ask("tools/call", json!({"name": "checkDiskSpace", "arguments": {"path": "/", "_": long}})).await;

    assert_eq!(read["result"]["contents"][0]["text"], long);
    assert!(echoed["error"].is_object() || echoed["result"].is_object());
}

#[tokio::test]
async fn field_case_66_a_line_that_is_no_message_ends_nothing() {
    let one = One::start_with(json!({"maxBodyBytes": 1000})).await;
    let mut client = one.tcp().await;
    client.handshake("2025-11-25").await;

    for line in [&b"nonsense\n"[..], b"{\"jsonrpc\":\"2.0\",\"id\":1\n", b"\"\xff\xfe\"\n", b"\xef\xbb\xbf{\n", b"\0\n"]
    {
        client.write(line).await;
        let answer = client.hear().await.unwrap();
        assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(-32700), None), "{answer}");
    }
    client.write(&[b" ".repeat(1001), b"\n".to_vec()].concat()).await;
    let too_long = client.hear().await.unwrap();

    assert!(too_long["error"]["message"].as_str().unwrap().contains("1000"), "{too_long}");
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn messages_may_come_in_pieces_and_together() {
    let one = One::start().await;
    let mut client = one.tcp().await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();

    for byte in message.as_bytes() {
        client.write(&[*byte]).await;
    }
    client.write(format!("\r\n\n{message}\n{message}\n").as_bytes()).await;

    for _ in 0..3 {
        assert_eq!(client.hear().await.unwrap()["result"], json!({}));
    }
}

//! `initialize`: which revision is agreed on, and when it is refused.

use serde_json::json;
use switchyard_tests::{Call, LegacyClient, Reply, Request, Revision};

use crate::One;

async fn answer(request: Request) -> Reply {
    Call::new(json!(0), request.send().await).await.finish().await
}

#[tokio::test]
async fn each_revision_is_agreed_to_as_it_was_asked_for() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let reply = answer(LegacyClient::initialize(&one.mcp(), revision.date())).await;

        assert_eq!((reply.status, &reply.result()["protocolVersion"]), (200, &json!(revision.date())));
        assert!(reply.result()["serverInfo"]["name"].is_string(), "{}", reply.message);
        assert!(reply.result()["capabilities"]["tools"].is_object(), "{}", reply.message);
    }
}

#[tokio::test]
async fn the_session_id_is_visible_ascii_and_never_the_same() {
    let one = One::start().await;

    let mut sessions = Vec::new();
    for revision in Revision::ALL {
        sessions.push(LegacyClient::handshake(&one.mcp(), revision).await.session().to_owned());
        sessions.push(LegacyClient::handshake(&one.mcp(), revision).await.session().to_owned());
    }

    assert!(sessions.iter().all(|id| id.len() >= 22 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte))));
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), 8);
}

#[tokio::test]
async fn field_case_75_an_unknown_revision_is_met_with_the_newest_that_has_sessions() {
    let one = One::start().await;

    for asked in ["2099-01-01", "1900-01-01", "2026-07-28", "newest"] {
        let reply = answer(LegacyClient::initialize(&one.mcp(), asked)).await;

        assert_eq!((reply.status, &reply.result()["protocolVersion"]), (200, &json!("2025-11-25")), "{asked}");
    }
}

#[tokio::test]
async fn a_version_header_on_initialize_changes_nothing() {
    let one = One::start().await;

    for revision in Revision::ALL {
        for header in [revision.date(), "2025-11-25", "2026-07-28", "1999-01-01"] {
            let request = LegacyClient::initialize(&one.mcp(), revision.date());
            let reply = answer(request.header("MCP-Protocol-Version", header)).await;

            let agreed = &reply.result()["protocolVersion"];
            assert_eq!((reply.status, agreed), (200, &json!(revision.date())), "{header}");
        }
    }
}

#[tokio::test]
async fn initialize_inside_a_live_session_is_refused_and_leaves_it_alone() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;

        let request = LegacyClient::initialize(&one.mcp(), revision.date());
        let reply = answer(request.header("Mcp-Session-Id", client.session())).await;

        assert_eq!(reply.refusal(), (400, -32600));
        assert_eq!(client.request("ping", json!({})).await.status, 200);
    }
}

#[tokio::test]
async fn initialize_with_an_unknown_session_is_not_found() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let request = LegacyClient::initialize(&one.mcp(), revision.date());

        let response = request.header("Mcp-Session-Id", "never-was").send().await;

        assert_eq!(response.status, 404);
    }
}

#[tokio::test]
async fn initialize_without_what_it_needs_is_invalid() {
    let one = One::start().await;
    let complete = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "switchyard-tests", "version": "1"}});

    for missing in ["protocolVersion", "capabilities", "clientInfo"] {
        let mut params = complete.clone();
        params.as_object_mut().unwrap().remove(missing);
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});

        let reply = answer(LegacyClient::initialize(&one.mcp(), "2025-06-18").json(&body)).await;

        assert_eq!(reply.error().code, -32602, "without {missing}: {}", reply.message);
        assert!(reply.error().message.contains(missing), "{}", reply.message);
    }
}

#[tokio::test]
async fn requests_before_initialized_are_answered() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = LegacyClient::handshake(&one.mcp(), revision).await;

        assert_eq!(client.request("ping", json!({})).await.result(), &json!({}));
        assert!(client.request("tools/list", json!({})).await.result()["tools"].is_array());
    }
}

#[tokio::test]
async fn capabilities_tell_exactly_what_works() {
    let one = One::start().await;

    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        let capabilities = &client.handshake["capabilities"];

        assert_eq!(capabilities["resources"], json!({"subscribe": true, "listChanged": true}), "{capabilities}");
        assert_eq!(capabilities["tools"], json!({"listChanged": true}), "{capabilities}");
        assert_eq!(capabilities["prompts"], json!({"listChanged": true}), "{capabilities}");
        for (capability, method) in
            [("completions", "completion/complete"), ("logging", "logging/setLevel"), ("tasks", "tasks/list")]
        {
            if (capability, revision) == ("completions", Revision::R1) {
                continue; // That revision has the method and no capability for it.
            }
            let is_offered = capabilities.get(capability).is_some();
            let code = client.request(method, json!({})).await.error().code;
            assert_eq!(code == -32601, !is_offered, "{revision:?} {method}: {capabilities}");
        }
    }
}

//! Both eras and several sessions over one kept connection, as clients with connection pools have it.

use serde_json::{Value, json};
use switchyard_tests::{KeptConnection, ModernClient, Request, Revision};

use crate::One;

fn ping(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

#[tokio::test]
async fn two_eras_and_all_revisions_share_one_connection() {
    let one = One::start().await;
    let mut sessions = Vec::new();
    for revision in Revision::ALL {
        sessions.push(one.legacy(revision).await);
    }
    let (mut pool, modern) = (KeptConnection::open(&one.mcp()).await, one.modern());
    let call = || json!({"name": "checkDiskSpace", "arguments": {"path": "/"}});

    for round in 0..5 {
        for session in &sessions {
            let id = json!(session.next_id());
            let (status, answer) = pool.exchange(&session.post(&ping(&id))).await;
            assert_eq!((status, &answer["id"], &answer["result"]), (200, &id, &json!({})), "{answer}");

            let id = json!(format!("s{round}"));
            let (status, answer) = pool.exchange(&modern.post(&id, "tools/call", call())).await;
            assert_eq!((status, &answer["id"]), (200, &id), "{answer}");
            assert_eq!(answer["result"]["resultType"], "complete", "it is stateless whatever came before");

            let id = json!(session.next_id());
            let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call()});
            let (status, answer) = pool.exchange(&session.post(&body)).await;
            assert_eq!((status, &answer["id"], answer["result"].get("resultType")), (200, &id, None), "{answer}");
            let structured = answer["result"].get("structuredContent").is_some();
            assert_eq!(structured, session.revision() >= Revision::R3, "{answer}");
        }
    }
}

#[tokio::test]
async fn what_is_refused_leaves_the_connection_to_the_next() {
    let one = One::start().await;
    let (session, modern) = (one.legacy(Revision::R4).await, one.modern());
    let mut pool = KeptConnection::open(&one.mcp()).await;
    let good = |id: i64| modern.post(&json!(id), "tools/list", json!({}));
    // Where a body is not even read, the answer says that the connection ends with it.
    let refused: [(Request, u16); 6] = [
        (good(1).body("nonsense"), 400),
        (good(1).header("Mcp-Method", "prompts/list"), 400),
        (good(1).header("Accept", "text/html"), 406),
        (modern.post(&json!(1), "nobody/knows", json!({})), 404),
        (session.post(&ping(&json!(1))).header("Mcp-Session-Id", "never-was"), 404),
        (session.post(&ping(&json!(1))).without("Mcp-Session-Id"), 400),
    ];

    for (index, (request, status)) in refused.iter().enumerate() {
        assert_eq!(pool.exchange(request).await.0, *status, "{request:?}");
        let id = i64::try_from(index).unwrap() + 100;
        let (status, answer) = pool.exchange(&good(id)).await;
        assert_eq!((status, &answer["id"]), (200, &json!(id)), "after {request:?}");
    }
}

#[tokio::test]
async fn answers_that_are_streams_leave_the_connection_to_the_next() {
    let one = One::start().await;
    let (session, modern) = (one.legacy(Revision::R3).await, one.modern());
    let mut pool = KeptConnection::open(&one.mcp()).await;

    for _ in 0..3 {
        let as_stream = modern.post(&json!("s"), "tools/list", json!({})).header("Accept", "text/event-stream");
        let (status, answer) = pool.exchange(&as_stream).await;
        assert_eq!((status, &answer["id"]), (200, &json!("s")));
        let id = json!(session.next_id());
        let (status, answer) = pool.exchange(&session.post(&ping(&id)).header("Accept", "text/event-stream")).await;
        assert_eq!((status, &answer["id"]), (200, &id));
    }
    assert_eq!(ModernClient::new(&one.mcp()).request("tools/list", json!({})).await.status, 200);
}

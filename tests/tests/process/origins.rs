//! Who may ask at all: browsers by their `Origin`, everybody by the `Host` they meant to reach.

use serde_json::json;
use switchyard_tests::{LegacyClient, Request, Revision};

use crate::One;

/// One correct request of each kind and era.
async fn requests(one: &One) -> Vec<Request> {
    let mut requests = Vec::new();
    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        requests.push(LegacyClient::initialize(&one.mcp(), revision.date()));
        requests.push(client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})));
        requests.push(client.get());
        requests.push(one.mcp().request("DELETE").header("Mcp-Session-Id", client.session()));
    }
    requests.push(one.modern().post(&json!(1), "tools/list", json!({})));
    requests
}

#[tokio::test]
async fn field_case_86_a_foreign_origin_is_refused_whatever_it_asks() {
    let one = One::start().await;

    for request in requests(&one).await {
        for origin in
            ["https://evil.example", "http://127.0.0.1.evil.example", "null", "http://localhost.evil.example:80"]
        {
            let response = request.clone().header("Origin", origin).send().await;

            assert_eq!(response.status, 403, "{origin}: {request:?}");
        }
    }
}

#[tokio::test]
async fn an_origin_on_this_machine_is_welcome() {
    let one = One::start().await;

    for origin in ["http://localhost", "http://127.0.0.1:8080", "http://localhost:5173", "http://[::1]:3000"] {
        let request = one.modern().post(&json!(1), "tools/list", json!({}));

        assert_eq!(request.header("Origin", origin).send().await.status, 200, "{origin}");
    }
}

#[tokio::test]
async fn field_case_86_a_foreign_host_is_refused() {
    let one = One::start().await;
    let port = one.mcp().address.port();

    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "169.254.169.254"] {
        let request = one.modern().post(&json!(1), "tools/list", json!({}));

        assert_eq!(request.header("Host", host).send().await.status, 403, "{host}");
    }
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), "localhost".to_owned(), "[::1]".to_owned()] {
        let request = one.modern().post(&json!(1), "tools/list", json!({}));

        assert_eq!(request.header("Host", &host).send().await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn field_case_86_a_public_host_and_origin_are_welcome_once_configured() {
    let one = One::start_with(json!({"server": {
        "allowedHosts": ["mcp.example.com"],
        "allowedOrigins": ["https://app.example.com"],
    }}))
    .await;
    let request = || one.modern().post(&json!(1), "tools/list", json!({})).header("Host", "mcp.example.com");

    assert_eq!(request().send().await.status, 200);
    assert_eq!(request().header("Origin", "https://app.example.com").send().await.status, 200);
    assert_eq!(request().header("Origin", "https://other.example.com").send().await.status, 403);
    assert_eq!(request().header("Host", "other.example.com").send().await.status, 403);
}

//! No session has a home: any request of any session is served by any gateway.

use serde_json::json;
use switchyard_tests::{Call, Cluster, LegacyClient, ModernClient, Revision, Shape, eventually};

#[tokio::test]
async fn field_case_01_every_request_of_a_session_may_land_anywhere() {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    let balancer = cluster.balancer().await;

    for revision in Revision::ALL {
        let client = LegacyClient::connect(&balancer.mcp(), revision).await;
        let uri = client.uri_of("plan.md").await;
        for round in 0..75 {
            let reply = match round % 5 {
                0 => client.request("ping", json!({})).await,
                1 => client.request("tools/list", json!({})).await,
                2 => client.request("resources/read", json!({"uri": uri})).await,
                3 => client.request("prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}})).await,
                _ => client.request("tools/call", json!({"name": "checkDiskSpace", "arguments": {"path": "/"}})).await,
            };
            assert_eq!(reply.status, 200, "{revision:?} {round}: {}", reply.message);
            reply.result();
        }
        assert!(matches!(client.delete().await.status, 200 | 204));
    }
}

#[tokio::test]
async fn a_stateless_client_is_served_anywhere_with_the_same_answer() {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    let balancer = cluster.balancer().await;
    let client = ModernClient::new(&balancer.mcp());

    for (method, params) in [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}})),
    ] {
        let first = client.request(method, params.clone()).await;
        for _ in 0..6 {
            assert_eq!(client.request(method, params.clone()).await.result(), first.result(), "{method}");
        }
    }
}

#[tokio::test]
async fn the_first_request_may_follow_the_handshake_at_another_gateway_at_once() {
    let cluster = Cluster::start(Shape::default()).await;

    for revision in Revision::ALL {
        for _ in 0..20 {
            let here = LegacyClient::handshake(&cluster.gateway(0), revision).await;
            let there = here.at(&cluster.gateway(1));

            assert_eq!(there.notify("notifications/initialized", json!({})).await.status, 202);
            assert_eq!(here.request("tools/list", json!({})).await.status, 200);
        }
    }
}

#[tokio::test]
async fn field_case_02_a_session_deleted_at_one_gateway_is_gone_at_the_others_at_once() {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;

    for revision in Revision::ALL {
        for _ in 0..10 {
            let client = cluster.legacy(revision).await;
            let mut stream = client.at(&cluster.gateway(2)).listen().await;
            let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});

            let deleted = client.at(&cluster.gateway(1)).delete().await;

            assert!(matches!(deleted.status, 200 | 204), "{}", deleted.status);
            for gateway in 0..3 {
                assert_eq!(client.at(&cluster.gateway(gateway)).post(&ping).send().await.status, 404);
            }
            assert!(stream.ended().await, "its stream at a third gateway ends");
        }
    }
}

#[tokio::test]
async fn a_cursor_of_one_gateway_works_at_another() {
    let cluster = Cluster::start(Shape::default()).await;
    for number in 0..450 {
        cluster.folder.write(&format!("many/{number:04}.txt"), number.to_string());
    }
    let (here, there) = (cluster.modern(0), cluster.modern(1));
    let many = |uris: &[String]| uris.iter().filter(|uri| uri.contains("/many/")).count();
    eventually("the new files to be listed", async || (many(&listed([&here, &here]).await) == 450).then_some(())).await;

    let mut uris = listed([&here, &there]).await;

    let count = uris.len();
    uris.sort_unstable();
    uris.dedup();
    assert_eq!((uris.len(), many(&uris)), (count, 450));
}

/// The URIs of all resources, whose pages are asked for at one gateway and the other in turn.
async fn listed(gateways: [&ModernClient; 2]) -> Vec<String> {
    let mut uris = Vec::new();
    let mut params = json!({});
    for client in gateways.into_iter().cycle() {
        let page = client.request("resources/list", params).await;
        let resources = page.result()["resources"].as_array().unwrap();
        uris.extend(resources.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()));
        match page.result().get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    uris
}

#[tokio::test]
async fn field_case_14_many_sessions_opened_at_once_are_all_ready() {
    let cluster = Cluster::start(Shape { gateways: 3, tools: 1 }).await;
    let balancer = cluster.balancer().await;
    let endpoint = balancer.mcp();

    let mut sessions = tokio::task::JoinSet::new();
    for number in 0..100 {
        let endpoint = endpoint.clone();
        sessions.spawn(async move {
            let client = LegacyClient::connect(&endpoint, Revision::ALL[number % 4]).await;
            client.request("tools/list", json!({})).await.status
        });
    }

    while let Some(status) = sessions.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
}

#[tokio::test]
async fn the_same_id_from_two_clients_never_meets() {
    let cluster = Cluster::start(Shape::default()).await;
    let (one, two) = (cluster.legacy(Revision::R3).await, cluster.legacy(Revision::R3).await);
    let call = |path: &str| json!({"name": "checkDiskSpace", "arguments": {"path": path}});

    let (here, there) = tokio::join!(
        one.start_as(json!(1), "tools/call", call("/")),
        two.start_as(json!(1), "tools/call", call("/nowhere/at/all")),
    );
    let (here, there): (Call, Call) = (here, there);

    assert_ne!(here.finish().await.result()["isError"], json!(true));
    assert_eq!(there.finish().await.result()["isError"], json!(true));
}

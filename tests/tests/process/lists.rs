//! Lists: deterministic, page by page, in both eras.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchyard_tests::{Folder, LegacyClient, ModernClient, Revision};

use crate::One;

const METHODS: [&str; 4] = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];

/// Every URI of every page in order, and the number of pages.
async fn walk(modern: &ModernClient) -> (Vec<String>, usize) {
    let (mut uris, mut pages, mut cursor) = (Vec::new(), 0, None);
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
        let page = modern.request("resources/list", params).await.result().clone();
        let resources = page["resources"].as_array().unwrap();
        uris.extend(resources.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()));
        pages += 1;
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => return (uris, pages),
        }
    }
}

async fn many_files(count: usize) -> One {
    let folder = Folder::sample();
    for number in 0..count {
        folder.write(&format!("many/{number:05}.txt"), number.to_string());
    }
    let config = folder.config();
    One::with(folder, &config).await
}

#[tokio::test]
async fn a_long_list_comes_page_by_page_each_entry_once_and_always_in_the_same_order() {
    let one = many_files(2500).await;

    let (uris, pages) = walk(&one.modern()).await;
    let (again, _) = walk(&one.modern()).await;

    let many: BTreeSet<_> = uris.iter().filter(|uri| uri.contains("/many/")).collect();
    assert_eq!(many.len(), 2500);
    assert_eq!(uris.iter().collect::<BTreeSet<_>>().len(), uris.len(), "no entry comes twice");
    assert_eq!(uris, again);
    assert!(pages > 1, "the list came on one page");
}

#[tokio::test]
async fn pages_of_a_session_and_of_a_stateless_client_are_the_same() {
    let one = many_files(1500).await;
    let (modern, legacy) = (one.modern(), one.legacy(Revision::R2).await);
    let first = modern.request("resources/list", json!({})).await;

    let next = json!({"cursor": first.result()["nextCursor"]});
    let stateless = modern.request("resources/list", next.clone()).await;
    let session = legacy.request("resources/list", next).await;

    let uris = |page: &Value| -> Vec<Value> {
        page["resources"].as_array().unwrap().iter().map(|resource| resource["uri"].clone()).collect()
    };
    assert_eq!(uris(stateless.result()), uris(session.result()));
    assert_eq!(first.result()["cacheScope"], stateless.result()["cacheScope"]);
}

#[tokio::test]
async fn a_cursor_that_nobody_gave_out_is_invalid() {
    let one = One::start().await;
    let modern = one.modern();

    for method in METHODS {
        for cursor in [json!("garbage"), json!(""), json!("AAAA"), json!(7), json!({})] {
            let reply = modern.request(method, json!({"cursor": cursor})).await;
            assert_eq!(reply.refusal(), (200, -32602), "{method} {cursor}: {}", reply.message);
        }
    }
    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        for method in METHODS {
            let reply = client.request(method, json!({"cursor": "garbage"})).await;
            assert_eq!(reply.refusal(), (200, -32602), "{revision:?} {method}: {}", reply.message);
        }
    }
}

#[tokio::test]
async fn every_client_sees_the_same_lists_in_the_same_order() {
    let one = One::start().await;
    let names = |list: &Value| -> Vec<String> {
        let entries = list.as_array().unwrap().iter();
        entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    let modern = one.modern();

    for (method, member) in [("tools/list", "tools"), ("prompts/list", "prompts"), ("resources/list", "resources")] {
        let expected = names(&modern.request(method, json!({})).await.result()[member]);
        assert!(!expected.is_empty(), "{method}");
        for revision in Revision::ALL {
            let client = LegacyClient::connect(&one.mcp(), revision).await;
            assert_eq!(names(&client.request(method, json!({})).await.result()[member]), expected, "{revision:?}");
        }
    }
}

//! What only the client that asked may keep.

use serde_json::json;
use switchyard_proto::v1::{Resource, ResourceContents, ResourceResult, resource_contents::Body};
use switchyard_tests::{Offered, Stage, meta};

#[tokio::test]
async fn a_resource_that_its_clients_answers_went_into_is_private() {
    let stage = Stage::start_with(&[Offered::provider("held", "held://")], &json!({})).await;
    stage.service.list(vec![Resource { uri: "held://one".into(), name: "one".into(), ..Resource::default() }]);
    let client = stage.modern();
    let read = |text: &str| {
        let body = Some(Body::Text(text.into()));
        ResourceResult { contents: vec![ResourceContents { uri: "held://one".into(), body, ..Default::default() }] }
    };
    let mut params = json!({"uri": "held://one", "_meta": {meta("clientCapabilities"): {"roots": {}}}});

    let (plain, ()) = tokio::join!(client.request("resources/read", params.clone()), async {
        stage.service.next_run().await.read(read("for everybody")).await;
    });
    let (asked, ()) = tokio::join!(client.request("resources/read", params.clone()), async {
        let question = json!({"k": {"method": "roots/list", "params": {}}});
        stage.service.next_run().await.ask(&question, "").await;
    });
    params["requestState"] = asked.result()["requestState"].clone();
    params["inputResponses"] = json!({"k": {"roots": []}});
    let (answered, ()) = tokio::join!(client.request("resources/read", params), async {
        stage.service.next_run().await.read(read("for you")).await;
    });

    assert_eq!(plain.result()["cacheScope"], "public", "{}", plain.message);
    assert_eq!(answered.result()["cacheScope"], "private", "{}", answered.message);
}

//! Words beside the number of a progress report, which the oldest revision does not have.

use serde_json::json;
use switchyard_tests::{Door, ModernClient, Revision, Stage, Talker};

#[tokio::test]
async fn words_come_with_progress_in_revisions_that_have_them() {
    let stage = Stage::start().await;
    let params = || json!({"name": "held", "_meta": {"progressToken": 1}});
    for door in Door::ALL {
        let mut modern = door.enter(&stage).await;
        modern.begin(&json!("x"), "tools/call", ModernClient::params(params())).await;
        stage.service.next_run().await.progress_in_words(1.0, "on its way").await;
        assert_eq!(modern.hear().await.unwrap()["params"]["message"], "on its way", "{door:?}");

        for revision in Revision::ALL {
            let mut client = door.session(&stage, revision, &json!({})).await;
            client.begin(&json!("x"), "tools/call", params()).await;
            stage.service.next_run().await.progress_in_words(1.0, "on its way").await;
            let heard = client.hear().await.unwrap();
            assert_eq!(
                heard["params"].get("message").is_some(),
                revision >= Revision::R2,
                "{door:?} {revision:?}: {heard}"
            );
        }
    }
}

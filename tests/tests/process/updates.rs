//! Updates of resources, as whoever subscribed hears of them.

use serde_json::{Value, json};
use switchyard_tests::Revision;

use crate::One;

/// The notification without what only tells a subscription.
fn uri(update: &Value) -> &Value {
    assert_eq!(update["method"], "notifications/resources/updated", "{update}");
    &update["params"]["uri"]
}

#[tokio::test]
async fn field_case_19_a_change_is_told_exactly_once_under_the_uri_that_is_listed() {
    let one = One::start().await;
    let modern = one.modern();
    let (plan, notes) = (modern.uri_of("plan.md").await, modern.uri_of("notes.txt").await);
    let mut listener = modern.listen(json!({"resourceSubscriptions": [plan, notes]})).await;
    let mut standing = Vec::new();
    for revision in Revision::ALL {
        let client = one.legacy(revision).await;
        for uri in [&plan, &notes] {
            client.request("resources/subscribe", json!({"uri": uri})).await.result();
        }
        standing.push((client.listen().await, client));
    }

    // A second notification of the first change would come before that of the second.
    for (name, changed) in [("plan.md", &plan), ("notes.txt", &notes), ("plan.md", &plan)] {
        one.folder.save(name, "changed");

        assert_eq!(uri(&listener.next().await), changed);
        for (stream, client) in &mut standing {
            assert_eq!(uri(&stream.message().await), changed, "{:?}", client.revision());
        }
    }
}

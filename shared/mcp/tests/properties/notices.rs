//! Notifications of every form, as each revision hears them.

use proptest::{collection, prelude::*, sample};
use switchyard_mcp::{Revision, notifications};
use switchyard_proto::v1::{ListKind, LogMessage, Progress};

use crate::{
    config, judged,
    shapes::{any_json, text, uri},
};

/// The JSON text of a string or an integer, such as an id or a token.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![any::<i64>().prop_map(|id| id.to_string()), text().prop_map(|id| serde_json::json!(id).to_string())]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn progress_is_heard_in_each_revision(
        token in id(),
        progress in any::<f64>(),
        total in proptest::option::of(any::<f64>()),
        message in text(),
    ) {
        let progress = Progress { progress, total, message };
        for revision in Revision::ALL {
            judged(revision, None, &notifications::progress(&token, &progress, revision))?;
        }
    }

    #[test]
    fn log_messages_are_heard_in_each_revision(
        level in sample::select(vec!["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]),
        logger in text(),
        data in prop_oneof![any_json().prop_map(|data| data.to_string()), text()],
    ) {
        let log = LogMessage { level: level.into(), logger, data_json: data.into_bytes().into() };
        for revision in Revision::ALL {
            judged(revision, None, &notifications::message(&log))?;
        }
    }

    #[test]
    fn news_is_heard_in_each_revision_and_names_its_stream_in_the_stateless_one(uri in uri(), stream in id()) {
        for revision in Revision::ALL {
            let stream = (!revision.has_sessions()).then_some(stream.as_str());
            judged(revision, None, &notifications::resource_updated(&uri, stream))?;
            for list in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
                judged(revision, None, &notifications::list_changed(list, stream))?;
            }
        }
    }

    #[test]
    fn what_is_honoured_of_a_filter_is_said_first(
        flags in any::<[bool; 3]>(),
        uris in collection::vec(uri(), 0..3),
        stream in id(),
    ) {
        let [tools, prompts, resources] = flags;
        let wishes = serde_json::json!({ "toolsListChanged": tools, "promptsListChanged": prompts,
            "resourcesListChanged": resources, "resourceSubscriptions": uris, "unknown": 1 });
        let wishes = serde_json::value::to_raw_value(&wishes).unwrap();
        let filter = notifications::Filter::read(Some(&wishes)).unwrap();
        prop_assert_eq!((filter.tools, filter.prompts, filter.resources, &filter.uris), (tools, prompts, resources, &uris));
        judged(Revision::V2026_07_28, None, &notifications::acknowledged(&stream, &filter))?;
    }
}

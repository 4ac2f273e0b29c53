//! Notifications that the server sends. Each function returns the JSON text of a whole message.

use serde::Deserialize;
use serde_json::value::RawValue;
use switchyard_proto::v1::{ListKind, LogMessage, Progress};

use crate::{
    Revision, RpcError,
    jsonrpc::{notification, push_string},
    results::SUBSCRIPTION_ID,
};

/// Progress of the call whose client, of `revision`, gave it `token`, a JSON text.
pub fn progress(token: &str, progress: &Progress, revision: Revision) -> String {
    let mut params = format!(r#"{{"progressToken":{token},"progress":{}"#, number(progress.progress));
    if let Some(total) = progress.total {
        params.push_str(r#","total":"#);
        params.push_str(&number(total));
    }
    if revision.has_progress_messages() && !progress.message.is_empty() {
        params.push_str(r#","message":"#);
        push_string(&mut params, &progress.message);
    }
    params.push('}');
    notification("notifications/progress", Some(&params))
}

/// A number as JSON has it; infinities and the like have no form there.
fn number(value: f64) -> String {
    if value.is_finite() { serde_json::json!(value).to_string() } else { "0".to_owned() }
}

/// A log message of a call.
pub fn message(log: &LogMessage) -> String {
    let mut params = String::from(r#"{"level":"#);
    push_string(&mut params, &log.level);
    if !log.logger.is_empty() {
        params.push_str(r#","logger":"#);
        push_string(&mut params, &log.logger);
    }
    params.push_str(r#","data":"#);
    match std::str::from_utf8(&log.data_json) {
        Ok(data) if serde_json::from_str::<&RawValue>(data).is_ok() => params.push_str(data),
        _ => params.push_str("null"),
    }
    params.push('}');
    notification("notifications/message", Some(&params))
}

/// A list is not what it was. `subscription` is the JSON text of the listen request's id, if it goes to one.
pub fn list_changed(list: ListKind, subscription: Option<&str>) -> String {
    let method = match list {
        ListKind::Prompts => "notifications/prompts/list_changed",
        ListKind::Resources => "notifications/resources/list_changed",
        ListKind::Tools | ListKind::Unspecified => "notifications/tools/list_changed",
    };
    let params = subscription.map(|id| format!(r#"{{"_meta":{{"{SUBSCRIPTION_ID}":{id}}}}}"#));
    notification(method, params.as_deref())
}

/// A resource is not what it was.
pub fn resource_updated(uri: &str, subscription: Option<&str>) -> String {
    let mut params = String::from(r#"{"uri":"#);
    push_string(&mut params, uri);
    if let Some(id) = subscription {
        params.push_str(&format!(r#","_meta":{{"{SUBSCRIPTION_ID}":{id}}}"#));
    }
    params.push('}');
    notification("notifications/resources/updated", Some(&params))
}

/// What a client wants to hear of on a `subscriptions/listen` stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Changes of the list of tools.
    pub tools: bool,
    /// Changes of the list of prompts.
    pub prompts: bool,
    /// Changes of the list of resources.
    pub resources: bool,
    /// Changes of these resources.
    pub uris: Vec<String>,
    /// Changes of these tasks.
    pub tasks: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireFilter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
    task_ids: Vec<String>,
}

impl Filter {
    /// Reads `params.notifications`. Kinds that are not known here are left out.
    ///
    /// # Errors
    /// -32602 when it is missing or of the wrong form.
    pub fn read(notifications: Option<&RawValue>) -> Result<Self, RpcError> {
        let wrong = || {
            RpcError::invalid_params(
                "`params.notifications` must be an object of booleans `toolsListChanged`, `promptsListChanged`, \
                 `resourcesListChanged` and the lists `resourceSubscriptions` of URIs and `taskIds`",
            )
        };
        let json = notifications.and_then(crate::object_text).ok_or_else(wrong)?;
        let wire: WireFilter = serde_json::from_str(json).map_err(|_| wrong())?;
        Ok(Self {
            tools: wire.tools_list_changed,
            prompts: wire.prompts_list_changed,
            resources: wire.resources_list_changed,
            uris: wire.resource_subscriptions,
            tasks: wire.task_ids,
        })
    }
}

/// The first message of a listen stream: what of the client's wishes is honoured.
pub fn acknowledged(subscription: &str, filter: &Filter) -> String {
    let mut wishes = Vec::new();
    for (wanted, key) in [
        (filter.tools, "toolsListChanged"),
        (filter.prompts, "promptsListChanged"),
        (filter.resources, "resourcesListChanged"),
    ] {
        if wanted {
            wishes.push(format!(r#""{key}":true"#));
        }
    }
    if !filter.uris.is_empty() {
        let uris = serde_json::to_string(&filter.uris).expect("strings are always JSON");
        wishes.push(format!(r#""resourceSubscriptions":{uris}"#));
    }
    if !filter.tasks.is_empty() {
        let tasks = serde_json::to_string(&filter.tasks).expect("strings are always JSON");
        wishes.push(format!(r#""taskIds":{tasks}"#));
    }
    let params =
        format!(r#"{{"notifications":{{{}}},"_meta":{{"{SUBSCRIPTION_ID}":{subscription}}}}}"#, wishes.join(","));
    notification("notifications/subscriptions/acknowledged", Some(&params))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;

    fn parsed(json: &str) -> Value {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}"))
    }

    #[test]
    fn progress_keeps_the_tokens_json_type() {
        let half = Progress { progress: 0.5, total: Some(1.0), message: "half".into() };

        let newest = |token, report: &Progress| parsed(&progress(token, report, Revision::V2026_07_28));
        assert_eq!(newest("7", &half)["params"]["progressToken"], 7);
        assert_eq!(newest(r#""7""#, &half)["params"]["progressToken"], "7");
        let oldest = parsed(&progress("7", &half, Revision::V2024_11_05));
        assert_eq!(oldest["params"], json!({ "progressToken": 7, "progress": 0.5, "total": 1.0 }));
        assert_eq!(newest("0", &Progress { progress: f64::NAN, ..half })["params"]["progress"], 0);
    }

    #[test]
    fn notices_of_a_listen_stream_name_it_and_others_do_not() {
        let tagged = parsed(&resource_updated("file:///a", Some("7")));
        assert_eq!(tagged["params"], json!({ "uri": "file:///a", "_meta": { SUBSCRIPTION_ID: 7 } }));

        assert_eq!(parsed(&list_changed(ListKind::Tools, None)).get("params"), None);
    }

    #[test]
    fn a_filter_is_acknowledged_as_far_as_it_is_honoured() {
        let wishes = r#"{"toolsListChanged":true,"resourceSubscriptions":["file:///a"],"taskIds":["x"],"later":1}"#;
        let filter = Filter::read(Some(serde_json::from_str(wishes).unwrap())).unwrap();

        let ack = parsed(&acknowledged(r#""l""#, &filter));

        assert_eq!(
            ack["params"]["notifications"],
            json!({ "toolsListChanged": true, "resourceSubscriptions": ["file:///a"], "taskIds": ["x"] })
        );
        assert_eq!(ack["params"]["_meta"][SUBSCRIPTION_ID], "l");
        assert!(Filter::read(None).is_err());
        assert!(Filter::read(Some(serde_json::from_str(r#"{"toolsListChanged":1}"#).unwrap())).is_err());
    }
}

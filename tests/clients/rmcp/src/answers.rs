//! What the client answers when it is asked, and where it notes what it is told.

#![allow(deprecated, reason = "older revisions ask for what the newest gives up")]

use std::{future::Future, sync::Arc};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        ElicitationAction, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
        ResourceUpdatedNotificationParam, Root,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Map, Value, json};

use crate::heard::Heard;

/// What the model says, whatever it is asked.
pub const SAID: &str = "The model says so.";

/// The client's side of a conversation.
pub struct Answers {
    pub config: ClientConfig,
    pub heard: Arc<Heard>,
}

impl ClientHandler for Answers {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let content = json!({ "type": "text", "text": SAID });
        let said = json!({ "role": "assistant", "content": content, "model": "none", "stopReason": "endTurn" });
        serde_json::from_value(said).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///home/ada/project").with_name("project")]))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(&request).unwrap_or_default();
        if request["message"] == "decline" {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        }
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(filled_in(&request["requestedSchema"])))
    }

    fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.heard.tell("progress", json!(told.progress));
        std::future::ready(())
    }

    fn on_logging_message(
        &self,
        told: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.heard.tell("log", told.data);
        std::future::ready(())
    }

    fn on_resource_updated(
        &self,
        told: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.heard.tell("updated", json!(told.uri));
        std::future::ready(())
    }

    fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) -> impl Future<Output = ()> + Send + '_ {
        self.heard.tell("tools changed", Value::Null);
        std::future::ready(())
    }
}

/// A form, filled in: with the default, the last choice, or something of the type that is asked for.
fn filled_in(schema: &Value) -> Value {
    let none = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&none);
    fields.iter().map(|(name, field)| (name.clone(), value_for(field))).collect::<Map<_, _>>().into()
}

fn value_for(field: &Value) -> Value {
    if let Some(default) = field.get("default") {
        return default.clone();
    }
    let items = field.get("items").unwrap_or(field);
    let one_of = |key: &str| items[key].as_array().and_then(|choices| choices.last()).map(|last| last["const"].clone());
    let choice = items["enum"].as_array().and_then(|choices| choices.last()).cloned();
    let choice = choice.or_else(|| one_of("oneOf")).or_else(|| one_of("anyOf"));
    let one = choice.unwrap_or_else(|| match field["type"].as_str() {
        Some("boolean") => json!(true),
        Some("integer") => json!(1),
        Some("number") => json!(1.5),
        _ => json!("Ada"),
    });
    if field["type"] == "array" { json!([one]) } else { one }
}

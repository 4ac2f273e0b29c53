//! A connection to the server, and requests whose answers are plain JSON.

#![allow(deprecated, reason = "older revisions ask for what the newest gives up")]

use std::sync::Arc;

use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolResponse, ClientConfig, ClientRequest, Implementation, ProtocolVersion,
        ServerNotification, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{ClientLifecycleMode, ClientServiceExt, PeerRequestOptions, RunningService, ServiceError, Subscription},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{Failure, answers::Answers, heard::Heard, setting::Setting};

/// A connection to the server.
pub struct Peer {
    pub client: RunningService<RoleClient, Answers>,
    pub heard: Arc<Heard>,
    modern: bool,
}

/// A parameter object of the SDK's, made of JSON.
fn params<T: DeserializeOwned>(json: Value) -> Result<T, ServiceError> {
    serde_json::from_value(json).map_err(|_| ServiceError::UnexpectedResponse)
}

impl Peer {
    /// Connects, and offers to follow tasks if it is told to.
    ///
    /// # Errors
    /// There is no server, or they do not agree.
    pub async fn connect(setting: &Setting, target: &str, tasks: bool) -> Result<Self, Failure> {
        let mut abilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
        if tasks {
            abilities["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
        }
        let revision: ProtocolVersion = serde_json::from_value(json!(setting.revision))?;
        let mut config = ClientConfig::new(serde_json::from_value(abilities)?, Implementation::new("clients", "1"));
        let mode = if setting.modern() {
            ClientLifecycleMode::Auto { preferred_versions: vec![revision], legacy_version: None }
        } else {
            config = config.with_protocol_version(revision);
            ClientLifecycleMode::Initialize
        };
        let heard = Arc::new(Heard::default());
        let answers = Answers { config, heard: heard.clone() };
        let client = if setting.transport == "http" {
            answers.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(target), mode).await?
        } else {
            let words: Vec<String> = serde_json::from_str(target)?;
            let (program, arguments) = words.split_first().ok_or("there is no program")?;
            let mut command = Command::new(program);
            command.args(arguments);
            answers.serve_with_lifecycle(TokioChildProcess::new(command)?, mode).await?
        };
        Ok(Self { client, heard, modern: setting.modern() })
    }

    pub async fn close(self) -> Result<(), Failure> {
        self.client.cancel().await?;
        Ok(())
    }

    /// A call's parameters. In the modern era the level of the log is said with each request.
    fn called(&self, name: &str, arguments: &Value) -> Value {
        let mut called = json!({ "name": name, "arguments": arguments });
        if self.modern {
            called["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "debug" });
        }
        called
    }

    pub async fn call(&self, name: &str, arguments: &Value) -> Result<Value, ServiceError> {
        json_of(self.client.call_tool(params(self.called(name, arguments))?).await)
    }

    /// All texts that a tool returns.
    pub async fn say(&self, name: &str, arguments: &Value) -> Result<String, Failure> {
        let result = self.call(name, arguments).await?;
        let blocks = result["content"].as_array().ok_or("there is no content")?;
        Ok(blocks.iter().filter_map(|block| block["text"].as_str()).collect())
    }

    /// The task that a call becomes.
    pub async fn begin(&self, name: &str, arguments: &Value) -> Result<Value, ServiceError> {
        match self.client.call_tool_once(params(self.called(name, arguments))?).await? {
            CallToolResponse::Task(task) => json_of(Ok(task)),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    pub async fn task(&self, id: &Value) -> Result<Value, ServiceError> {
        json_of(self.client.get_task(params(json!({ "taskId": id }))?).await)
    }

    /// The content of a resource, as text or base64.
    pub async fn read(&self, uri: &str) -> Result<String, ServiceError> {
        let result = json_of(self.client.read_resource(params(json!({ "uri": uri }))?).await)?;
        let contents = &result["contents"][0];
        let written = contents["text"].as_str().or_else(|| contents["blob"].as_str());
        written.map(str::to_owned).ok_or(ServiceError::UnexpectedResponse)
    }

    /// What the first message of a prompt says.
    pub async fn prompt(&self, name: &str, arguments: &Value) -> Result<String, ServiceError> {
        let result = json_of(self.client.get_prompt(params(json!({ "name": name, "arguments": arguments }))?).await)?;
        Ok(result["messages"][0]["content"]["text"].as_str().unwrap_or_default().to_owned())
    }

    /// Begins a call, and cancels it once it has reported.
    pub async fn cancel(&self, name: &str) -> Result<(), Failure> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params(self.called(name, &json!({})))?));
        let seen = self.heard.of("progress").len();
        let running = self.client.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        self.heard.until("progress", |told| told.len() > seen).await;
        running.cancel(Some("not wanted any more".into())).await?;
        Ok(())
    }

    pub async fn subscribe(&self, uri: &str) -> Result<(), ServiceError> {
        self.client.subscribe(SubscribeRequestParams::new(uri)).await
    }

    pub async fn unsubscribe(&self, uri: &str) -> Result<(), ServiceError> {
        self.client.unsubscribe(UnsubscribeRequestParams::new(uri)).await
    }

    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, ServiceError> {
        self.client.listen(filter).await
    }
}

/// Notes the next thing that a subscription tells.
pub async fn hear(listening: &mut Subscription, heard: &Heard) -> Result<(), Failure> {
    match listening.next().await? {
        Some(ServerNotification::ResourceUpdatedNotification(told)) => heard.tell("updated", json!(told.params.uri)),
        Some(ServerNotification::ToolListChangedNotification(_)) => heard.tell("tools changed", Value::Null),
        other => return Err(format!("a subscription told of {other:?}").into()),
    }
    Ok(())
}

fn json_of<T: serde::Serialize>(answer: Result<T, ServiceError>) -> Result<Value, ServiceError> {
    serde_json::to_value(answer?).map_err(|_| ServiceError::UnexpectedResponse)
}

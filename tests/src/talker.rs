//! A client whose connection is its session, whatever carries the messages.

use serde_json::{Value, json};

use crate::ModernClient;

/// Says messages and hears messages.
#[allow(async_fn_in_trait)] // tests know their types, and run on one thread
pub trait Talker {
    /// Says one message, as it is.
    async fn say(&mut self, message: &str);

    /// The next message; `None` once the server has closed the connection.
    async fn hear(&mut self) -> Option<Value>;

    /// An id that was not used before.
    fn next_id(&mut self) -> i64;

    /// Opens a legacy session and returns what the server says of itself.
    async fn handshake(&mut self, version: &str) -> Value {
        let params = json!({"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "switchyard-tests", "version": "1"}});
        let answer = self.ask("initialize", params).await;
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
        answer["result"].clone()
    }

    /// Sends a request of the session and returns its response; notifications before it are passed over.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next_id());
        self.begin(&id, method, params).await;
        self.response(&id).await
    }

    /// Sends a stateless request and returns its response.
    async fn ask_modern(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, ModernClient::params(params)).await
    }

    /// Sends a request and waits for nothing.
    async fn begin(&mut self, id: &Value, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
    }

    /// Gives a request up.
    async fn cancel(&mut self, id: &Value) {
        let params = json!({"requestId": id});
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string()).await;
    }

    /// The response to the request `id`; messages before it are passed over.
    ///
    /// # Panics
    /// When the connection is closed before it.
    async fn response(&mut self, id: &Value) -> Value {
        loop {
            let message = self.hear().await.expect("the connection stays open");
            if message.get("method").is_none() && message["id"] == *id {
                return message;
            }
        }
    }

    /// The next message with this method; others before it are passed over.
    ///
    /// # Panics
    /// When the connection is closed before it.
    async fn notified(&mut self, method: &str) -> Value {
        loop {
            let message = self.hear().await.expect("the connection stays open");
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Waits until the server has closed the connection; messages before that are passed over.
    async fn closed(&mut self) {
        while self.hear().await.is_some() {}
    }

    /// The URI of the served file of that name.
    ///
    /// # Panics
    /// When the first page of the list does not have it.
    async fn uri_of(&mut self, name: &str) -> String {
        let page = self.ask("resources/list", json!({})).await;
        crate::legacy::uri_in(&page["result"], name).expect("the file is served")
    }
}

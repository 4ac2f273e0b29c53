//! Letters between gateways.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;
use switchyard_bus::Bus;
use switchyard_mcp::Id;
use switchyard_proto::v1::{
    Answer, Cancel, DeliverReply, Letter, StillOpen, ToConversation, gateway_server::Gateway as Contract,
    letter::Letter as Content,
};
use switchyard_state::NodeId;
use tokio::time::timeout;
use tonic::{Request, Response, Status};
use tracing::debug;

use crate::ledger::{Handed, Ledger};

/// How long another gateway may take to act on a letter.
const PATIENCE: Duration = Duration::from_secs(2);

/// Acts on letters of other gateways: finds the call or stream that one is about, if it is here.
pub struct Letterbox {
    ledger: Ledger,
}

impl Letterbox {
    /// For what is open at this gateway.
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }
}

#[async_trait]
impl Contract for Letterbox {
    async fn deliver(&self, request: Request<Letter>) -> Result<Response<DeliverReply>, Status> {
        let found = match request.into_inner().letter {
            Some(Content::Cancel(cancel)) => {
                let id = Id::from_json(&cancel.request_id_json)
                    .ok_or_else(|| Status::invalid_argument("`request_id_json` must be a JSON string or integer"))?;
                self.ledger.calls.cancel(&cancel.session, &id)
            }
            Some(Content::StillOpen(asked)) => self.ledger.is_open(&asked.stream),
            Some(Content::Answer(answer)) => {
                let question = Id::from_json(&answer.question)
                    .ok_or_else(|| Status::invalid_argument("`question` must be a JSON string or integer"))?;
                self.ledger.desk.answer(&answer.session, &question, &answer.message_json)
            }
            Some(Content::ToConversation(letter)) => {
                match self.ledger.hand_over(&letter.conversation, letter.message_json) {
                    Handed::Over => true,
                    Handed::Nobody => false,
                    Handed::Full => return Err(Status::resource_exhausted("too many messages wait for it already")),
                }
            }
            None => return Err(Status::unimplemented("this gateway does not know that kind of letter")),
        };
        Ok(Response::new(DeliverReply { found }))
    }
}

/// Cancels a session's request at whichever other gateway it runs.
pub async fn cancel_elsewhere(bus: &Bus, cancel: Cancel) {
    let letter = Letter { letter: Some(Content::Cancel(cancel)) };
    let others = bus.gateways.others();
    let deliveries = others.iter().map(|node| timeout(PATIENCE, bus.gateways.deliver(node, letter.clone())));
    for (node, delivered) in others.iter().zip(join_all(deliveries).await) {
        if !matches!(delivered, Ok(Ok(_))) {
            debug!(node = %node, "a gateway did not take a letter; a call through it runs on");
        }
    }
}

/// Hands a client's answer to the gateway whose call asked for it. `false` when nobody there waits for it.
pub async fn answer_elsewhere(bus: &Bus, node: &NodeId, answer: Answer) -> bool {
    let letter = Letter { letter: Some(Content::Answer(answer)) };
    let delivered = timeout(PATIENCE, bus.gateways.deliver(node, letter)).await;
    matches!(delivered, Ok(Ok(reply)) if reply.found)
}

/// Hands a message to a conversation of another gateway. One that cannot be reached has no room for it.
pub async fn hand_over_elsewhere(bus: &Bus, node: &NodeId, conversation: &str, message: Bytes) -> Handed {
    let letter = ToConversation { conversation: conversation.to_owned(), message_json: message };
    let letter = Letter { letter: Some(Content::ToConversation(letter)) };
    match timeout(PATIENCE, bus.gateways.deliver(node, letter)).await {
        Ok(Ok(reply)) if reply.found => Handed::Over,
        Ok(Ok(_)) => Handed::Nobody,
        Ok(Err(_)) | Err(_) => Handed::Full,
    }
}

/// Whether another gateway still has a stream open. One that cannot be asked has none.
pub async fn is_open_elsewhere(bus: &Bus, node: &NodeId, stream: &str) -> bool {
    let letter = Letter { letter: Some(Content::StillOpen(StillOpen { stream: stream.to_owned() })) };
    let delivered = timeout(PATIENCE, bus.gateways.deliver(node, letter)).await;
    matches!(delivered, Ok(Ok(reply)) if reply.found)
}

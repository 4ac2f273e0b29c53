//! Letters from other gateways.

use std::sync::Arc;

use async_trait::async_trait;
use switchyard_mcp::Id;
use switchyard_proto::v1::{DeliverReply, Letter, gateway_server::Gateway as Contract, letter};
use tonic::{Request, Response, Status};

use crate::calls::CallTable;

/// Acts on letters: finds the call that one is about, if it runs here.
pub struct Letterbox {
    calls: Arc<CallTable>,
}

impl Letterbox {
    /// For the calls of this gateway.
    pub const fn new(calls: Arc<CallTable>) -> Self {
        Self { calls }
    }
}

#[async_trait]
impl Contract for Letterbox {
    async fn deliver(&self, request: Request<Letter>) -> Result<Response<DeliverReply>, Status> {
        let Some(letter::Letter::Cancel(cancel)) = request.into_inner().letter else {
            return Err(Status::unimplemented("this gateway does not know that kind of letter"));
        };
        let id = Id::from_json(&cancel.request_id_json)
            .ok_or_else(|| Status::invalid_argument("`request_id_json` must be a JSON string or integer"))?;
        Ok(Response::new(DeliverReply { found: self.calls.cancel(&cancel.session, &id) }))
    }
}

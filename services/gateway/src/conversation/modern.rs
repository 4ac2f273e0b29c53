//! Stateless requests of a conversation: each a task of its own, and what it is told depends on nothing before it.

use bytes::Bytes;
use switchyard_mcp::{Message, Method, Refusal, Request, jsonrpc, modern};
use switchyard_telemetry::trace::TraceContext;

use crate::{
    connection,
    dispatch::{Asked, Dispatch, Reply},
    observe::{Observed, Seen},
    running::Running,
};

use super::{Conversation, voice::Voice};

impl Conversation {
    pub(super) fn ask_stateless(&mut self, request: &Request<'_>, body: Bytes) {
        let (dispatch, voice) = (self.dispatch.clone(), self.voice.clone());
        let listens = request.method == Method::SubscriptionsListen.name();
        self.run(&request.id, listens, async move {
            if let Err(failed) = answer(&dispatch, &body, voice.clone()).await {
                voice.say(&failed).await;
            }
        });
    }
}

/// Answers one stateless request; dropping this cancels it. The error is the JSON text of the message that refuses it.
async fn answer(dispatch: &Dispatch, body: &[u8], voice: Voice) -> Result<(), String> {
    let Ok(Message::Request(request)) = jsonrpc::decode(body) else { return Ok(()) };
    let id = request.id.clone();
    let refused = |refusal: Refusal| jsonrpc::failure(Some(&id), false, &refusal.error);
    let checked = modern::check(&request, None).map_err(refused)?;
    let gateway = &dispatch.gateway;
    // A name that is missing is refused by whoever needs it.
    let target = checked.params.name_for(checked.method).ok();
    let seen = Seen {
        id: &id,
        method: &request.method,
        revision: checked.revision,
        session: None,
        target: target.as_deref(),
        trace: TraceContext::default(),
    };
    let observed = Observed::begin(gateway.metrics.clone(), &gateway.node.0, seen, &checked.meta);
    let trace = observed.context();
    let asked = Asked {
        revision: checked.revision,
        method: checked.method,
        params: checked.params,
        meta: checked.meta,
        capabilities: checked.capabilities,
        principal: "",
        session: None,
        log_level: checked.meta.log_level().ok().flatten(),
        headers: None,
        trace: &trace,
    };

    let ticket = gateway.ledger.calls.enter().map_err(refused)?;
    match dispatch.ask(&asked).await {
        Ok(Reply::Call(call)) => voice.tell(Running::Here { call, _ticket: ticket }, id.clone(), observed).await,
        Ok(Reply::Listen(filter)) => {
            drop(ticket);
            let frames = connection::listen(dispatch, &id, filter, checked.revision, voice.framing).await;
            let frames = frames.map_err(refused)?;
            observed.succeeded();
            voice.forward(frames).await;
        }
        Ok(Reply::Result(result)) => voice.answer(&id, Ok(result), observed).await,
        Err(refusal) => voice.answer(&id, Err(refusal), observed).await,
    }
    Ok(())
}

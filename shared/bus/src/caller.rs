//! One call: choose a node, call it there, and try once more elsewhere what provably did not start.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use switchyard_proto::v1::Failure;
use switchyard_state::NodeId;
use tokio::time::timeout;
use tonic::Status;
use tracing::Instrument;

use crate::{
    failed::Failed,
    limits,
    link::{Link, LinkError},
    local::{Local, Place},
    methods::Method,
    nodes::{Node, Nodes, Table},
    ticket::Ticket,
    trace,
};

/// How long a call with a single answer may take; streams are bounded by their callers.
const UNARY_DEADLINE: Duration = Duration::from_secs(30);

/// What all threads share.
pub(crate) struct Process {
    pub nodes: Arc<Nodes>,
    pub local: Local,
    pub place: Place,
}

/// Calls with connections of its own.
pub(crate) struct Caller {
    pub process: Arc<Process>,
    links: Mutex<Links>,
}

#[derive(Default)]
struct Links {
    /// The table that `links` was last compared with.
    table: Option<Arc<Table>>,
    links: HashMap<NodeId, Connecting>,
}

type Connecting = Shared<BoxFuture<'static, Result<Link, Arc<LinkError>>>>;

impl Caller {
    pub fn new(process: Arc<Process>) -> Arc<Self> {
        Arc::new(Self { process, links: Mutex::default() })
    }

    /// Calls one of `nodes`, and once more, at another one if there is any, what provably did not start.
    pub async fn call<M: Method>(&self, nodes: &[NodeId], request: M) -> Result<(M::Answer, Ticket), Status> {
        limits::check(&request, self.process.place.limit, "the request")?;
        let table = self.process.nodes.table();
        let Some(node) = self.choose::<M>(&table, nodes, None) else { return Err(nobody::<M>()) };
        let again = (nodes.len() > 1 || node.id != self.process.nodes.own).then(|| request.clone());

        let failed = match self.attempt(&table, &node, request).await {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        let other = match &failed {
            Failed::Started(_) => None,
            Failed::NotStarted(_) => self.choose::<M>(&table, nodes, Some(&node.id)),
            // Its connection was ending, so even the same node may take it on a new one.
            Failed::NotSent(_) => self.choose::<M>(&table, nodes, Some(&node.id)).or(Some(node)),
        };
        let (Some(other), Some(request)) = (other, again) else { return Err(failed.into_status()) };
        self.attempt(&table, &other, request).await.map_err(Failed::into_status)
    }

    /// The same for methods with one answer, within a deadline.
    pub async fn unary<M: Method>(&self, nodes: &[NodeId], request: M) -> Result<M::Answer, Status> {
        match timeout(UNARY_DEADLINE, self.call(nodes, request)).await {
            Ok(answer) => answer.map(|(answer, _)| answer),
            Err(_) => Err(Status::deadline_exceeded("the service did not answer in time")),
        }
    }

    fn choose<M: Method>(&self, table: &Table, ids: &[NodeId], except: Option<&NodeId>) -> Option<Arc<Node>> {
        self.process.nodes.choose(table, ids, M::served(&self.process.local), except)
    }

    async fn attempt<M: Method>(
        &self,
        table: &Arc<Table>,
        node: &Arc<Node>,
        mut request: M,
    ) -> Result<(M::Answer, Ticket), Failed> {
        let span = trace::client_span(&M::NAMES, &node.id, request.context());
        let ticket = Ticket::new(node, span.clone());
        let answer = async {
            if node.id == self.process.nodes.own {
                return request.here(&self.process.local, &self.process.place).await.map_err(Failed::from_service);
            }
            let link = self.connecting(table, node).await.map_err(|error| Failed::to_connect(&error, &node.id))?;
            // In a box, for it is large, and a call here should not be.
            let answer = Box::pin(request.there(link, self.process.place.limit)).await;
            answer.map_err(|status| Failed::from_wire(status, &node.id))
        }
        .instrument(span)
        .await;
        match answer {
            Ok(answer) => Ok((answer, ticket)),
            Err(failed) => {
                trace::failed(&ticket.span, failed.status());
                Err(failed)
            }
        }
    }

    /// The connection to a node, made now if there is none. Those who want it at the same time share the wait.
    fn connecting(&self, table: &Arc<Table>, node: &Arc<Node>) -> Connecting {
        let mut links = self.links.lock().expect("nothing panics while holding it");
        if !links.table.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, table)) {
            links.links.retain(|id, _| table.get(id).is_some());
            links.table = Some(table.clone());
        }
        if let Some(link) = links.links.get(&node.id) {
            match link.peek() {
                Some(Ok(open)) if !open.is_closed() => return link.clone(),
                Some(_) => {}
                None => return link.clone(),
            }
        }
        let connecting = connect(self.process.nodes.clone(), node.clone(), self.process.place.limit);
        links.links.insert(node.id.clone(), connecting.clone());
        connecting
    }
}

/// Connects in a task of its own, so that the wait goes on when one of those who want the connection gives up.
fn connect(nodes: Arc<Nodes>, node: Arc<Node>, limit: usize) -> Connecting {
    let ended = {
        let (nodes, node) = (Arc::downgrade(&nodes), node.clone());
        move || {
            if let Some(nodes) = nodes.upgrade() {
                nodes.eject(&node);
            }
        }
    };
    // Ends within two connect timeouts.
    let task = tokio::spawn(async move {
        let link = match Link::connect(&node.address, ended).await {
            Ok(link) => link.with_lane(limit).await,
            Err(error) => Err(error),
        };
        if link.is_err() {
            nodes.eject(&node);
        }
        link.map_err(Arc::new)
    });
    async move { task.await.unwrap_or_else(|_| Err(Arc::new(LinkError::Abandoned))) }.boxed().shared()
}

fn nobody<M: Method>() -> Status {
    Failure::not_started(format!("no node that offers {} is reachable", M::NAMES.offer))
}

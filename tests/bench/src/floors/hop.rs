//! The near end of a hop. Each worker thread of the web server has its own, as a gateway would.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    net::SocketAddr,
    rc::Rc,
};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Status, Streaming,
    transport::{Channel, Endpoint},
};

use super::proto::{Frame, echo_client::EchoClient};

/// How many frames may wait for the stream; the load has fewer calls under way.
const QUEUE: usize = 8192;

/// How a web floor reaches its echo process, before it is connected.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    None,
    Unary(SocketAddr),
    Stream(SocketAddr),
}

/// A connected hop, or none: then the bytes come back at once.
pub enum Hop {
    None,
    Unary(EchoClient<Channel>),
    Stream(Lane),
}

impl Hop {
    /// Connects in the calling thread's runtime and stays in it.
    pub async fn connect(kind: Kind) -> Result<Self, Box<dyn std::error::Error>> {
        match kind {
            Kind::None => Ok(Self::None),
            Kind::Unary(address) => Ok(Self::Unary(client(address).await?)),
            Kind::Stream(address) => Ok(Self::Stream(Lane::open(client(address).await?).await?)),
        }
    }

    pub async fn echo(&self, body: Bytes) -> Result<Bytes, Status> {
        match self {
            Self::None => Ok(body),
            Self::Unary(client) => Ok(client.clone().once(Frame { id: 0, body }).await?.into_inner().body),
            Self::Stream(lane) => lane.echo(body).await,
        }
    }
}

async fn client(address: SocketAddr) -> Result<EchoClient<Channel>, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true);
    Ok(EchoClient::new(endpoint.connect().await?))
}

/// One long-lived stream that many calls share.
pub struct Lane {
    frames: mpsc::Sender<Frame>,
    next_id: Cell<u64>,
    /// Who waits for which frame; emptied by the answers, and wholly when the stream ends.
    waiting: Waiting,
}

type Waiting = Rc<RefCell<HashMap<u64, oneshot::Sender<Bytes>>>>;

impl Lane {
    async fn open(mut client: EchoClient<Channel>) -> Result<Self, Status> {
        let (frames, queue) = mpsc::channel(QUEUE);
        let answers = client.open(ReceiverStream::new(queue)).await?.into_inner();
        let waiting = Waiting::default();
        // Ends with the stream, which ends with the worker thread's connection.
        actix_web::rt::spawn(deliver(answers, waiting.clone()));
        Ok(Self { frames, next_id: Cell::new(1), waiting })
    }

    async fn echo(&self, body: Bytes) -> Result<Bytes, Status> {
        let id = self.next_id.replace(self.next_id.get() + 1);
        let (answer, answered) = oneshot::channel();
        self.waiting.borrow_mut().insert(id, answer);
        if self.frames.try_send(Frame { id, body }).is_err() {
            self.waiting.borrow_mut().remove(&id);
            return Err(Status::unavailable("the stream takes no more frames"));
        }
        answered.await.map_err(|_| Status::unavailable("the stream has ended"))
    }
}

/// Gives each answer to whoever waits for it.
async fn deliver(mut answers: Streaming<Frame>, waiting: Waiting) {
    while let Ok(Some(frame)) = answers.message().await {
        let waiter = waiting.borrow_mut().remove(&frame.id);
        if let Some(waiter) = waiter {
            // A waiter that is gone needs no answer.
            let _ = waiter.send(frame.body);
        }
    }
    waiting.borrow_mut().clear();
}

//! Lanes at a node: each call is a task that calls the service's own method.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard},
};

use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, Shared},
    stream,
};
use switchyard_proto::v1::{
    CompleteReply, LaneReply, LaneRequest, RestRequest, lane_reply, lane_reply::Frame, lane_request, lane_server::Lane,
};
use tokio::{
    sync::{Notify, Semaphore, mpsc},
    time::sleep,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::{
    CREDIT, LARGEST, cost, cost_of_any,
    parked::{PATIENCE, Parked},
    to_wire,
};
use crate::{
    answer::Item,
    limits,
    local::Local,
    service::{CallEvents, DynPrompts, DynResources, DynTools},
};

/// How many replies of one lane wait for their turn before the calls that make them do.
const REPLIES: usize = 256;

/// The services that lanes lead to.
#[derive(Clone)]
pub(crate) struct LaneService {
    tools: Option<Arc<DynTools>>,
    resources: Option<Arc<DynResources>>,
    prompts: Option<Arc<DynPrompts>>,
    /// The largest event, in bytes.
    limit: usize,
    /// Comes when the listener stops.
    stopping: Shared<BoxFuture<'static, ()>>,
    parked: Parked,
}

impl LaneService {
    pub fn new(local: &Local, limit: usize, stopping: Shared<BoxFuture<'static, ()>>) -> Self {
        let Local { tools, resources, prompts, .. } = local.clone();
        Self { tools, resources, prompts, limit, stopping, parked: Parked::default() }
    }
}

#[tonic::async_trait]
impl Lane for LaneService {
    type OpenStream = ReceiverStream<Result<LaneReply, Status>>;

    async fn open(&self, request: Request<Streaming<LaneRequest>>) -> Result<Response<Self::OpenStream>, Status> {
        let (replies, receiver) = mpsc::channel(REPLIES);
        let serving = Serving { service: self.clone(), replies, calls: Arc::default(), idle: Arc::default() };
        // Ends with the caller's half of the stream.
        tokio::spawn(serving.run(request.into_inner()));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    type RestStream = CallEvents;

    async fn rest(&self, request: Request<RestRequest>) -> Result<Response<CallEvents>, Status> {
        let rest = self.parked.fetch(&request.into_inner().token);
        rest.map(Response::new).ok_or_else(|| Status::not_found("nothing waits under that token"))
    }
}

/// The calls that run on one lane.
type Calls = Arc<Mutex<HashMap<u64, Arc<Control>>>>;

/// What a call hears of its caller.
struct Control {
    credit: Semaphore,
    cancelled: Notify,
}

struct Serving {
    service: LaneService,
    replies: mpsc::Sender<Result<LaneReply, Status>>,
    calls: Calls,
    /// Told when the last call ends.
    idle: Arc<Notify>,
}

impl Serving {
    async fn run(self, mut requests: Streaming<LaneRequest>) {
        let mut stopping = self.service.stopping.clone();
        let mut is_draining = false;
        loop {
            tokio::select! {
                request = requests.message() => match request {
                    Ok(Some(LaneRequest { call, frame: Some(frame) })) => self.take(call, frame, is_draining).await,
                    Ok(Some(LaneRequest { frame: None, .. })) => {}
                    Ok(None) => {
                        self.finish().await;
                        break;
                    }
                    Err(_) => break,
                },
                () = &mut stopping, if !is_draining => {
                    is_draining = true;
                    say(&self.replies, 0, Frame::Draining(lane_reply::Draining {})).await;
                }
            }
        }
        lock(&self.calls).drain().for_each(|(_, control)| control.cancelled.notify_one());
    }

    /// The caller wants nothing more, and may be there for what still runs.
    async fn finish(&self) {
        while !lock(&self.calls).is_empty() {
            tokio::select! {
                () = self.idle.notified() => {}
                () = self.replies.closed() => return,
            }
        }
    }

    async fn take(&self, call: u64, frame: lane_request::Frame, is_draining: bool) {
        match frame {
            lane_request::Frame::Cancel(_) => {
                if let Some(control) = lock(&self.calls).remove(&call) {
                    control.cancelled.notify_one();
                }
            }
            lane_request::Frame::Credit(credit) => {
                if let Some(control) = lock(&self.calls).get(&call) {
                    // A call never has more than it began with, whatever its caller says.
                    let room = (CREDIT as usize).saturating_sub(control.credit.available_permits());
                    control.credit.add_permits(room.min(credit as usize));
                }
            }
            _ if is_draining => {
                say(&self.replies, call, Frame::Refused(lane_reply::Refused {})).await;
            }
            begins => self.begin(call, begins),
        }
    }

    fn begin(&self, call: u64, frame: lane_request::Frame) {
        let control = Arc::new(Control { credit: Semaphore::new(CREDIT as usize), cancelled: Notify::new() });
        lock(&self.calls).insert(call, control.clone());
        let running = Running { call, control, service: self.service.clone(), replies: self.replies.clone() };
        let (calls, idle) = (self.calls.clone(), self.idle.clone());
        // Ends with the call, or when it is cancelled.
        tokio::spawn(async move {
            let control = running.control.clone();
            tokio::select! {
                biased;
                () = control.cancelled.notified() => {}
                () = running.run(frame) => {}
            }
            let mut calls = lock(&calls);
            calls.remove(&call);
            if calls.is_empty() {
                idle.notify_one();
            }
        });
    }
}

struct Running {
    call: u64,
    control: Arc<Control>,
    service: LaneService,
    replies: mpsc::Sender<Result<LaneReply, Status>>,
}

impl Running {
    async fn run(&self, frame: lane_request::Frame) {
        let answered = AssertUnwindSafe(self.answer(frame)).catch_unwind().await;
        // A service that panicked says nothing, as a broken gRPC call does.
        let answered = answered.unwrap_or_else(|_| Err(Status::unknown("")));
        if let Err(status) = answered {
            self.say(Frame::Failed(to_wire(&status))).await;
        }
    }

    async fn answer(&self, frame: lane_request::Frame) -> Result<(), Status> {
        let LaneService { tools, resources, prompts, .. } = &self.service;
        match frame {
            lane_request::Frame::Tool(request) => {
                self.tell(of(tools)?.call(Request::new(request)).await?.into_inner()).await
            }
            lane_request::Frame::Resource(request) => {
                self.tell(of(resources)?.read(Request::new(request)).await?.into_inner()).await
            }
            lane_request::Frame::Prompt(request) => {
                self.tell(of(prompts)?.get(Request::new(request)).await?.into_inner()).await
            }
            lane_request::Frame::CompletePrompt(request) => {
                self.completed(of(prompts)?.complete(Request::new(request)).await?.into_inner()).await
            }
            lane_request::Frame::CompleteTemplate(request) => {
                self.completed(of(resources)?.complete(Request::new(request)).await?.into_inner()).await
            }
            lane_request::Frame::Cancel(_) | lane_request::Frame::Credit(_) => Ok(()),
        }
    }

    async fn completed(&self, reply: CompleteReply) -> Result<(), Status> {
        limits::check(&reply, LARGEST, "the answer")?;
        self.say(Frame::Completed(reply)).await;
        Ok(())
    }

    async fn tell(&self, mut events: CallEvents) -> Result<(), Status> {
        while let Some(event) = events.next().await {
            let event = limits::answer(event, self.service.limit)?;
            // The way of the rest is closed once the listener stops.
            let may_park = self.service.stopping.peek().is_none();
            if may_park && cost(&event).is_none() {
                let limit = self.service.limit;
                let rest = events.map(move |event| limits::answer(event, limit));
                self.park(stream::iter([Ok(event)]).chain(rest).boxed()).await;
                return Ok(());
            }
            let credit = self.control.credit.acquire_many(cost_of_any(&event)).await;
            credit.expect("nobody closes it").forget();
            let is_last = event.is_last();
            self.say(Frame::Event(event)).await;
            if is_last {
                return Ok(());
            }
        }
        self.say(Frame::Ended(lane_reply::Ended {})).await;
        Ok(())
    }

    /// Leaves the rest for its caller to fetch.
    async fn park(&self, rest: CallEvents) {
        let place = self.service.parked.park(rest);
        self.say(Frame::Rest(RestRequest { token: place.token.clone() })).await;
        // Until the caller cancels, which it does not when it has the rest.
        sleep(PATIENCE).await;
    }

    async fn say(&self, frame: Frame) {
        say(&self.replies, self.call, frame).await;
    }
}

/// Says something, if anybody still listens.
async fn say(replies: &mpsc::Sender<Result<LaneReply, Status>>, call: u64, frame: Frame) {
    _ = replies.send(Ok(LaneReply { call, frame: Some(frame) })).await;
}

fn of<T: ?Sized>(service: &Option<Arc<T>>) -> Result<&Arc<T>, Status> {
    service.as_ref().ok_or_else(|| Status::unimplemented("this node does not have the service"))
}

fn lock(calls: &Calls) -> MutexGuard<'_, HashMap<u64, Arc<Control>>> {
    calls.lock().expect("nothing panics while holding it")
}

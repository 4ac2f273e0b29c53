//! Ways to services that no entry names: the log of facts and other gateways.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::{StreamExt, stream};
use support::{Gateway, Node, until, within};
use switchyard_bus::{BusOptions, Facts, Local};
use switchyard_proto::v1::{
    Cancel, DeliverReply, Fact, Failure, Letter, Position, PublishReply, PublishRequest, RunOnReply, RunOnRequest,
    StopReply, StopRequest, SubscribeReply, SubscribeRequest, events_server::Events, failure::Reason, gateway_server,
    letter, subscribe_reply::Reply, tasks_server::Tasks,
};
use switchyard_state::{NodeId, memory};
use tonic::{Request, Response, Status};

/// An events service that counts facts and subscribers.
#[derive(Default)]
struct Log {
    facts: AtomicU64,
    subscribers: AtomicU64,
}

#[tonic::async_trait]
impl Events for Log {
    async fn publish(&self, request: Request<PublishRequest>) -> Result<Response<PublishReply>, Status> {
        let count = request.into_inner().facts.len() as u64;
        let offset = self.facts.fetch_add(count, Ordering::SeqCst) + count;
        Ok(Response::new(PublishReply { offset }))
    }

    type SubscribeStream = Facts;

    async fn subscribe(&self, _: Request<SubscribeRequest>) -> Result<Response<Facts>, Status> {
        self.subscribers.fetch_add(1, Ordering::SeqCst);
        let first = SubscribeReply { reply: Some(Reply::Position(Position::default())) };
        Ok(Response::new(stream::iter([Ok(first)]).chain(stream::pending()).boxed()))
    }
}

/// A gateway that knows the session `here`.
struct Letters;

#[tonic::async_trait]
impl gateway_server::Gateway for Letters {
    async fn deliver(&self, request: Request<Letter>) -> Result<Response<DeliverReply>, Status> {
        let Some(letter::Letter::Cancel(cancel)) = request.into_inner().letter else { panic!("no letter") };
        Ok(Response::new(DeliverReply { found: cancel.session == "here" }))
    }
}

/// A node where the task `waiting` waits, and that counts the runs that it was to end.
#[derive(Default)]
struct Runs(AtomicU64);

#[tonic::async_trait]
impl Tasks for Runs {
    async fn run_on(&self, request: Request<RunOnRequest>) -> Result<Response<RunOnReply>, Status> {
        Ok(Response::new(RunOnReply { claimed: request.into_inner().task == "waiting" }))
    }

    async fn stop(&self, _: Request<StopRequest>) -> Result<Response<StopReply>, Status> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Response::new(StopReply { found: true }))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_go_to_the_own_events_service_first_and_else_to_any_node_with_that_role() {
    let stores = memory::stores();
    let (near, far) = (Arc::new(Log::default()), Arc::new(Log::default()));
    let served = Local { events: Some(far.clone()), ..Local::default() };
    let node = Node::serving("events", "127.0.0.1:0", served, BusOptions::default()).await;
    stores.registry.announce(&support::record("events", &node.address, &["events"])).await.unwrap();
    let own = Local { events: Some(near.clone()), ..Local::default() };
    let (with_own, _one) = Gateway::joining(&stores, "one", &["gateway", "events"], own).await;
    let (without, _two) = Gateway::joining(&stores, "two", &["gateway"], Local::default()).await;

    for _ in 0..10 {
        // More than once, so that chance does not explain it.
        with_own.events.publish(vec![Fact::default()]).await.unwrap();
    }
    let mut subscribed = with_own.events.subscribe(SubscribeRequest::default()).await.unwrap();
    within("a position", subscribed.next()).await.unwrap().unwrap();

    assert_eq!(near.facts.load(Ordering::SeqCst), 10);
    assert_eq!(near.subscribers.load(Ordering::SeqCst), 1);
    assert_eq!(far.facts.load(Ordering::SeqCst), 0);
    let offset = without.events.publish(vec![Fact::default(), Fact::default()]).await.unwrap();
    assert_eq!(offset, 2);
    assert_eq!(far.facts.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_ends_when_its_node_stops_or_dies_and_another_one_works() {
    let stores = memory::stores();
    let log = Arc::new(Log::default());
    let served = Local { events: Some(log.clone()), ..Local::default() };
    let mut stopping = Node::serving("stopping", "127.0.0.1:0", served.clone(), BusOptions::default()).await;
    stores.registry.announce(&support::record("stopping", &stopping.address, &["events"])).await.unwrap();
    let (bus, discovery) = Gateway::joining(&stores, "gateway", &["gateway"], Local::default()).await;
    let mut facts = bus.events.subscribe(SubscribeRequest::default()).await.unwrap();
    within("a position", facts.next()).await.unwrap().unwrap();

    stopping.stop();
    assert!(within("the end", facts.next()).await.is_none(), "it ends in order");

    let mut dying = Node::serving("dying", "127.0.0.1:0", served, BusOptions::default()).await;
    stores.registry.announce(&support::record("dying", &dying.address, &["events"])).await.unwrap();
    discovery.refresh().await;
    let mut facts = bus.events.subscribe(SubscribeRequest::default()).await.unwrap();
    within("a position", facts.next()).await.unwrap().unwrap();
    dying.kill();
    assert!(within("the end", facts.next()).await.unwrap().is_err(), "it fails");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_reaches_the_gateway_it_names() {
    let stores = memory::stores();
    let served = Local { gateway: Some(Arc::new(Letters)), ..Local::default() };
    let node = Node::serving("other", "127.0.0.1:0", served, BusOptions::default()).await;
    stores.registry.announce(&support::record("other", &node.address, &["gateway"])).await.unwrap();
    stores.registry.announce(&support::record("tools", "127.0.0.1:1", &["tools"])).await.unwrap();
    let (bus, _discovery) = Gateway::joining(&stores, "own", &["gateway"], Local::default()).await;
    let letter = |session: &str| Letter {
        letter: Some(letter::Letter::Cancel(Cancel { session: session.to_owned(), ..Cancel::default() })),
    };

    let others = bus.gateways.others();
    let found = bus.gateways.deliver(&others[0], letter("here")).await.unwrap().found;
    let missed = bus.gateways.deliver(&others[0], letter("elsewhere")).await.unwrap().found;
    let lost = bus.gateways.deliver(&NodeId("gone".into()), letter("here")).await.unwrap_err();

    assert_eq!(others, [NodeId("other".into())]);
    assert!(found && !missed);
    assert!(matches!(Failure::of(&lost), Some(Reason::NotStarted(_))));
    until("nothing is in flight", || bus.in_flight().iter().all(|(_, calls)| *calls == 0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_run_on_at_a_node_that_offers_its_tool_and_ended_where_it_runs() {
    let stores = memory::stores();
    let (near, far) = (Arc::new(Runs::default()), Arc::new(Runs::default()));
    let served = Local { tasks: Some(far.clone()), ..Local::default() };
    let node = Node::serving("other", "127.0.0.1:0", served, BusOptions::default()).await;
    stores.registry.announce(&support::record("other", &node.address, &["tools"])).await.unwrap();
    let own = Local { tasks: Some(near.clone()), ..Local::default() };
    let (bus, _discovery) = Gateway::joining(&stores, "own", &["gateway", "tools"], own).await;

    for id in ["own", "other"].map(|id| NodeId(id.into())) {
        let offering = std::slice::from_ref(&id);
        assert!(bus.tasks.run_on(offering, "waiting").await.unwrap());
        assert!(!bus.tasks.run_on(offering, "elsewhere").await.unwrap());
        bus.tasks.stop(&id, "waiting").await.unwrap();
    }
    let nowhere = bus.tasks.run_on(&[], "waiting").await.unwrap_err();

    assert_eq!([&near, &far].map(|runs| runs.0.load(Ordering::SeqCst)), [1, 1]);
    assert!(matches!(Failure::of(&nowhere), Some(Reason::NotStarted(_))));
}

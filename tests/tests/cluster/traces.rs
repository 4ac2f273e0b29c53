//! One call is one trace, and one change of a file another, across every process on the way.

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::json;
use switchyard_tests::{Call, Collector, MODERN, Revision, Shape, Span};

use crate::{next_update, traced};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "00f067aa0ba902b7";

fn traceparent(trace: &str) -> String {
    format!("00-{trace}-{CALLER}-01")
}

/// The server span that continues the caller's own.
async fn request_span(collector: &Collector, trace: &str, method: &str) -> Span {
    let fits = |span: &Span| span.trace == trace && span.parent == CALLER && span.kind == SpanKind::Server;
    let span = collector.span("the gateway's span of the request", fits).await;
    assert_eq!(span.attribute("mcp.method.name"), method);
    span
}

#[tokio::test]
async fn a_call_is_one_trace_from_the_gateway_to_the_tool() {
    let (cluster, collector) = traced(Shape::default()).await;
    let modern = cluster.modern(0);
    let call = json!({"name": "checkDiskSpace", "arguments": {"path": "/"}});
    let request = modern.post(&json!(41), "tools/call", call).header("traceparent", &traceparent(TRACE));

    Call::new(json!(41), request.send().await).await.finish().await.result();

    let request = request_span(&collector, TRACE, "tools/call").await;
    let bus = collector.child(&request, "the bus's", |span| span.kind == SpanKind::Client).await;
    let service = collector.child(&bus, "the service's", |span| span.kind == SpanKind::Server).await;
    let tool = collector.child(&service, "the tool's", |span| span.kind == SpanKind::Internal).await;

    assert_eq!(request.name, "tools/call checkDiskSpace");
    assert_eq!(request.attribute("gen_ai.tool.name"), "checkDiskSpace");
    assert_eq!(request.attribute("mcp.protocol.version"), MODERN);
    assert_eq!(request.attribute("jsonrpc.request.id"), "41");
    assert_eq!(bus.attribute("rpc.service"), "switchyard.v1.Tools");
    assert_eq!((service.attribute("rpc.method"), tool.attribute("gen_ai.tool.name")), ("Call", "checkDiskSpace"));
    assert_eq!(request.node(), bus.node());
    assert_eq!(service.node(), tool.node());
    assert_ne!(bus.node(), service.node(), "the call crossed processes");
    assert_eq!(bus.attribute("switchyard.node"), service.node(), "the caller names the node it called");
}

#[tokio::test]
async fn a_call_in_a_session_says_which() {
    let (cluster, collector) = traced(Shape::default()).await;

    for revision in Revision::ALL {
        let client = cluster.legacy(revision).await;
        let id = json!(client.next_id());
        let call = json!({"name": "checkDiskSpace", "arguments": {"path": "/"}});
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call});
        let trace = format!("{:032x}", 0xfeed_0000 + revision as u32);
        let request = client.post(&body).header("traceparent", &traceparent(&trace));

        Call::new(id, request.send().await).await.finish().await.result();

        let request = request_span(&collector, &trace, "tools/call").await;
        assert_eq!(request.attribute("mcp.session.id"), client.session());
        assert_eq!(request.attribute("mcp.protocol.version"), revision.date());
        collector.child(&request, "the bus's", |span| span.kind == SpanKind::Client).await;
    }
}

#[tokio::test]
async fn field_case_88_trace_context_is_continued_from_header_or_meta_and_meta_wins() {
    let (cluster, collector) = traced(Shape::default()).await;
    let modern = cluster.modern(0);

    let in_meta = json!({"_meta": {"traceparent": traceparent(TRACE)}});
    modern.request("tools/list", in_meta.clone()).await.result();
    request_span(&collector, TRACE, "tools/list").await;

    let both = modern.post(&json!(2), "prompts/list", in_meta).header("traceparent", &traceparent(OTHER_TRACE));
    Call::new(json!(2), both.send().await).await.finish().await.result();
    let fits = |span: &Span| {
        span.trace == TRACE && span.attributes.get("mcp.method.name").is_some_and(|name| name == "prompts/list")
    };
    collector.span("of the trace that _meta names", fits).await;
    assert!(!collector.spans().iter().any(|span| span.trace == OTHER_TRACE), "the header lost");
}

#[tokio::test]
async fn a_bad_traceparent_begins_a_trace_of_its_own() {
    let (cluster, collector) = traced(Shape::default()).await;
    let modern = cluster.modern(0);

    for bad in ["nonsense", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", &"0".repeat(5000)] {
        let request = modern.post(&json!(1), "tools/list", json!({})).header("traceparent", bad);
        assert_eq!(request.send().await.status, 200);
    }

    let fits = |span: &Span| span.parent.is_empty() && span.attributes.contains_key("mcp.method.name");
    collector.span("the root of a trace", fits).await;
}

#[tokio::test]
async fn a_change_of_a_file_is_one_trace_from_the_disk_to_the_client() {
    let (cluster, collector) = traced(Shape::default()).await;
    let client = cluster.legacy(Revision::R4).await;
    let uri = client.uri_of("plan.md").await;
    client.request("resources/subscribe", json!({"uri": uri})).await.result();
    let mut standing = client.at(&cluster.gateway(1)).listen().await;

    cluster.folder.write("plan.md", "changed");
    next_update(&mut standing).await;

    let is_sent = |span: &Span| {
        let method = span.attributes.get("mcp.method.name").map(String::as_str);
        method == Some("notifications/resources/updated") && span.attributes.contains_key("mcp.session.id")
    };
    let mut hops = vec![collector.span("the gateway's message to the client", is_sent).await];
    while let Some(last) = hops.last().filter(|span| !span.parent.is_empty()) {
        let parent = collector.span("a hop's parent", |span| span.trace == last.trace && span.id == last.parent).await;
        hops.push(parent);
    }

    assert_eq!(hops[0].attribute("mcp.session.id"), client.session());
    assert_eq!(hops[0].node(), cluster.gateways[1].id().await, "the stream is at the second gateway");
    let [events, resources] = [cluster.others[0].id().await, cluster.others[1].id().await];
    assert!(hops.iter().any(|span| span.node() == events), "the fact went through the log: {hops:#?}");
    assert_eq!(hops[hops.len() - 1].node(), resources, "it began where the disk is watched");
}

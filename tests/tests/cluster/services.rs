//! Services of others come, change and go while clients are connected, and work for clients of any gateway.

use serde_json::{Value, json};
use switchyard_proto::v1::{Resource, ResourceContents, ResourceResult, resource_contents::Body};
use switchyard_tests::{
    Cluster, EventStream, HttpClient, LegacyClient, Listener, ModernClient, Offered, Revision, ServiceNode, Shape,
    Talker,
};

/// A cluster of two gateways, and a service that every gateway knows.
async fn with_service(offered: &[Offered]) -> (Cluster, ServiceNode) {
    let cluster = Cluster::start(Shape::default()).await;
    let service = ServiceNode::start(&cluster.redis, offered).await;
    for gateway in 0..cluster.gateways.len() {
        service.known_to(&cluster.modern(gateway)).await;
    }
    (cluster, service)
}

/// Whoever may hear of changed lists, at both gateways and in both eras.
struct Audience {
    standing: Vec<EventStream>,
    listeners: Vec<Listener>,
    _sessions: Vec<LegacyClient>,
}

impl Audience {
    async fn of(cluster: &Cluster) -> Self {
        let mut audience = Self { standing: Vec::new(), listeners: Vec::new(), _sessions: Vec::new() };
        let everything = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
        for gateway in 0..cluster.gateways.len() {
            let session = cluster.legacy(Revision::ALL[gateway + 2]).await.at(&cluster.gateway(gateway));
            audience.standing.push(session.listen().await);
            audience._sessions.push(session);
            audience.listeners.push(cluster.modern(gateway).listen(everything.clone()).await);
        }
        audience
    }

    /// The next notification of everybody is this one.
    async fn hears(&mut self, method: &str) {
        for stream in &mut self.standing {
            assert_eq!(stream.message().await["method"], method);
        }
        for listener in &mut self.listeners {
            assert_eq!(listener.next().await["method"], method);
        }
    }
}

/// The names of a list at a gateway.
async fn names(client: &ModernClient, method: &str, list: &str) -> Vec<String> {
    let reply = client.request(method, json!({})).await;
    let entries = reply.result()[list].as_array().unwrap().iter();
    entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

async fn tools(cluster: &Cluster, gateway: usize) -> Vec<String> {
    names(&cluster.modern(gateway), "tools/list", "tools").await
}

/// Calls a tool of the service at a gateway, and lets it say something.
async fn works(cluster: &Cluster, service: &ServiceNode, gateway: usize, tool: &str) {
    let client = cluster.modern(gateway);
    let (result, ()) = tokio::join!(client.call(tool, json!({})), async {
        let run = service.next_run().await;
        assert_eq!(run.name, tool);
        run.say("at your service").await;
    });
    assert_eq!(result["content"][0]["text"], "at your service", "{result}");
}

/// A call of an unknown tool, prompt or resource at every gateway and in every revision.
async fn is_unknown(cluster: &Cluster, method: &str, params: Value, code: i64) {
    for gateway in 0..cluster.gateways.len() {
        let stateless = cluster.modern(gateway).request(method, params.clone()).await;
        assert_eq!(stateless.refusal(), (200, -32602), "{method}: {}", stateless.message);
        for revision in Revision::ALL {
            let session = cluster.legacy(revision).await.at(&cluster.gateway(gateway));
            let refused = session.request(method, params.clone()).await;
            assert_eq!(refused.refusal(), (200, code), "{method}: {}", refused.message);
        }
    }
}

#[tokio::test]
async fn field_case_20_a_tool_that_a_service_adds_is_told_of_and_then_listed_and_callable() {
    let (cluster, service) = with_service(&[Offered::tool("held")]).await;
    let mut audience = Audience::of(&cluster).await;

    service.offer(&[Offered::tool("held"), Offered::tool("added")]);

    audience.hears("notifications/tools/list_changed").await;
    for gateway in 0..2 {
        assert!(tools(&cluster, gateway).await.contains(&"added".to_owned()), "whoever is told finds it");
        works(&cluster, &service, gateway, "added").await;
        works(&cluster, &service, gateway, "held").await;
    }
}

#[tokio::test]
async fn field_case_23_what_a_service_offered_is_gone_everywhere_once_it_has_left() {
    let prompt = Offered::prompt_like(&json!({"name": "held"}));
    let (cluster, service) = with_service(&[Offered::tool("held"), prompt, Offered::provider("held", "held://")]).await;
    let mut listener = cluster.modern(0).listen(json!({"toolsListChanged": true})).await;
    let mut standing = cluster.legacy(Revision::R3).await.listen().await;

    service.leave().await;

    assert_eq!(listener.next().await["method"], "notifications/tools/list_changed");
    while standing.message().await["method"] != "notifications/tools/list_changed" {}
    for gateway in 0..2 {
        assert!(!tools(&cluster, gateway).await.contains(&"held".to_owned()), "whoever is told finds it gone");
        let prompts = names(&cluster.modern(gateway), "prompts/list", "prompts").await;
        assert!(!prompts.contains(&"held".to_owned()), "{prompts:?}");
    }
    is_unknown(&cluster, "tools/call", json!({"name": "held"}), -32602).await;
    is_unknown(&cluster, "prompts/get", json!({"name": "held"}), -32602).await;
    is_unknown(&cluster, "resources/read", json!({"uri": "held://one"}), -32002).await;
}

#[tokio::test]
async fn field_case_23_what_a_service_offered_is_gone_everywhere_once_it_has_died() {
    let (cluster, service) = with_service(&[Offered::tool("held")]).await;
    let mut audience = Audience::of(&cluster).await;

    drop(service);

    audience.hears("notifications/tools/list_changed").await;
    is_unknown(&cluster, "tools/call", json!({"name": "held"}), -32602).await;
}

#[tokio::test]
async fn field_case_24_a_tool_that_a_service_renames_is_known_by_its_new_name_alone() {
    let (cluster, service) = with_service(&[Offered::tool("before")]).await;
    let mut audience = Audience::of(&cluster).await;

    service.offer(&[Offered::tool("after")]);

    audience.hears("notifications/tools/list_changed").await;
    for gateway in 0..2 {
        let listed = tools(&cluster, gateway).await;
        assert!(listed.contains(&"after".to_owned()) && !listed.contains(&"before".to_owned()), "{listed:?}");
        works(&cluster, &service, gateway, "after").await;
    }
    is_unknown(&cluster, "tools/call", json!({"name": "before"}), -32602).await;
}

// Field case 25 (a rename that slips past an allow-list) does not apply: there are no allow-lists of tools.

#[tokio::test]
async fn field_case_26_progress_of_a_call_that_another_node_runs_grows_on_its_own_stream() {
    let (cluster, service) = with_service(&[Offered::tool("held")]).await;
    let balancer = cluster.balancer().await;
    let params = json!({"name": "held", "_meta": {"progressToken": "p"}});
    let mut sessions = Vec::new();
    for revision in Revision::ALL {
        sessions.push(LegacyClient::connect(&balancer.mcp(), revision).await);
    }
    let modern = ModernClient::new(&balancer.mcp());

    for round in 0..=sessions.len() {
        let starting = async {
            match sessions.get(round) {
                Some(session) => session.start("tools/call", params.clone()).await,
                None => modern.start("tools/call", params.clone()).await,
            }
        };
        let reporting = async {
            let run = service.next_run().await;
            run.progress(1.0).await;
            run
        };
        let (mut call, run) = tokio::join!(starting, reporting);
        for progress in [1.0, 2.0, 3.0] {
            let heard = call.message().await;
            assert_eq!(heard["method"], "notifications/progress", "{heard}");
            assert_eq!(
                (&heard["params"]["progressToken"], &heard["params"]["progress"]),
                (&json!("p"), &json!(progress))
            );
            if progress < 3.0 {
                run.progress(progress + 1.0).await;
            }
        }
        run.say("done").await;
        let reply = call.finish().await;
        assert_eq!((reply.streamed, reply.before.len()), (true, 0), "{}", reply.message);
        assert_eq!(reply.result()["content"][0]["text"], "done");
    }
}

#[tokio::test]
async fn field_case_32_resources_of_several_services_are_one_list_and_each_is_read_from_its_owner() {
    let (cluster, service) = with_service(&[Offered::provider("held", "held://")]).await;
    let resource = |uri: &str| Resource { uri: uri.into(), name: uri.into(), ..Resource::default() };
    service.list(vec![resource("held://one"), resource("held://two")]);
    let client = cluster.modern(1);

    let listed = client.request("resources/list", json!({})).await;
    let uris: Vec<_> =
        listed.result()["resources"].as_array().unwrap().iter().map(|entry| entry["uri"].as_str().unwrap()).collect();
    let plan = uris.iter().find(|uri| uri.ends_with("/plan.md")).expect("the files are listed").to_owned();
    assert!(uris.contains(&"held://one") && uris.contains(&"held://two"), "{uris:?}");

    for (uri, text) in [("held://one", "first"), ("held://two", "second")] {
        let (read, ()) = tokio::join!(client.request("resources/read", json!({"uri": uri})), async {
            let run = service.next_run().await;
            let body = Some(Body::Text(text.into()));
            let contents = vec![ResourceContents { uri: run.name.clone(), body, ..ResourceContents::default() }];
            run.read(ResourceResult { contents }).await;
        });
        assert_eq!(
            (&read.result()["contents"][0]["uri"], &read.result()["contents"][0]["text"]),
            (&json!(uri), &json!(text))
        );
    }
    let file = client.request("resources/read", json!({"uri": plan})).await;
    assert!(file.result()["contents"][0]["text"].as_str().unwrap().contains("tracks"), "{}", file.message);
    assert!(service.is_idle().await, "it was asked for somebody else's resource");
}

#[tokio::test]
async fn field_case_38_an_answer_is_taken_at_any_gateway_and_the_call_ends_with_it() {
    let (cluster, service) = with_service(&[Offered::tool("held")]).await;
    let form = json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}});
    for revision in [Revision::R3, Revision::R4] {
        for answered_at in 0..2 {
            let mut client = HttpClient::new(&cluster.gateway(0));
            let params = json!({"protocolVersion": revision.date(), "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "switchyard-tests", "version": "1"}});
            client.ask("initialize", params).await;
            client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
            client.begin(&json!("x"), "tools/call", json!({"name": "held"})).await;
            service.next_run().await.ask(&json!({"k": form}), "kept").await;
            let asked = client.notified("elicitation/create").await;

            client.go_to(&cluster.gateway(answered_at));
            let result = json!({"action": "accept", "content": {"name": "Ada"}});
            // Whatever is not accepted with 202 fails here.
            client.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string()).await;

            let again = service.next_run().await;
            assert_eq!((&again.answers["k"], again.state.as_str()), (&result, "kept"));
            again.say("Hello, Ada").await;
            assert_eq!(client.response(&json!("x")).await["result"]["content"][0]["text"], "Hello, Ada");
        }
    }
}

#[tokio::test]
async fn a_stateless_call_that_asks_goes_on_at_any_gateway() {
    let (cluster, service) = with_service(&[Offered::tool("held")]).await;
    let mut params = json!({"name": "held", "_meta": {switchyard_tests::meta("clientCapabilities"): {"roots": {}}}});
    let (asked, ()) = tokio::join!(async { cluster.modern(0).request("tools/call", params.clone()).await }, async {
        let question = json!({"k": {"method": "roots/list", "params": {}}});
        service.next_run().await.ask(&question, "learnt at the first").await;
    });

    params["requestState"] = asked.result()["requestState"].clone();
    params["inputResponses"] = json!({"k": {"roots": []}});
    let (result, state) =
        tokio::join!(async { cluster.modern(1).request("tools/call", params.clone()).await }, async {
            let run = service.next_run().await;
            let state = run.state.clone();
            run.say("done").await;
            state
        });

    assert_eq!(state, "learnt at the first");
    assert_eq!(result.result()["resultType"], "complete");
}

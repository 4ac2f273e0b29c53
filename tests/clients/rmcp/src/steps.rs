//! The steps. Each is done when the server did as it should.

#![allow(deprecated, reason = "older revisions ask for what the newest gives up")]

use std::{fmt::Debug, fs, time::Duration};

use rmcp::{
    model::{ClientRequest, LoggingLevel, PingRequest, SetLevelRequestParams, SubscriptionFilter},
    service::ServiceError,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    Failure,
    answers::SAID,
    peer::{Peer, hear},
    setting::Setting,
};

/// Every step, in the order in which they are taken.
pub const ALL: [&str; 21] = [
    "connect",
    "list",
    "call",
    "content",
    "error",
    "read",
    "prompt",
    "complete",
    "ping",
    "progress",
    "log",
    "elicit",
    "choose",
    "sample",
    "roots",
    "rounds",
    "subscribe",
    "changed",
    "cancel",
    "resume",
    "task",
];

type Step = Result<(), Failure>;

/// Takes the step of this name.
///
/// # Errors
/// What was not as it should be.
pub async fn take(name: &str, peer: &Peer, setting: &Setting) -> Step {
    match name {
        "connect" => connect(peer, setting),
        "list" => list(peer, setting).await,
        "call" => call(peer, setting).await,
        "content" => content(peer, setting).await,
        "error" => error(peer, setting).await,
        "read" => read(peer, setting).await,
        "prompt" => prompt(peer, setting).await,
        "complete" => complete(peer).await,
        "ping" => ping(peer).await,
        "progress" => progress(peer).await,
        "log" => log(peer, setting).await,
        "elicit" => elicit(peer).await,
        "choose" => choose(peer).await,
        "sample" => {
            let said = peer.say("test_sampling", &json!({ "prompt": "Is it so?" })).await?;
            same(said, format!("LLM response: {SAID}"))
        }
        "roots" => {
            let said = peer.say("test_input_required_result_list_roots", &json!({})).await?;
            same(said, "The client works in 1 directories.".to_owned())
        }
        "rounds" => rounds(peer).await,
        "subscribe" => subscribe(peer, setting).await,
        "changed" => changed(peer, setting).await,
        "cancel" => cancel(peer, setting).await,
        "resume" => resume(setting).await,
        "task" => task(setting).await,
        _ => Err("there is no such step".into()),
    }
}

fn same<T: PartialEq + Debug>(what: T, expected: T) -> Step {
    if what == expected { Ok(()) } else { Err(format!("got {what:?}, not {expected:?}").into()) }
}

fn holds(text: &str, part: &str) -> Step {
    if text.contains(part) { Ok(()) } else { Err(format!("`{part}` is not in `{text}`").into()) }
}

fn all_of(listed: impl Iterator<Item = String>, wanted: &[String]) -> Step {
    let listed: Vec<_> = listed.collect();
    match wanted.iter().find(|name| !listed.contains(name)) {
        None => Ok(()),
        Some(missing) => Err(format!("`{missing}` is not in {listed:?}").into()),
    }
}

fn connect(peer: &Peer, setting: &Setting) -> Step {
    let info = peer.client.peer_info().ok_or("the server did not say what it is")?;
    let info = serde_json::to_value(&*info)?;
    same(&info["protocolVersion"], &json!(setting.revision))?;
    same(&info["serverInfo"]["name"], &json!("switchyard"))
}

async fn list(peer: &Peer, setting: &Setting) -> Step {
    let (client, offer) = (&peer.client, &setting.offer);
    all_of(client.list_all_tools().await?.into_iter().map(|tool| tool.name.into_owned()), &offer.tools)?;
    let resources: Vec<_> = client.list_all_resources().await?.into_iter().map(|resource| resource.uri).collect();
    all_of(resources.iter().cloned(), &offer.resources)?;
    all_of(resources.into_iter(), std::slice::from_ref(&setting.watched_uri))?;
    let templates = client.list_all_resource_templates().await?;
    all_of(templates.into_iter().map(|template| template.uri_template), &offer.templates)?;
    all_of(client.list_all_prompts().await?.into_iter().map(|prompt| prompt.name), &offer.prompts)
}

async fn call(peer: &Peer, setting: &Setting) -> Step {
    let call = &setting.offer.call;
    same(peer.say(&call.name, &call.arguments).await?, call.text.clone())
}

async fn content(peer: &Peer, setting: &Setting) -> Step {
    // What a client of 2024-11-05 cannot take is described to it.
    let audio = if setting.revision == "2024-11-05" { "text" } else { "audio" };
    for (tool, kinds) in [
        ("test_multiple_content_types", json!(["text", "image", "resource"])),
        ("test_image_content", json!(["image"])),
        ("test_audio_content", json!([audio])),
    ] {
        let result = peer.call(tool, &json!({})).await?;
        let blocks = result["content"].as_array().ok_or("there is no content")?;
        same(blocks.iter().map(|block| block["type"].clone()).collect::<Value>(), kinds)?;
    }
    Ok(())
}

async fn error(peer: &Peer, setting: &Setting) -> Step {
    if let Some(tool) = &setting.offer.fails {
        same(&peer.call(tool, &json!({})).await?["isError"], &json!(true))?;
    }
    same(code(peer.call("no_such_tool", &json!({})).await)?, -32602)?;
    same(code(peer.read("file:///no/such/file").await)?, if setting.modern() { -32602 } else { -32002 })
}

fn code<T: Debug>(answer: Result<T, ServiceError>) -> Result<i32, Failure> {
    match answer {
        Err(ServiceError::McpError(error)) => Ok(error.code.0),
        other => Err(format!("it was answered: {other:?}").into()),
    }
}

async fn read(peer: &Peer, setting: &Setting) -> Step {
    for (uri, text) in &setting.offer.texts {
        same(&json!(peer.read(uri).await?), text)?;
    }
    same(peer.read(&setting.watched_uri).await?, fs::read_to_string(&setting.watched)?)
}

async fn prompt(peer: &Peer, setting: &Setting) -> Step {
    let prompt = &setting.offer.prompt;
    holds(&peer.prompt(&prompt.name, &prompt.arguments).await?, &prompt.text)
}

async fn complete(peer: &Peer) -> Step {
    let values = peer.client.complete_prompt_simple("test_prompt_with_arguments", "arg1", "pa").await?;
    same(json!(values), json!(["paris", "park", "party"]))?;
    let values = peer.client.complete_resource_simple("test://template/{id}/data", "id", "12").await?;
    same(json!(values), json!(["12", "123"]))
}

async fn ping(peer: &Peer) -> Step {
    peer.client.send_request(ClientRequest::PingRequest(PingRequest::default())).await?;
    Ok(())
}

async fn progress(peer: &Peer) -> Step {
    peer.call("test_tool_with_progress", &json!({})).await?;
    let told = peer.heard.until("progress", |told| told.len() >= 3).await;
    same(json!(told), json!([0.0, 50.0, 100.0]))
}

async fn log(peer: &Peer, setting: &Setting) -> Step {
    if !setting.modern() {
        peer.client.set_level(SetLevelRequestParams::new(LoggingLevel::Debug)).await?;
    }
    peer.call("test_tool_with_logging", &json!({})).await?;
    let told = peer.heard.until("log", |told| told.len() >= 3).await;
    same(json!(told), json!(["Tool execution started", "Tool processing data", "Tool execution completed"]))
}

async fn elicit(peer: &Peer) -> Step {
    let answered = peer.say("test_elicitation", &json!({ "message": "Who are you?" })).await?;
    same(answered, r#"User response: action=accept, content={"username":"Ada","email":"Ada"}"#.to_owned())?;
    holds(&peer.say("test_elicitation", &json!({ "message": "decline" })).await?, "action=decline")
}

async fn choose(peer: &Peer) -> Step {
    let kept = peer.say("test_elicitation_sep1034_defaults", &json!({})).await?;
    for part in [r#""name":"John Doe""#, r#""age":30"#, r#""score":95.5"#, r#""status":"active""#] {
        holds(&kept, part)?;
    }
    let chosen = peer.say("test_elicitation_sep1330_enums", &json!({})).await?;
    for part in [r#""titledSingle":"value3""#, r#""legacyEnum":"opt3""#, r#""titledMulti":["value3"]"#] {
        holds(&chosen, part)?;
    }
    Ok(())
}

async fn rounds(peer: &Peer) -> Step {
    let said = peer.say("test_input_required_result_multi_round", &json!({})).await?;
    same(said, r#""Ada" likes "Ada"."#.to_owned())?;
    let said = peer.say("test_input_required_result_multiple_inputs", &json!({})).await?;
    same(said, "There are three answers.".to_owned())?;
    holds(&peer.say("test_input_required_result_request_state", &json!({})).await?, "state-ok")?;
    holds(&peer.prompt("test_input_required_result_prompt", &json!({})).await?, "It is about")
}

async fn subscribe(peer: &Peer, setting: &Setting) -> Step {
    let uri = &setting.watched_uri;
    let mut listening = None;
    if setting.modern() {
        listening = Some(peer.listen(SubscriptionFilter::builder().resource_subscriptions([uri]).build()).await?);
    } else {
        peer.subscribe(uri).await?;
    }
    let fresh = format!("Written by process {}, after it subscribed.\n", std::process::id());
    let name = setting.watched.file_name().and_then(|name| name.to_str()).ok_or("the file has no name")?;
    let draft = setting.watched.with_file_name(format!(".{name}"));
    fs::write(&draft, &fresh)?;
    fs::rename(&draft, &setting.watched)?;
    // News may still be of how it was made, before.
    loop {
        let seen = peer.heard.of("updated").len();
        if seen > 0 && peer.read(uri).await? == fresh {
            break;
        }
        match &mut listening {
            Some(listening) => hear(listening, &peer.heard).await?,
            None => drop(peer.heard.until("updated", |told| told.len() > seen).await),
        }
    }
    same(peer.heard.of("updated").contains(&json!(uri)), true)?;
    match &mut listening {
        Some(listening) => listening.cancel().await?,
        None => peer.unsubscribe(uri).await?,
    }
    Ok(())
}

async fn changed(peer: &Peer, setting: &Setting) -> Step {
    if !setting.modern() {
        peer.call("test_trigger_tool_change", &json!({})).await?;
        peer.heard.until("tools changed", |told| !told.is_empty()).await;
        return Ok(());
    }
    let mut listening = peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await?;
    peer.call("test_trigger_tool_change", &json!({})).await?;
    hear(&mut listening, &peer.heard).await?;
    same(peer.heard.of("tools changed").len(), 1)?;
    listening.cancel().await?;
    Ok(())
}

async fn cancel(peer: &Peer, setting: &Setting) -> Step {
    peer.cancel("test_until_cancelled").await?;
    // They are asked again and again, for nobody tells of it.
    while calls_in_flight(setting).await? > 0 {
        sleep(Duration::from_millis(50)).await;
    }
    call(peer, setting).await
}

/// How many calls run at services, for all the entrances, beside the one by which each follows changes.
async fn calls_in_flight(setting: &Setting) -> Result<i64, Failure> {
    let mut calls = 0;
    for url in &setting.metrics {
        let text = reqwest::get(url).await?.text().await?;
        let counts = text.lines().filter(|line| line.starts_with("switchyard_bus_calls_in_flight{"));
        for count in counts.filter_map(|line| line.rsplit(' ').next()) {
            calls += count.parse::<i64>()?;
        }
        calls -= 1;
    }
    Ok(calls)
}

async fn resume(setting: &Setting) -> Step {
    let cut_off = Peer::connect(setting, &setting.cut, false).await?;
    same(cut_off.say("test_reconnection", &json!({})).await?, "Came through, on whichever stream.".to_owned())?;
    cut_off.close().await
}

async fn task(setting: &Setting) -> Step {
    let patient = Peer::connect(setting, &setting.target, true).await?;
    let mut task = patient.begin("slow_compute", &json!({ "seconds": 0.2, "label": "clients" })).await?;
    let id = task["taskId"].clone();
    while task["status"] == "working" {
        sleep(Duration::from_millis(50)).await;
        task = patient.task(&id).await?;
    }
    same(&task["status"], &json!("completed"))?;
    patient.close().await
}

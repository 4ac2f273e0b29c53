//! The service over real folders.
#![allow(clippy::unwrap_used)]

use std::{
    collections::HashMap,
    fs, io,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::TryStreamExt;
use serde_json::{Value, json};
use switchyard_prompts::{PromptError, PromptOptions, PromptService};
use switchyard_proto::v1::{
    CallEvent, Failure, GetPromptRequest, PromptResult, Violation, call_event::Event, failure::Reason,
    prompts_server::Prompts,
};
use tempfile::TempDir;
use tonic::{Code, Request, Status};

/// How long a change may take to be seen; far more than it does.
const PATIENCE: Duration = Duration::from_secs(60);

fn write(folder: &Path, file: &str, name: &str, text: &str) {
    fs::write(folder.join(file), format!("---\nname: {name}\n---\n{text}\n")).unwrap();
}

async fn serve(folder: &TempDir) -> PromptService {
    PromptService::start(&PromptOptions { path: Some(folder.path().into()), ..PromptOptions::default() }).await.unwrap()
}

async fn samples() -> PromptService {
    PromptService::start(&PromptOptions::default()).await.unwrap()
}

async fn events(service: &PromptService, name: &str, arguments: &[(&str, &str)]) -> Result<Vec<CallEvent>, Status> {
    let arguments: HashMap<_, _> = arguments.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let request = GetPromptRequest { name: name.into(), arguments, ..GetPromptRequest::default() };
    service.get(Request::new(request)).await?.into_inner().try_collect().await
}

async fn get(service: &PromptService, name: &str, arguments: &[(&str, &str)]) -> Result<PromptResult, Status> {
    let mut events = events(service, name, arguments).await?;
    let Some(CallEvent { event: Some(Event::Prompt(result)) }) = events.pop() else { panic!("no result") };
    Ok(result)
}

async fn text(service: &PromptService, name: &str) -> String {
    let result = get(service, name, &[]).await.unwrap();
    let messages: Value = serde_json::from_slice(&result.messages_json).unwrap();
    messages[0]["content"]["text"].as_str().unwrap().to_owned()
}

fn names(service: &PromptService) -> Vec<String> {
    service.entries().borrow().iter().map(|entry| entry.name.clone()).collect()
}

/// Waits until the entries are as `wanted` says.
async fn wait_for_names(service: &PromptService, wanted: &[&str]) {
    let mut entries = service.entries();
    let is_wanted = |entries: &Vec<switchyard_state::Entry>| entries.iter().map(|entry| &entry.name).eq(wanted);
    let waited = tokio::time::timeout(PATIENCE, entries.wait_for(is_wanted)).await;
    assert!(waited.is_ok(), "wanted {wanted:?}, there are {:?}", names(service));
}

/// Waits until a prompt says `wanted`.
async fn wait_for_text(service: &PromptService, name: &str, wanted: &str) {
    let mut entries = service.entries();
    let waited = tokio::time::timeout(PATIENCE, async {
        while text(service, name).await != wanted {
            entries.changed().await.unwrap();
        }
    });
    assert!(waited.await.is_ok(), "wanted {wanted:?}, `{name}` says {:?}", text(service, name).await);
}

#[tokio::test]
async fn without_a_folder_the_samples_are_served() {
    let service = samples().await;

    assert_eq!(names(&service), ["code_review", "commit_message", "explain_error"]);
    for entry in service.entries().borrow().iter() {
        let definition: Value = serde_json::from_str(&entry.definition).unwrap();
        assert_eq!(definition["name"], entry.name.as_str());
        assert!(definition["description"].as_str().is_some_and(|description| !description.is_empty()), "{definition}");
    }
}

#[tokio::test]
async fn a_request_is_accepted_and_then_answered() {
    let service = samples().await;

    let events = events(&service, "code_review", &[("code", "fn main() {}"), ("language", "rust")]).await.unwrap();

    assert!(matches!(events[0].event, Some(Event::Accepted(_))));
    let Some(Event::Prompt(result)) = &events[1].event else { panic!("{events:?}") };
    assert_eq!(result.description, "Reviews code for mistakes, risks and readability, most important findings first.");
    let messages: Value = serde_json::from_slice(&result.messages_json).unwrap();
    let text = messages[0]["content"]["text"].as_str().unwrap();
    assert_eq!(messages, json!([{ "role": "user", "content": { "type": "text", "text": text } }]));
    assert!(text.starts_with("Review the following code, which is written in rust."), "{text}");
    assert!(text.ends_with("~~~~rust\nfn main() {}\n~~~~"), "{text}");
    assert_eq!(events.len(), 2);
}

#[tokio::test]
async fn an_optional_argument_may_be_left_out() {
    let service = samples().await;

    let result = get(&service, "code_review", &[("code", "x")]).await.unwrap();

    let text = String::from_utf8(result.messages_json.to_vec()).unwrap();
    assert!(text.contains("Review the following code."), "{text}");
    assert!(text.contains(r"~~~~\nx\n~~~~"), "{text}");
}

#[tokio::test]
async fn every_sample_renders_with_and_without_its_optional_arguments() {
    let service = samples().await;
    for (name, required, optional, messages) in [
        ("code_review", "code", "language", 1),
        ("commit_message", "diff", "reason", 3),
        ("explain_error", "error", "context", 1),
    ] {
        for arguments in [vec![(required, "1")], vec![(required, "1"), (optional, "2")]] {
            let result = get(&service, name, &arguments).await.unwrap();
            let found: Vec<Value> = serde_json::from_slice(&result.messages_json).unwrap();
            assert_eq!(found.len(), messages, "{name}: {found:?}");
        }
    }
}

#[tokio::test]
async fn an_unknown_prompt_is_not_found_by_its_name() {
    let service = samples().await;

    let status = get(&service, "nope\u{7}", &[]).await.unwrap_err();

    assert_eq!((status.code(), status.message()), (Code::NotFound, "no prompt is named `nope`"));
    assert_eq!(Failure::of(&status), Some(Reason::Unknown("nope".into())));
    let status = get(&service, &"x".repeat(1_000_000), &[]).await.unwrap_err();
    assert!(status.message().len() < 200);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a.md"),
        "---\nname: two\narguments: [{name: a, required: true}, {name: b, required: true}, {name: c}]\n---\n{{ a }}\n",
    )
    .unwrap();
    write(folder.path(), "b.md", "none", "x");
    let options =
        PromptOptions { path: Some(folder.path().into()), max_argument_bytes: 100, ..PromptOptions::default() };
    let service = PromptService::start(&options).await.unwrap();
    let long = "x".repeat(100);
    for (prompt, arguments, message, pointers) in [
        ("two", vec![("a", "1")], "the prompt `two` needs the argument `b`", vec!["/b"]),
        ("two", vec![("c", "1")], "the prompt `two` needs the argument `a`, `b`", vec!["/a", "/b"]),
        (
            "two",
            vec![("a", ""), ("b", ""), ("d", "secret")],
            "the prompt `two` has no argument `d`, it takes `a`, `b`, `c`",
            vec!["/d"],
        ),
        ("none", vec![("d", "secret")], "the prompt `none` has no argument `d`, it takes no arguments", vec!["/d"]),
        (
            "two",
            vec![("a", long.as_str())],
            "the arguments of the prompt `two` may have at most 100 bytes in all",
            vec![""],
        ),
    ] {
        let status = get(&service, prompt, &arguments).await.unwrap_err();

        assert_eq!((status.code(), status.message()), (Code::InvalidArgument, message));
        let Some(Reason::Violations(found)) = Failure::of(&status) else { panic!("{status:?}") };
        let found: Vec<_> = found.violations.iter().map(|Violation { pointer, .. }| pointer.as_str()).collect();
        assert_eq!(found, pointers, "{message}");
    }
}

#[tokio::test]
async fn a_prompt_that_cannot_be_rendered_is_an_internal_error_without_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let body = "one\n{{ a.hunter.two }}";
    fs::write(folder.path().join("a.md"), format!("---\nname: p\narguments: [{{name: a}}]\n---\n{body}")).unwrap();
    let service = serve(&folder).await;

    let status = get(&service, "p", &[("a", "hunter2")]).await.unwrap_err();

    assert_eq!(status.code(), Code::Internal);
    assert_eq!(status.message(), "the prompt `p` cannot be rendered: undefined value in line 6");
}

#[tokio::test]
async fn a_folder_that_is_not_there_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [folder.path().join("none"), file] {
        let started =
            PromptService::start(&PromptOptions { path: Some(path.clone()), ..PromptOptions::default() }).await;

        let error = started.err().unwrap();
        assert!(matches!(&error, PromptError::Folder { path: named, .. } if *named == path), "{error:?}");
    }
}

#[tokio::test]
async fn new_changed_renamed_and_removed_files_are_served_as_they_are_now() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.md", "a", "first");
    let service = serve(&folder).await;
    assert_eq!(names(&service), ["a"]);

    write(folder.path(), "b.md", "b", "new");
    wait_for_names(&service, &["a", "b"]).await;

    write(folder.path(), "a.md", "a", "second");
    wait_for_text(&service, "a", "second").await;

    // As editors save: written beside it, then renamed over it.
    write(folder.path(), "a.md.tmp", "a", "third");
    fs::rename(folder.path().join("a.md.tmp"), folder.path().join("a.md")).unwrap();
    wait_for_text(&service, "a", "third").await;

    fs::rename(folder.path().join("b.md"), folder.path().join("b.txt")).unwrap();
    wait_for_names(&service, &["a"]).await;

    fs::remove_file(folder.path().join("a.md")).unwrap();
    wait_for_names(&service, &[]).await;
}

#[tokio::test]
async fn a_file_that_becomes_broken_serves_what_it_said_until_it_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.md", "a", "first");
    let service = serve(&folder).await;

    fs::write(folder.path().join("a.md"), "---\nname: a\n---\n{{ broken").unwrap();
    // The others go on, which also shows that the folder has been looked at.
    write(folder.path(), "b.md", "b", "other");
    wait_for_names(&service, &["a", "b"]).await;
    assert_eq!(text(&service, "a").await, "first");

    write(folder.path(), "a.md", "a", "mended");
    wait_for_text(&service, "a", "mended").await;
}

#[tokio::test]
async fn a_burst_of_changes_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    let service = serve(&folder).await;

    for at in 0..200 {
        write(folder.path(), &format!("{at:03}.md"), &format!("p{at:03}"), "x");
    }
    for at in 0..199 {
        fs::remove_file(folder.path().join(format!("{at:03}.md"))).unwrap();
    }

    wait_for_names(&service, &["p199"]).await;
}

#[tokio::test]
async fn a_folder_that_is_replaced_is_followed_further() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("prompts");
    let (next, old) = (above.path().join("next"), above.path().join("old"));
    for path in [&folder, &next] {
        fs::create_dir(path).unwrap();
    }
    write(&folder, "a.md", "a", "first");
    write(&next, "b.md", "b", "second");
    let service =
        PromptService::start(&PromptOptions { path: Some(folder.clone()), ..PromptOptions::default() }).await.unwrap();

    fs::rename(&folder, &old).unwrap();
    fs::rename(&next, &folder).unwrap();
    wait_for_names(&service, &["b"]).await;

    write(&folder, "c.md", "c", "third");
    wait_for_names(&service, &["b", "c"]).await;
}

#[tokio::test]
async fn a_folder_that_is_away_keeps_its_prompts_and_is_found_again() {
    let above = tempfile::tempdir().unwrap();
    let (folder, away) = (above.path().join("prompts"), above.path().join("away"));
    fs::create_dir(&folder).unwrap();
    write(&folder, "a.md", "a", "first");
    let log = Log::default();
    let _guard = log.collect();
    let service =
        PromptService::start(&PromptOptions { path: Some(folder.clone()), ..PromptOptions::default() }).await.unwrap();

    fs::rename(&folder, &away).unwrap();
    log.wait_for("cannot read the prompt folder, keeping its prompts").await;
    assert_eq!(text(&service, "a").await, "first");

    write(&away, "a.md", "a", "second");
    fs::rename(&away, &folder).unwrap();
    wait_for_text(&service, "a", "second").await;
}

#[tokio::test]
async fn a_broken_file_is_reported_with_file_line_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.md"), "---\nname: a\n---\n\n{{ langage }}").unwrap();
    write(folder.path(), "b.md", "b", "x");
    let log = Log::default();
    let _guard = log.collect();

    let service = serve(&folder).await;

    assert_eq!(names(&service), ["b"]);
    let line = log.line_with("a prompt file is not served as it is").unwrap();
    for part in ["WARN", "file=\"a.md\"", "line=5", "`langage` is no argument of this prompt"] {
        assert!(line.contains(part), "{line}");
    }
}

#[tokio::test]
async fn requests_never_leave_their_arguments_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.md"), "---\nname: p\narguments: [{name: a}]\n---\n{{ a.b.c }}").unwrap();
    let log = Log::default();
    let _guard = log.collect();
    let service = serve(&folder).await;

    for arguments in [vec![("a", "hunter2")], vec![("hunter2", "hunter2")]] {
        get(&service, "p", &arguments).await.unwrap_err();
    }

    assert!(log.line_with("a prompt cannot be rendered").is_some());
    assert_eq!(log.line_with("hunter2"), None);
}

/// What was logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn collect(&self) -> tracing::subscriber::DefaultGuard {
        // A place in the code that a thread without a subscriber comes to first would stay silent for all of them.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || log.clone());
        tracing::subscriber::set_default(subscriber.with_max_level(tracing::Level::TRACE).finish())
    }

    fn line_with(&self, words: &str) -> Option<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().find(|line| line.contains(words)).map(str::to_owned)
    }

    async fn wait_for(&self, words: &str) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while self.line_with(words).is_none() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(waited.await.is_ok(), "nothing was logged with {words:?}");
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

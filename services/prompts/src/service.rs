//! The contract's `Prompts`.

use std::collections::HashMap;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use switchyard_proto::v1::{
    Accepted, CallEvent, CompletePromptRequest, CompleteReply, Failure, GetPromptRequest, PromptResult, Violation,
    call_event::Event, prompts_server::Prompts,
};
use switchyard_state::Entry;
use tokio::{sync::watch, task::spawn_blocking};
use tonic::{Request, Response, Status};
use tracing::warn;

use crate::{
    PromptError, PromptOptions,
    catalog::Catalog,
    folder::{Folder, Scan},
    prompt::Prompt,
    samples, span,
    watch::{Following, Served, follow},
};

/// How much of an unknown name is repeated, in characters.
const MAX_NAME: usize = 80;

/// Renders the prompts of one node.
pub struct PromptService {
    catalog: watch::Receiver<Catalog>,
    entries: watch::Receiver<Vec<Entry>>,
    max_argument_bytes: usize,
    max_output_bytes: usize,
    /// Keeps up with the folder, when there is one.
    _following: Option<Following>,
}

impl PromptService {
    /// The prompts that `options` name: those of a folder, which is followed for as long as this lives, or the samples.
    /// Needs a Tokio runtime.
    ///
    /// # Errors
    /// When the folder cannot be read. Broken files in it are reported in the log and left out.
    pub async fn start(options: &PromptOptions) -> Result<Self, PromptError> {
        let catalog = watch::Sender::new(Catalog::default());
        let entries = watch::Sender::new(Vec::new());
        let (catalog_now, entries_now) = (catalog.subscribe(), entries.subscribe());
        let served = Served { catalog, entries };
        let following = match &options.path {
            None => {
                served.update(Scan { catalog: samples::catalog(), reports: Vec::new() });
                None
            }
            Some(path) => {
                let mut folder = Folder::new(path, options);
                let first = spawn_blocking(move || (folder.scan(), folder)).await;
                let (scan, folder) = first.expect("reading a folder does not panic, and this runtime is alive");
                served.update(scan?);
                Some(follow(folder, served))
            }
        };
        Ok(Self {
            catalog: catalog_now,
            entries: entries_now,
            max_argument_bytes: options.max_argument_bytes,
            max_output_bytes: options.max_output_bytes,
            _following: following,
        })
    }

    /// What this node offers, for its announcement. Changes only when a prompt does.
    pub fn entries(&self) -> watch::Receiver<Vec<Entry>> {
        self.entries.clone()
    }

    fn render(&self, request: &GetPromptRequest) -> Result<PromptResult, Status> {
        let prompt = self.catalog.borrow().find(&request.name).ok_or_else(|| unknown(&request.name))?;
        self.check(&prompt, &request.arguments)?;
        match prompt.render(&request.arguments, self.max_output_bytes) {
            Ok(messages) => {
                Ok(PromptResult { description: prompt.description.clone(), messages_json: messages.into() })
            }
            Err(error) => {
                let name = &prompt.entry.name;
                warn!(prompt = name, line = error.line, reason = error.reason, "a prompt cannot be rendered");
                Err(Status::internal(format!("the prompt `{name}` cannot be rendered: {error}")))
            }
        }
    }

    /// Whether a prompt takes these arguments.
    fn check(&self, prompt: &Prompt, given: &HashMap<String, String>) -> Result<(), Status> {
        let name = &prompt.entry.name;
        let size: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
        if size > self.max_argument_bytes {
            let most = format!("at most {} bytes in all", self.max_argument_bytes);
            let message = format!("the arguments of the prompt `{name}` may have {most}");
            return Err(Failure::invalid(vec![violation("", most)], message));
        }
        let missing =
            prompt.arguments.iter().filter(|argument| argument.required && !given.contains_key(&argument.name));
        let missing: Vec<_> = missing.map(|argument| argument.name.as_str()).collect();
        if !missing.is_empty() {
            let violations = missing.iter().map(|name| violation(name, "a value, which is required".to_owned()));
            let message = format!("the prompt `{name}` needs the argument {}", quoted(&missing));
            return Err(Failure::invalid(violations.collect(), message));
        }
        let known: Vec<_> = prompt.arguments.iter().map(|argument| argument.name.as_str()).collect();
        let Some(other) = given.keys().filter(|name| !known.contains(&name.as_str())).min() else { return Ok(()) };
        let takes = if known.is_empty() { "no arguments".to_owned() } else { quoted(&known) };
        let message = format!("the prompt `{name}` has no argument `{}`, it takes {takes}", short(other));
        Err(Failure::invalid(vec![violation(&short(other), format!("one of {takes}"))], message))
    }
}

#[tonic::async_trait]
impl Prompts for PromptService {
    type GetStream = BoxStream<'static, Result<CallEvent, Status>>;

    async fn get(&self, request: Request<GetPromptRequest>) -> Result<Response<Self::GetStream>, Status> {
        let request = request.into_inner();
        let span = span::of_get(self.catalog.borrow().find(&request.name).as_deref(), request.context.as_ref());
        // Rendered here and now: what it may cost is bounded, and less than handing it to another thread.
        match span.in_scope(|| self.render(&request)) {
            Ok(result) => {
                let events = [Event::Accepted(Accepted {}), Event::Prompt(result)];
                let events = events.map(|event| Ok(CallEvent { event: Some(event) }));
                Ok(Response::new(stream::iter(events).boxed()))
            }
            Err(status) => {
                span::failed(&span, &status);
                Err(status)
            }
        }
    }

    async fn complete(&self, request: Request<CompletePromptRequest>) -> Result<Response<CompleteReply>, Status> {
        self.propose(&request.into_inner()).map(Response::new)
    }
}

impl PromptService {
    /// Nothing says yet which values an argument may have, so there are no proposals; but names that do not exist
    /// are told.
    fn propose(&self, request: &CompletePromptRequest) -> Result<CompleteReply, Status> {
        let prompt = self.catalog.borrow().find(&request.prompt).ok_or_else(|| unknown(&request.prompt))?;
        let name = request.argument.as_ref().map_or("", |argument| argument.name.as_str());
        if prompt.arguments.iter().all(|argument| argument.name != name) {
            let message = format!("the prompt `{}` has no argument `{}`", prompt.entry.name, short(name));
            return Err(Failure::invalid(
                vec![violation(&short(name), "an argument of the prompt".to_owned())],
                message,
            ));
        }
        Ok(CompleteReply { values: Vec::new(), total: Some(0), has_more: false })
    }
}

fn unknown(name: &str) -> Status {
    Failure::unknown(&short(name), format!("no prompt is named `{}`", short(name)))
}

fn violation(argument: &str, expected: String) -> Violation {
    let pointer = if argument.is_empty() { String::new() } else { format!("/{argument}") };
    Violation { pointer, expected }
}

/// What is repeated of a name that could be anything.
fn short(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(MAX_NAME).collect()
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

//! From a request to the service that answers it: one match over the methods that both eras share.

use std::{borrow::Cow, collections::HashMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchyard_bus::Bus;
use switchyard_mcp::{
    CacheScope, Completed, Completion, Method, Params, Refusal, Revision, RpcError, cursor, definitions, meta::Meta,
    notifications::Filter, questions, results,
};
use switchyard_proto::v1::{
    CallToolRequest, CompleteArgument, CompletePromptRequest, CompleteTemplateRequest, Context,
    DescribeResourceRequest, GetPromptRequest, ListResourcesRequest, Principal, ReadResourceRequest, Resource,
};
use switchyard_state::NodeId;
use switchyard_telemetry::trace::TraceContext;
use tokio::time::timeout;
use tonic::{Code, Status};

use crate::{
    Gateway,
    asking::Asking,
    calls::{Begin, Call, Limits, Listener, Round, Step},
    catalog::{Catalog, Item, Section},
    failure::{Target, refuse},
    seal::Purpose,
    tasks,
};

/// How long a service may take for what is no call: a page of a list, a description.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(30);

/// A request that is known to be well-formed, and who sent it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The client's revision.
    pub revision: Revision,
    /// What it wants.
    pub method: Method,
    /// With which parameters.
    pub params: Params<'a>,
    /// And which `_meta`.
    pub meta: Meta<'a>,
    /// The JSON text of what the client can do.
    pub capabilities: &'a str,
    /// Who asks; empty for anonymous.
    pub principal: &'a str,
    /// The session, where there is one.
    pub session: Option<&'a str>,
    /// The least severe log level that the client wants to hear of calls.
    pub log_level: Option<&'a str>,
    /// The headers that repeat arguments, by lower-case name, on transports that have headers.
    pub headers: Option<&'a HeaderLookup<'a>>,
    /// The request's own span, to which what happens below belongs.
    pub trace: &'a TraceContext,
}

/// Finds a header's value by its lower-case name.
pub type HeaderLookup<'a> = dyn Fn(&str) -> Option<Cow<'a, [u8]>> + 'a;

/// How a request is answered.
pub enum Reply {
    /// At once: the JSON text of the result.
    Result(String),
    /// By a call that runs.
    Call(Box<Call>),
    /// By a stream of notifications.
    Listen(Filter),
}

/// One thread's way to the services.
#[derive(Clone)]
pub struct Dispatch {
    /// What all threads share.
    pub gateway: Arc<Gateway>,
    /// The bus, with connections of this thread.
    pub bus: Bus,
}

impl Dispatch {
    /// Answers a request. Lists come from memory, everything else from a service.
    ///
    /// # Errors
    /// What the client is told instead, with the status that it has in its revision.
    pub async fn ask(&self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let revision = asked.revision;
        let checked = |error| refuse(error, revision);
        asked.meta.log_level().and(asked.meta.progress_token()).map_err(checked)?;
        match asked.method {
            Method::Ping => Ok(Reply::Result(results::empty(revision))),
            Method::Discover => {
                let instructions = &self.gateway.options.instructions;
                Ok(Reply::Result(results::discover(revision, instructions, CacheScope::Public)))
            }
            Method::ToolsList => self.page(asked, |catalog| &catalog.tools).map_err(checked),
            Method::PromptsList => self.page(asked, |catalog| &catalog.prompts).map_err(checked),
            Method::ResourceTemplatesList => self.page(asked, |catalog| &catalog.templates).map_err(checked),
            Method::ResourcesList => self.list_resources(asked).await,
            Method::ToolsCall => self.call_tool(asked).await,
            Method::PromptsGet => self.get_prompt(asked).await,
            Method::ResourcesRead => self.read_resource(asked).await,
            Method::SubscriptionsListen => self.listen(asked).await,
            Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => self.task(asked).await,
            Method::Complete => self.complete(asked).await,
            // Sessions have these to themselves.
            Method::Initialize
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe
            | Method::LoggingSetLevel => Err(checked(RpcError::method_not_found(asked.method.name()))),
        }
    }

    fn page(&self, asked: &Asked<'_>, section: fn(&Catalog) -> &Section) -> Result<Reply, RpcError> {
        let catalog = self.gateway.catalog.load();
        let after = match asked.params.cursor()? {
            Some(cursor) => Some(cursor::decode(asked.method, &cursor)?.after),
            None => None,
        };
        let limit = self.gateway.options.page_size as usize;
        let (items, more) = section(&catalog).page(after.as_deref(), limit).ok_or_else(|| {
            RpcError::invalid_params("`params.cursor` leads nowhere any more; begin at the first page")
        })?;
        let next = items.last().filter(|_| more).map(|item| {
            cursor::encode(asked.method, &cursor::Place { part: String::new(), after: item.entry.name.clone() })
        });
        let shown = items.iter().map(|item| item.shown(asked.revision));
        Ok(Reply::Result(results::list(asked.method, shown, next.as_deref(), CacheScope::Public, asked.revision)))
    }

    /// A page of resources: providers one after another, each in the order of its URIs.
    async fn list_resources(&self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let revision = asked.revision;
        let checked = |error| refuse(error, revision);
        let start = match asked.params.cursor().map_err(checked)? {
            Some(cursor) => Some(cursor::decode(asked.method, &cursor).map_err(checked)?),
            None => None,
        };
        let catalog = self.gateway.catalog.load_full();
        let before = match &start {
            Some(place) => catalog.providers.before(&place.part).ok_or_else(|| {
                checked(RpcError::invalid_params("`params.cursor` leads to a provider that is gone; begin anew"))
            })?,
            None => 0,
        };

        let limit = self.gateway.options.page_size;
        let mut after = start.map(|place| place.after).unwrap_or_default();
        let mut shown: Vec<Resource> = Vec::new();
        let mut next = None;
        let mut providers = catalog.providers.from(before).iter().peekable();
        while let Some(provider) = providers.next() {
            let room = limit - shown.len() as u32;
            let request = ListResourcesRequest {
                context: Some(self.context(asked, "", Duration::ZERO)),
                provider: provider.entry.name.clone(),
                after: std::mem::take(&mut after),
                limit: room,
            };
            let reply = within(LOOKUP_TIMEOUT, self.bus.resources.list(&provider.nodes, request)).await;
            let reply = reply.map_err(|status| self.target(asked, &provider.entry.name).failed(&status, false))?;
            shown.extend(reply.resources);
            let place = |after: &str| cursor::Place { part: provider.entry.name.clone(), after: after.to_owned() };
            if reply.more {
                next = shown.last().map(|last| place(&last.uri));
                break;
            }
            if shown.len() >= limit as usize {
                let follows = providers.peek();
                next = follows.map(|next| cursor::Place { part: next.entry.name.clone(), after: String::new() });
                break;
            }
        }

        let next = next.map(|place| cursor::encode(asked.method, &place));
        let texts: Vec<_> = shown.iter().map(|resource| definitions::resource(resource, revision)).collect();
        let items = texts.iter().map(String::as_str);
        Ok(Reply::Result(results::list(asked.method, items, next.as_deref(), CacheScope::Public, revision)))
    }

    async fn call_tool(&self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let checked = |error| refuse(error, asked.revision);
        let name = asked.params.name_for(asked.method).map_err(checked)?;
        let arguments = asked.params.arguments().map_err(checked)?;
        let found = self.find(&name, |catalog| &catalog.tools).await;
        let item = found.as_ref().and_then(|catalog| catalog.tools.get(&name));
        let item = item.ok_or_else(|| checked(self.target(asked, &name).unknown()))?;
        self.check_headers(asked, item, arguments)?;
        self.check_needs(asked, item)?;
        let (limits, repeatable) = (self.limits(item.entry.timeout_ms), item.entry.repeatable);
        let task = tasks::terms(asked, &item.entry, limits.idle).map_err(checked)?;

        let request = CallToolRequest {
            context: Some(self.context(asked, &name, limits.total)),
            name: name.clone().into_owned(),
            arguments_json: arguments.to_owned().into(),
            task,
            ..CallToolRequest::default()
        };
        let dispatch = self.clone();
        let begin: Begin = Box::new(move |round| {
            let (dispatch, mut request) = (dispatch.clone(), request.clone());
            Box::pin(async move {
                (request.input_responses_json, request.state) = (round.responses, round.state);
                let nodes = dispatch.nodes_now(&request.name, |catalog| &catalog.tools);
                dispatch.bus.tools.call(&nodes, request).await
            })
        });
        self.begin(asked, &name, arguments, limits, repeatable, begin).await
    }

    async fn get_prompt(&self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let checked = |error| refuse(error, asked.revision);
        let name = asked.params.name_for(asked.method).map_err(checked)?;
        let text = asked.params.arguments().map_err(checked)?;
        let arguments: HashMap<String, String> = serde_json::from_str(text)
            .map_err(|_| checked(RpcError::invalid_params("`params.arguments` must be an object of strings")))?;
        let found = self.find(&name, |catalog| &catalog.prompts).await;
        let item = found.as_ref().and_then(|catalog| catalog.prompts.get(&name));
        let item = item.ok_or_else(|| checked(self.target(asked, &name).unknown()))?;
        self.check_needs(asked, item)?;
        let limits = self.limits(item.entry.timeout_ms);

        let request = GetPromptRequest {
            context: Some(self.context(asked, &name, limits.total)),
            name: name.clone().into_owned(),
            arguments,
            ..GetPromptRequest::default()
        };
        let dispatch = self.clone();
        let begin: Begin = Box::new(move |round| {
            let (dispatch, mut request) = (dispatch.clone(), request.clone());
            Box::pin(async move {
                (request.input_responses_json, request.state) = (round.responses, round.state);
                let nodes = dispatch.nodes_now(&request.name, |catalog| &catalog.prompts);
                dispatch.bus.prompts.get(&nodes, request).await
            })
        });
        self.begin(asked, &name, text, limits, true, begin).await
    }

    async fn read_resource(&self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let checked = |error| refuse(error, asked.revision);
        let uri = asked.params.name_for(asked.method).map_err(checked)?;
        self.nodes_of(&uri).ok_or_else(|| checked(self.target(asked, &uri).unknown()))?;
        let limits = self.limits(0);

        let request = ReadResourceRequest {
            context: Some(self.context(asked, &uri, limits.total)),
            uri: uri.clone().into_owned(),
            ..ReadResourceRequest::default()
        };
        let dispatch = self.clone();
        let begin: Begin = Box::new(move |round| {
            let (dispatch, mut request) = (dispatch.clone(), request.clone());
            Box::pin(async move {
                (request.input_responses_json, request.state) = (round.responses, round.state);
                let nodes = dispatch.nodes_of(&request.uri).unwrap_or_default();
                dispatch.bus.resources.read(&nodes, request).await
            })
        });
        self.begin(asked, &uri, "{}", limits, true, begin).await
    }

    /// Proposals for the argument that a client is writing.
    async fn complete(&self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let checked = |error| refuse(error, asked.revision);
        let Completion { about, name, value, context } = asked.params.completion().map_err(checked)?;
        let argument = Some(CompleteArgument { name: name.into_owned(), value: value.into_owned(), context });
        let bus_context = Some(self.context(asked, "", LOOKUP_TIMEOUT));
        let (name, proposed) = match about {
            Completed::Prompt(prompt) => {
                let nodes = self.nodes_now(&prompt, |catalog| &catalog.prompts);
                let request = CompletePromptRequest { context: bus_context, prompt: prompt.to_string(), argument };
                let proposed = within(LOOKUP_TIMEOUT, self.bus.prompts.complete(&nodes, request));
                (prompt, if nodes.is_empty() { None } else { Some(proposed.await) })
            }
            Completed::Template(template) => {
                let nodes = self.nodes_now(&template, |catalog| &catalog.templates);
                let uri_template = template.to_string();
                let request = CompleteTemplateRequest { context: bus_context, uri_template, argument };
                let proposed = within(LOOKUP_TIMEOUT, self.bus.resources.complete(&nodes, request));
                (template, if nodes.is_empty() { None } else { Some(proposed.await) })
            }
        };
        let unknown =
            || RpcError::invalid_params(format!("there is nothing called `{name}` to complete an argument of"));
        match proposed {
            Some(Ok(proposed)) => Ok(Reply::Result(results::completion(&proposed, asked.revision))),
            Some(Err(status)) if status.code() != Code::NotFound => {
                Err(self.target(asked, &name).failed(&status, false))
            }
            _ => Err(checked(unknown())),
        }
    }

    /// Arguments that the tool's schema wants repeated in headers are, on transports that have headers.
    fn check_headers(&self, asked: &Asked<'_>, item: &Item, arguments: &str) -> Result<(), Refusal> {
        let Some(headers) = asked.headers.filter(|_| !item.header_params().is_empty()) else { return Ok(()) };
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        for param in item.header_params() {
            let header = headers(&param.header);
            param.check(&arguments, header.as_deref()).map_err(|error| refuse(error, asked.revision))?;
        }
        Ok(())
    }

    /// What an entry cannot do without, its client has declared. A client with a session is not asked for it here: its
    /// handler is told when it asks.
    fn check_needs(&self, asked: &Asked<'_>, item: &Item) -> Result<(), Refusal> {
        if item.entry.needs.is_empty() || asked.revision.has_sessions() {
            return Ok(());
        }
        let read = |json: &str| serde_json::from_str(json).unwrap_or(Value::Null);
        let Some(lacking) = questions::lacking(&read(&item.entry.needs), &read(asked.capabilities)) else {
            return Ok(());
        };
        let message = format!("`{}` needs an ability that the client did not declare", item.entry.name);
        let error = RpcError::new(RpcError::MISSING_CAPABILITY, message);
        Err(refuse(error.with_data(json!({ "requiredCapabilities": lacking })), asked.revision))
    }

    /// What a client will hear of: what it asked for, as far as there is such a thing.
    async fn listen(&self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let filter = Filter::read(asked.params.notifications).map_err(|error| refuse(error, asked.revision))?;
        let tasks = self.followable(asked, filter.tasks).await?;
        Ok(Reply::Listen(Filter { tasks, ..filter }))
    }

    /// What a listing would say of a resource; used to refuse subscriptions to what is not there.
    ///
    /// # Errors
    /// That there is no such resource, or its service fails.
    pub async fn describe(&self, asked: &Asked<'_>, uri: &str) -> Result<Resource, Refusal> {
        let target = self.target(asked, uri);
        let nodes = self.nodes_of(uri).ok_or_else(|| refuse(target.unknown(), asked.revision))?;
        let context = Some(self.context(asked, uri, Duration::ZERO));
        let request = DescribeResourceRequest { context, uri: uri.to_owned() };
        let described = within(LOOKUP_TIMEOUT, self.bus.resources.describe(&nodes, request)).await;
        described.map_err(|status| target.failed(&status, false))
    }

    /// Waits until a service has taken the call on, or says why not.
    async fn begin(
        &self,
        asked: &Asked<'_>,
        name: &str,
        arguments: &str,
        limits: Limits,
        repeatable: bool,
        begin: Begin,
    ) -> Result<Reply, Refusal> {
        let checked = |error| refuse(error, asked.revision);
        let capabilities = || serde_json::from_str(asked.capabilities).unwrap_or_default();
        let (asking, round) = match asked.session {
            Some(session) => {
                let desk = self.gateway.ledger.desk.clone();
                (Asking::OnStream { desk, session: session.to_owned(), capabilities: capabilities() }, Round::default())
            }
            None => {
                let purpose = Purpose::new(asked.principal, asked.method.name(), name, arguments);
                let seal = self.gateway.seal();
                let state = asked.params.request_state().map_err(checked)?;
                let state = state.map(|state| seal.open(&state, &purpose)).transpose().map_err(checked)?;
                let responses = asked.params.input_responses().map_err(checked)?.unwrap_or_default();
                let round = Round { responses: responses.to_owned().into(), state: state.unwrap_or_default() };
                (Asking::ByResult { seal, purpose, capabilities: capabilities() }, round)
            }
        };
        let listener = Listener {
            revision: asked.revision,
            method: asked.method,
            name: name.to_owned(),
            progress_token: asked.meta.progress_token().map_err(checked)?.map(str::to_owned),
            log_level: asked.log_level.map(str::to_owned),
        };
        let mut call = Box::new(Call::new(begin, repeatable, round, listener, limits, asking));
        match call.step().await {
            Step::Done(Ok(result)) => Ok(Reply::Result(result)),
            Step::Done(Err(refusal)) => Err(refusal),
            Step::Question(question) => {
                call.put_back(question);
                Ok(Reply::Call(call))
            }
            Step::Accepted | Step::Notice(_) => Ok(Reply::Call(call)),
        }
    }

    /// The catalogue with an entry. An unknown name causes one look at the registry before it is refused.
    async fn find(&self, name: &str, section: fn(&Catalog) -> &Section) -> Option<Arc<Catalog>> {
        let current = self.gateway.catalog.load_full();
        if section(&current).get(name).is_some() {
            return Some(current);
        }
        self.gateway.discovery.refresh().await;
        self.gateway.catch_up_with_nodes();
        let current = self.gateway.catalog.load_full();
        section(&current).get(name).is_some().then_some(current)
    }

    /// The nodes that have an entry by now; a call that is repeated goes to those.
    pub(crate) fn nodes_now(&self, name: &str, section: fn(&Catalog) -> &Section) -> Vec<NodeId> {
        section(&self.gateway.catalog.load()).get(name).map(|item| item.nodes.clone()).unwrap_or_default()
    }

    fn nodes_of(&self, uri: &str) -> Option<Vec<NodeId>> {
        self.gateway.catalog.load().provider_of(uri).map(|provider| provider.nodes.clone())
    }

    fn limits(&self, idle_ms: u64) -> Limits {
        let options = &self.gateway.options;
        let idle = if idle_ms == 0 { options.call_timeout } else { Duration::from_millis(idle_ms) };
        Limits { idle, total: options.call_timeout_max }
    }

    fn target<'a>(&self, asked: &Asked<'_>, name: &'a str) -> Target<'a> {
        Target { method: asked.method, name, revision: asked.revision }
    }

    fn context(&self, asked: &Asked<'_>, affinity: &str, limit: Duration) -> Context {
        let affinity = asked.session.unwrap_or(if asked.principal.is_empty() { affinity } else { asked.principal });
        Context {
            principal: Some(Principal { id: asked.principal.to_owned(), roles: Vec::new() }),
            client_capabilities_json: asked.capabilities.to_owned().into(),
            log_level: asked.log_level.unwrap_or_default().to_owned(),
            affinity_key: affinity.to_owned(),
            idempotency_key: String::new(),
            deadline_ms: limit.as_millis().try_into().unwrap_or(u64::MAX),
            traceparent: asked.trace.traceparent.clone(),
            tracestate: asked.trace.tracestate.clone(),
            // Also where the client does not: progress is the sign of life that a call's time limit waits for.
            wants_progress: true,
        }
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    match timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(Status::deadline_exceeded(format!("no answer within {} s", limit.as_secs_f64()))),
    }
}

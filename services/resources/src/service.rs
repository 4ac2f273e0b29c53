//! The contract's `Resources`.

use std::{cmp::Ordering, sync::Arc};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use switchyard_files::Root;
use switchyard_proto::v1::{
    Accepted, CallEvent, CompleteReply, CompleteTemplateRequest, DescribeResourceRequest, ListResourcesReply,
    ListResourcesRequest, ReadResourceRequest, Resource, ResourceResult, call_event::Event,
    resources_server::Resources,
};
use switchyard_state::{Entry, EntryKind, NodeId, Registry};
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use tracing::{Instrument, Span};

use crate::{
    Publish, ResourceOptions, ResourcesError, ServiceOptions,
    error::{LEAST_MS, unknown, unknown_provider, unknown_variable},
    filesystem::Filesystem,
    provider::Provider,
    publish::Publishing,
    reading::Reading,
    span::{self, Method},
};

/// The most resources on a page, whatever was asked for.
const MAX_PAGE: usize = 1000;

/// The most that a page may have in names and URIs, in bytes, but for its first resource.
const MAX_PAGE_BYTES: usize = 1024 * 1024;

/// The most values proposed for a variable.
const MAX_PROPOSALS: usize = 100;

/// Lists, reads and watches the resources of one node. Watching ends when this is dropped, or stopped.
pub struct ResourceService {
    providers: Vec<Arc<dyn Provider>>,
    files: Vec<Root>,
    entries: watch::Sender<Vec<Entry>>,
    publishing: Vec<Publishing>,
}

impl ResourceService {
    /// Serves `sources` and tells the cluster of their changes: of the nodes that serve the same one, the one that has its
    /// lease in `registry`. Needs a Tokio runtime.
    ///
    /// # Errors
    /// When a source cannot be served, two of them are not apart, or a time is too short.
    pub fn start(
        sources: &[ResourceOptions],
        options: &ServiceOptions,
        registry: Arc<dyn Registry>,
        node: NodeId,
        publish: Arc<dyn Publish>,
    ) -> Result<Self, ResourcesError> {
        for (option, time) in [("lease", options.lease), ("publishTimeout", options.publish_timeout)] {
            if time.as_millis() < LEAST_MS {
                return Err(ResourcesError::TooShort { option });
            }
        }
        let reading = Reading::new(options);
        let mut providers: Vec<Arc<dyn Provider>> = Vec::new();
        let mut files = Vec::new();
        for (index, ResourceOptions::Filesystem(source)) in sources.iter().enumerate() {
            let provider = Filesystem::open(source, reading.clone());
            let provider = provider.map_err(|error| ResourcesError::of_source(index, error))?;
            files.push(provider.root().clone());
            providers.push(Arc::new(provider));
        }
        tell_apart(&providers)?;
        let watched = |provider: &Arc<dyn Provider>| {
            Publishing::start(provider.clone(), registry.clone(), node.clone(), publish.clone(), options)
        };
        let publishing = providers.iter().map(watched).collect();
        let entries = watch::Sender::new(entries(&providers));
        Ok(Self { providers, files, entries, publishing })
    }

    /// What this node offers, for its announcement.
    pub fn entries(&self) -> watch::Receiver<Vec<Entry>> {
        self.entries.subscribe()
    }

    /// The directories that are served, with the pictures that this service keeps of them.
    pub fn files(&self) -> &[Root] {
        &self.files
    }

    /// Tells of what changed so far and leaves watching to other nodes, for this one is about to stop. Takes at most a
    /// few seconds; requests are answered as before.
    pub async fn stop(&self) {
        for publishing in &self.publishing {
            publishing.stop().await;
        }
    }

    fn named(&self, name: &str) -> Result<&Arc<dyn Provider>, Status> {
        self.providers.iter().find(|provider| provider.name() == name).ok_or_else(|| unknown_provider(name))
    }

    fn owner(&self, uri: &str) -> Result<&Arc<dyn Provider>, Status> {
        self.providers.iter().find(|provider| uri.starts_with(provider.prefix())).ok_or_else(|| unknown(uri))
    }
}

#[tonic::async_trait]
impl Resources for ResourceService {
    async fn list(&self, request: Request<ListResourcesRequest>) -> Result<Response<ListResourcesReply>, Status> {
        let request = request.into_inner();
        let span = span::of_request(&span::LIST, "", request.context.as_ref());
        let page = async {
            let limit = (request.limit as usize).clamp(1, MAX_PAGE);
            let (resources, more) = self.named(&request.provider)?.list(&request.after, limit).await?;
            Ok(bounded(resources, more))
        };
        traced(span, page).await.map(Response::new)
    }

    async fn describe(&self, request: Request<DescribeResourceRequest>) -> Result<Response<Resource>, Status> {
        let request = request.into_inner();
        let span = span_of(&span::DESCRIBE, &request.uri, request.context.as_ref());
        let described = async { self.owner(&request.uri)?.describe(&request.uri).await };
        traced(span, described).await.map(Response::new)
    }

    type ReadStream = BoxStream<'static, Result<CallEvent, Status>>;

    /// The resource is read before the stream begins, so a read that fails was never accepted.
    async fn read(&self, request: Request<ReadResourceRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        let span = span_of(&span::READ, &request.uri, request.context.as_ref());
        let read = async { self.owner(&request.uri)?.read(&request.uri).await };
        let contents = traced(span, read).await?;
        let result = ResourceResult { contents: vec![contents] };
        let events = [Event::Accepted(Accepted {}), Event::Resource(result)];
        let events = events.map(|event| Ok(CallEvent { event: Some(event) }));
        Ok(Response::new(stream::iter(events).boxed()))
    }

    async fn complete(&self, request: Request<CompleteTemplateRequest>) -> Result<Response<CompleteReply>, Status> {
        let CompleteTemplateRequest { context, uri_template, argument } = request.into_inner();
        let argument = argument.unwrap_or_default();
        let span = span::of_request(&span::COMPLETE, "", context.as_ref());
        let completed = async {
            let mut reply = CompleteReply::default();
            let mut known = false;
            for provider in &self.providers {
                let room = MAX_PROPOSALS - reply.values.len();
                let found = provider.complete(&uri_template, &argument.name, &argument.value, room).await?;
                let Some((values, more)) = found else { continue };
                known = true;
                reply.values.extend(values);
                reply.has_more |= more;
            }
            if known { Ok(reply) } else { Err(unknown_variable(&uri_template, &argument.name)) }
        };
        traced(span, completed).await.map(Response::new)
    }
}

/// A URI of any length may be asked for; no span needs more than its beginning.
fn span_of(method: &Method, uri: &str, context: Option<&switchyard_proto::v1::Context>) -> Span {
    span::of_request(method, uri.get(..uri.len().min(1000)).unwrap_or_default(), context)
}

async fn traced<T>(span: Span, work: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let result = work.instrument(span.clone()).await;
    if let Err(status) = &result {
        span::failed(&span, status);
    }
    result
}

/// A page that fits into a message.
fn bounded(mut resources: Vec<Resource>, mut more: bool) -> ListResourcesReply {
    let mut bytes = 0;
    let fits = |resource: &Resource| {
        bytes += resource.uri.len() + resource.name.len() + resource.title.len();
        bytes <= MAX_PAGE_BYTES
    };
    let fitting = resources.iter().map(fits).take_while(|fits| *fits).count().max(1);
    if fitting < resources.len() {
        resources.truncate(fitting);
        more = true;
    }
    ListResourcesReply { resources, more }
}

/// No two providers have one name, or URIs in common: a resource is listed once and belongs to one of them.
fn tell_apart(providers: &[Arc<dyn Provider>]) -> Result<(), ResourcesError> {
    for (place, one) in providers.iter().enumerate() {
        for other in &providers[place + 1..] {
            let (inner, outer) = match one.prefix().len().cmp(&other.prefix().len()) {
                Ordering::Less => (other.prefix(), one.prefix()),
                _ => (one.prefix(), other.prefix()),
            };
            if inner.starts_with(outer) {
                return Err(ResourcesError::Overlap { inner: inner.to_owned(), outer: outer.to_owned() });
            }
            if one.name() == other.name() {
                return Err(ResourcesError::SameName { name: one.name().to_owned() });
            }
        }
    }
    Ok(())
}

/// What all providers announce; a template that several have is one.
fn entries(providers: &[Arc<dyn Provider>]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for entry in providers.iter().flat_map(|provider| provider.entries()) {
        let is_known = |known: &Entry| known.kind == EntryKind::Template && *known == entry;
        if !entries.iter().any(is_known) {
            entries.push(entry);
        }
    }
    entries
}

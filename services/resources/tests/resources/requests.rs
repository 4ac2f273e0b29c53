//! Listing, describing and reading.

use std::{fs, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::join_all};
use switchyard_files::FilesOptions;
use switchyard_proto::v1::{
    Context, DescribeResourceRequest, Failure, ListResourcesReply, ListResourcesRequest, ReadResourceRequest, Resource,
    ResourceContents, call_event::Event, failure::Reason, resource_contents::Body, resources_server::Resources,
};
use switchyard_resources::{ResourceOptions, ResourceService, ServiceOptions};
use switchyard_state::NodeId;
use tonic::{Code, Request, Status};

use super::{Folder, Log, registry, serve, start};

pub(crate) async fn list(
    service: &ResourceService,
    provider: &str,
    after: &str,
    limit: u32,
) -> Result<ListResourcesReply, Status> {
    let request = ListResourcesRequest { context: None, provider: provider.into(), after: after.into(), limit };
    service.list(Request::new(request)).await.map(tonic::Response::into_inner)
}

async fn describe(service: &ResourceService, uri: &str) -> Result<Resource, Status> {
    let request = DescribeResourceRequest { context: None, uri: uri.into() };
    service.describe(Request::new(request)).await.map(tonic::Response::into_inner)
}

pub(crate) async fn read(service: &ResourceService, uri: &str, traceparent: &str) -> Result<ResourceContents, Status> {
    let context = Some(Context { traceparent: traceparent.into(), ..Context::default() });
    let request = ReadResourceRequest { context, uri: uri.into(), ..ReadResourceRequest::default() };
    let mut events = service.read(Request::new(request)).await?.into_inner();
    assert!(matches!(events.next().await.unwrap()?.event, Some(Event::Accepted(_))));
    let Some(Event::Resource(result)) = events.next().await.unwrap()?.event else { panic!("no resource") };
    assert!(events.next().await.is_none());
    let [contents] = <[_; 1]>::try_from(result.contents).unwrap();
    Ok(contents)
}

#[tokio::test]
async fn resources_are_listed_page_by_page_in_the_order_of_their_uris() {
    let folder = Folder::with(&[("b.txt", "text"), ("a/x.md", "# x"), ("c", ""), (".env", "secret")]);
    let (service, _) = serve(&folder).await;

    let first = list(&service, "data", "", 2).await.unwrap();
    let second = list(&service, "data", &first.resources[1].uri, 2).await.unwrap();

    let uris: Vec<_> = first.resources.iter().chain(&second.resources).map(|resource| &resource.uri).collect();
    assert_eq!(uris, [&folder.uri("a/x.md"), &folder.uri("b.txt"), &folder.uri("c")]);
    assert_eq!((first.more, second.more), (true, false));
    let resource = &first.resources[0];
    assert_eq!((&*resource.name, &*resource.title), ("a/x.md", "x.md"));
    assert_eq!((&*resource.mime_type, resource.size), ("text/markdown", Some(3)));
    assert!(resource.last_modified.ends_with('Z'), "{}", resource.last_modified);
    assert_eq!(describe(&service, &resource.uri).await.unwrap(), *resource);
}

#[tokio::test]
async fn a_list_waits_for_the_first_look_and_is_complete() {
    let folder = Folder::with(&[]);
    for number in 0..3000 {
        folder.write(&format!("{}/{number}.txt", number % 50), "");
    }
    let service = start(&[folder.source()], &registry(), "node", &Log::default()).unwrap();

    let mut seen = 0;
    let mut after = String::new();
    loop {
        let page = list(&service, "data", &after, u32::MAX).await.unwrap();
        seen += page.resources.len();
        assert!(page.resources.len() <= 1000);
        if !page.more {
            break;
        }
        after = page.resources.last().unwrap().uri.clone();
    }

    assert_eq!(seen, 3000);
}

#[tokio::test]
async fn a_page_of_very_long_names_still_fits_into_a_message() {
    let folder = Folder::with(&[]);
    let deep: String = (0..12).map(|_| format!("{}/", "ł".repeat(120))).collect();
    (0..200).for_each(|number| folder.write(&format!("{deep}{number}"), ""));
    let (service, _) = serve(&folder).await;

    let page = list(&service, "data", "", 1000).await.unwrap();

    assert!(page.more && !page.resources.is_empty());
    assert!(size(&page) < 2 * 1024 * 1024);
}

fn size(page: &ListResourcesReply) -> usize {
    page.resources.iter().map(|resource| resource.uri.len() + resource.name.len() + resource.title.len() + 64).sum()
}

#[tokio::test]
async fn text_is_read_as_text_and_the_rest_as_exact_bytes() {
    let folder = Folder::with(&[("a.txt", "zażółć\r\n")]);
    let bytes: Vec<u8> = (0..=255).collect();
    folder.write("b.bin", &bytes);
    let (service, _) = serve(&folder).await;

    let text = read(&service, &folder.uri("a.txt"), "").await.unwrap();
    let blob = read(&service, &folder.uri("b.bin"), "").await.unwrap();

    assert_eq!((&*text.uri, &*text.mime_type), (&*folder.uri("a.txt"), "text/plain"));
    assert_eq!(text.body, Some(Body::Text("zażółć\r\n".into())));
    assert_eq!(blob.mime_type, "application/octet-stream");
    assert_eq!(blob.body, Some(Body::Blob(bytes.into())));
}

#[tokio::test]
async fn what_is_not_served_is_not_found_by_any_request() {
    let folder = Folder::with(&[("a.txt", ""), (".env", "secret"), ("../outside.txt", "secret")]);
    let (service, _) = serve(&folder).await;
    let long = folder.uri(&"x".repeat(100_000));
    for uri in [
        &*folder.uri(".env"),
        &folder.uri("../outside.txt"),
        &folder.uri("nothing"),
        "file:///etc/passwd",
        "x:y",
        "",
        &long,
    ] {
        let described = describe(&service, uri).await.unwrap_err();
        let read = read(&service, uri, "").await.unwrap_err();

        assert_eq!((described.code(), read.code()), (Code::NotFound, Code::NotFound), "{uri}");
        let Some(Reason::Unknown(told)) = Failure::of(&read) else { panic!("{uri}") };
        assert_eq!(told, uri[..uri.len().min(1000)]);
        assert!(read.message().len() < 1100);
    }
    assert_eq!(list(&service, "other", "", 1).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn a_file_above_the_limit_is_listed_and_reading_it_names_the_limit() {
    let folder = Folder::with(&[("a.txt", "0123456789a")]);
    let source = folder.source_with(|options| options.max_read_bytes = 10);
    let service = start(&[source], &registry(), "node", &Log::default()).unwrap();

    assert_eq!(list(&service, "data", "", 9).await.unwrap().resources[0].size, Some(11));
    let status = read(&service, &folder.uri("a.txt"), "").await.unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange);
    assert!(status.message().contains("at most 10 (`maxReadBytes`)"), "{}", status.message());
}

#[tokio::test]
async fn each_uri_goes_to_the_source_that_owns_it() {
    let (one, two) = (Folder::with(&[("a.txt", "one")]), Folder::with(&[("a.txt", "two")]));
    let named = |folder: &Folder, name: &str| folder.source_with(|options| options.name = Some(name.into()));
    let sources = [named(&one, "one"), named(&two, "two")];
    let service = start(&sources, &registry(), "node", &Log::default()).unwrap();

    assert_eq!(read(&service, &one.uri("a.txt"), "").await.unwrap().body, Some(Body::Text("one".into())));
    assert_eq!(read(&service, &two.uri("a.txt"), "").await.unwrap().body, Some(Body::Text("two".into())));
    assert_eq!(list(&service, "two", "", 9).await.unwrap().resources[0].uri, two.uri("a.txt"));
    assert_eq!(service.files().len(), 2);
}

#[tokio::test]
async fn many_requests_at_once_take_turns_and_one_that_is_dropped_leaves_its_turn() {
    let folder = Folder::with(&[("a.txt", "text")]);
    let options = ServiceOptions { max_concurrent: 2, ..ServiceOptions::default() };
    let publish = Arc::new(Log::default());
    let service =
        ResourceService::start(&[folder.source()], &options, registry(), NodeId("node".into()), publish).unwrap();
    let uri = folder.uri("a.txt");
    for _ in 0..20 {
        let _ = tokio::time::timeout(Duration::from_micros(1), read(&service, &uri, "")).await;
    }

    let reads = join_all((0..200).map(|_| read(&service, &uri, ""))).await;

    assert!(reads.into_iter().all(|read| read.is_ok()));
}

#[tokio::test]
async fn sources_that_cannot_be_told_apart_are_refused() {
    let folder = Folder::with(&[("sub/a.txt", ""), ("../other/data/b.txt", "")]);
    let refused = |sources: &[ResourceOptions]| {
        start(sources, &registry(), "node", &Log::default()).map(drop).unwrap_err().to_string()
    };
    let at = |path: &str| {
        let path = folder.path().join(path);
        ResourceOptions::Filesystem(FilesOptions { path, ..FilesOptions::default() })
    };

    assert!(refused(&[folder.source(), at("sub")]).contains("are among those below"));
    assert!(refused(&[at("sub"), folder.source()]).contains("are among those below"));
    assert!(refused(&[folder.source(), folder.source()]).contains("are among those below"));
    assert!(refused(&[folder.source(), at("../other/data")]).contains("two sources of resources are called `data`"));
    assert!(refused(&[at("nowhere")]).contains("`resources[0].path` cannot be used"));
    fs::remove_dir_all(folder.path().join("sub")).unwrap();
    assert!(refused(&[at("sub")]).contains("`resources[0].path` cannot be used"));
}

#[tokio::test]
async fn files_can_be_opened_for_others_and_shown_by_their_path() {
    let folder = Folder::with(&[("a.txt", "")]);

    let roots = ResourceOptions::open_files(&[folder.source()]).unwrap();

    assert_eq!(roots[0].path(), folder.path());
    assert_eq!(folder.source().shown_path(), folder.path());
    assert!(ResourceOptions::default().shown_path().is_absolute());
}

#[tokio::test]
async fn times_within_which_nothing_can_be_done_are_refused() {
    for change in [
        ServiceOptions { lease: Duration::ZERO, ..ServiceOptions::default() },
        ServiceOptions { publish_timeout: Duration::from_millis(99), ..ServiceOptions::default() },
    ] {
        let started = ResourceService::start(&[], &change, registry(), NodeId("node".into()), Arc::new(Log::default()));

        assert!(started.map(drop).unwrap_err().to_string().ends_with("must be at least 100 ms"));
    }
}

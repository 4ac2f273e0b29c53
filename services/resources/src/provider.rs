//! A source of resources, as the service sees it.

use std::time::Duration;

use async_trait::async_trait;
use switchyard_files::Changes;
use switchyard_proto::v1::{Resource, ResourceContents};
use switchyard_state::Entry;
use tonic::Status;

/// A source of resources. It owns the URIs that begin with its prefix, which are no other's.
#[async_trait]
pub(crate) trait Provider: Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// What its URIs begin with.
    fn prefix(&self) -> &str;

    /// What is announced of it: itself, and its templates.
    fn entries(&self) -> Vec<Entry>;

    /// At most `limit` resources after the URI `after`, in the order of URIs, and whether there are more.
    async fn list(&self, after: &str, limit: usize) -> Result<(Vec<Resource>, bool), Status>;

    /// What a listing would say of one resource.
    async fn describe(&self, uri: &str) -> Result<Resource, Status>;

    /// One resource.
    async fn read(&self, uri: &str) -> Result<ResourceContents, Status>;

    /// At most `limit` values for a variable of the template that it announced under this name, which go on from what
    /// was written, and whether there are more; `None` when it has no such template or variable.
    async fn complete(
        &self,
        template: &str,
        variable: &str,
        written: &str,
        limit: usize,
    ) -> Result<Option<(Vec<String>, bool)>, Status>;

    /// What changed since the last call, as soon as anything does; `None` when nothing will any more. Dropping the
    /// future loses nothing.
    async fn changes(&self) -> Option<Changes>;

    /// Looks for changes everywhere soon.
    fn look_again(&self);

    /// How much later than another node this one may see a change.
    fn lag(&self) -> Duration;
}

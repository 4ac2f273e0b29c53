//! What a lane's caller sends, as the stream that gRPC takes.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::Stream;
use switchyard_proto::v1::LaneRequest;

use super::table::Table;

pub struct Outbox(pub Arc<Table>);

impl Stream for Outbox {
    type Item = LaneRequest;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_outbox(context)
    }
}

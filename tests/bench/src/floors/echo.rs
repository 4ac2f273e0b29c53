//! The far end of a hop: bytes in, the same bytes out.

use std::net::SocketAddr;

use futures_util::stream::BoxStream;
use tonic::{Request, Response, Status, Streaming, transport::server::TcpIncoming};

use super::proto::{
    Frame,
    echo_server::{Echo, EchoServer},
};
use crate::{error::BenchError, servers};

struct Echoing;

#[tonic::async_trait]
impl Echo for Echoing {
    async fn once(&self, request: Request<Frame>) -> Result<Response<Frame>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    type OpenStream = BoxStream<'static, Result<Frame, Status>>;

    async fn open(&self, request: Request<Streaming<Frame>>) -> Result<Response<Self::OpenStream>, Status> {
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}

/// Serves until the process is ended. On the one core that it has, a runtime of one thread is the cheapest, and a
/// floor is what nobody gets below: the multi-threaded runtime costs a unary hop about a fifth more.
pub fn serve(listen: SocketAddr) -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| BenchError::Runtime { source })?;
    runtime.block_on(async {
        let incoming = TcpIncoming::bind(listen).map_err(BenchError::serve)?.with_nodelay(Some(true));
        servers::announce("bus", incoming.local_addr().map_err(BenchError::serve)?);
        let served = tonic::transport::Server::builder().add_service(EchoServer::new(Echoing));
        served.serve_with_incoming(incoming).await.map_err(BenchError::serve)
    })
}

//! The floors: what the frameworks below this product cost when nothing else is done.

mod echo;
mod hop;
mod web;

use std::net::{Ipv4Addr, SocketAddr};

use crate::{error::BenchError, options::Floor};

/// The contract of the hop floors, generated from `proto/floor.proto`.
#[allow(missing_docs, clippy::all, unused_qualifications)]
mod proto {
    tonic::include_proto!("switchyard.bench");
}

/// Serves a floor until the process is ended. `hop` is the echo process behind it, for those that have one.
pub fn serve(floor: Floor, port: u16, hop: Option<SocketAddr>) -> Result<(), BenchError> {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match floor {
        Floor::Web => web::serve(listen, hop::Kind::None),
        Floor::HopUnary => web::serve(listen, hop.map_or(hop::Kind::None, hop::Kind::Unary)),
        Floor::HopStream => web::serve(listen, hop.map_or(hop::Kind::None, hop::Kind::Stream)),
        Floor::Echo => echo::serve(listen),
    }
}

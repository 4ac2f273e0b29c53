//! actix-web that reads the envelope, borrowed, and answers as an echo tool would.

use std::net::SocketAddr;

use actix_web::{App, HttpResponse, HttpServer, http::header::ContentType, web};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::hop::{Hop, Kind};
use crate::{error::BenchError, servers};

/// What a gateway has to read of a call; the arguments stay as they were sent.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

/// What the echo tool reads of its arguments: a JSON string, kept as it was sent.
#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

/// Serves until the process is ended.
pub fn serve(listen: SocketAddr, kind: Kind) -> Result<(), BenchError> {
    actix_web::rt::System::new().block_on(async {
        let app = move || App::new().data_factory(move || Hop::connect(kind)).route("/mcp", web::post().to(call));
        let server = HttpServer::new(app).bind(listen).map_err(BenchError::serve)?;
        servers::announce("clients", server.addrs()[0]);
        server.run().await.map_err(BenchError::serve)
    })
}

async fn call(hop: web::Data<Hop>, body: web::Bytes) -> HttpResponse {
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(&body) else {
        return HttpResponse::BadRequest().finish();
    };
    if envelope.method != "tools/call" || envelope.params.name != "echo" {
        return HttpResponse::NotFound().finish();
    }

    let arguments = body.slice_ref(envelope.params.arguments.get().as_bytes());
    let Ok(echoed) = hop.echo(arguments).await else {
        return HttpResponse::BadGateway().finish();
    };

    match serde_json::from_slice::<Arguments<'_>>(&echoed) {
        Ok(arguments) => HttpResponse::Ok().content_type(ContentType::json()).body(answer(envelope.id, &arguments)),
        Err(_) => HttpResponse::BadRequest().finish(),
    }
}

fn answer(id: &RawValue, arguments: &Arguments<'_>) -> String {
    let (id, message) = (id.get(), arguments.message.get());
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":{message}}}]}}}}"#
    )
}

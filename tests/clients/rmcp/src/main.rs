//! The Rust SDK's client, taking the steps that every client takes; `../steps.py` says them in words that are shorter.
//!
//! `switchyard-rmcp-client TRANSPORT REVISION STEP...` prints `PASSED STEP` or `FAILED STEP: why` for each, in the order
//! of [`steps::ALL`]. The environment says what there is to meet: TARGET (a URL, or a command as a JSON list), OFFER (a
//! file: what the server offers), WATCHED (a served file to write to), CUT (TARGET, with answers that break off), METRICS
//! (what the entrances' operators look at).

mod answers;
mod heard;
mod peer;
mod setting;
mod steps;

use std::{env, error::Error, future::Future, process::exit, time::Duration};

use peer::Peer;
use setting::Setting;
use tokio::time::timeout;

/// Why a step was not passed.
type Failure = Box<dyn Error>;

/// How long a step may take. A client that waits in vain is given up after this.
const PATIENCE: Duration = Duration::from_secs(30);

async fn in_time<T>(step: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    timeout(PATIENCE, step).await.map_err(|_| format!("it took longer than {PATIENCE:?}"))?
}

fn tell(step: &str, passed: Result<(), Failure>) {
    match passed {
        Ok(()) => println!("PASSED {step}"),
        Err(why) => println!("FAILED {step}: {}", why.to_string().replace('\n', " ")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    // The SDK's HTTP client wants to know who encrypts, though nothing here is encrypted.
    _ = rustls::crypto::ring::default_provider().install_default();
    let mut arguments = env::args().skip(1);
    let (Some(transport), Some(revision)) = (arguments.next(), arguments.next()) else {
        return Err("it wants a transport, a revision and steps".into());
    };
    let wanted: Vec<_> = arguments.collect();
    let setting = Setting::from_environment(&transport, &revision)?;
    let peer = match in_time(Box::pin(Peer::connect(&setting, &setting.target, false))).await {
        Ok(peer) => peer,
        Err(why) => {
            tell("connect", Err(why));
            exit(1);
        }
    };
    for step in steps::ALL.iter().filter(|step| wanted.iter().any(|wanted| wanted == *step)) {
        tell(step, in_time(Box::pin(steps::take(step, &peer, &setting))).await);
    }
    tell("close", in_time(peer.close()).await);
    Ok(())
}

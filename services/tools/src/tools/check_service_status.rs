//! `checkServiceStatus`: whether a web address answers, and how fast.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::json;
use switchyard_http::{Answer, Egress, EgressError, EgressOptions};
use switchyard_state::TaskSupport;
use tokio::time::{MissedTickBehavior, interval};
use url::Url;

use crate::{Annotations, Definition, Run, Tool, ToolError, ToolOptions, ToolOutput, ToolsError};

/// How often a waiting client hears that it still waits.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// How long to wait for an answer, in seconds, unless the caller says otherwise.
const DEFAULT_TIMEOUT: f64 = 10.0;

/// Asks a web address, and tells how it went.
pub struct CheckServiceStatus {
    egress: Egress,
    /// The hosts that it may ask wherever they are.
    allowed: String,
}

impl CheckServiceStatus {
    pub(crate) const NAME: &str = "checkServiceStatus";

    /// A tool that asks public addresses, and the hosts that the options allow.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(options: &ToolOptions) -> Result<Self, ToolsError> {
        let allowed: Vec<_> = options.allow_hosts.iter().map(ToString::to_string).collect();
        let egress = EgressOptions { allow_hosts: options.allow_hosts.clone(), ..Default::default() };
        Ok(Self { egress: Egress::new(&egress)?, allowed: allowed.join(" ") })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServiceStatus {
    reachable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    latency_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[async_trait]
impl Tool for CheckServiceStatus {
    fn definition(&self) -> Definition {
        Definition {
            name: Self::NAME,
            title: "Check service status",
            description: "Asks a web address with GET, follows up to 5 redirects, and tells the HTTP status code and how \
                          long the answer took. A service that cannot be reached is a result too. Addresses in private \
                          networks are refused unless the server's options allow their host.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "serviceUrl": {
                        "type": "string",
                        "format": "uri",
                        "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]",
                        "maxLength": 2048,
                        "description": "An http or https URL.",
                    },
                    "timeout": {
                        "type": "number",
                        "minimum": 1,
                        "maximum": 300,
                        "default": DEFAULT_TIMEOUT,
                        "description": "How long to wait for the answer, in seconds.",
                    },
                },
                "required": ["serviceUrl"],
                "additionalProperties": false,
            }),
            output_schema: json!({
                "type": "object",
                "properties": {
                    "reachable": {"type": "boolean", "description": "Whether it answered, whatever it answered."},
                    "statusCode": {
                        "type": "integer",
                        "minimum": 100,
                        "maximum": 999,
                        "description": "The HTTP status code of the answer.",
                    },
                    "latencyMs": {
                        "type": "number",
                        "minimum": 0,
                        "description": "Milliseconds until the answer began, or until it was clear that none would come.",
                    },
                    "finalUrl": {"type": "string", "description": "Who answered, after redirects."},
                    "reason": {"type": "string", "description": "Why it could not be reached."},
                },
                "required": ["reachable", "latencyMs"],
                "additionalProperties": false,
            }),
            annotations: Annotations { open_world_hint: true, ..Annotations::read_only() },
        }
    }

    fn fingerprint(&self) -> String {
        self.allowed.clone()
    }

    fn tasks(&self) -> TaskSupport {
        TaskSupport::Optional
    }

    async fn run(self: Arc<Self>, mut run: Run) -> Result<ToolOutput, ToolError> {
        let within = Duration::from_secs_f64(run.number("timeout", DEFAULT_TIMEOUT));
        let url = Url::parse(&run.text("serviceUrl"))
            .map_err(|error| ToolError::Failed(format!("`serviceUrl` is no URL that could be asked: {error}")))?;
        let asked = Instant::now();
        let mut answer = std::pin::pin!(self.egress.get(&url, within));
        let mut signs = interval(SIGN_OF_LIFE);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first one comes at once.
        signs.tick().await;
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                _ = signs.tick() => still_waiting(&run, asked.elapsed(), within),
            }
        };
        ToolOutput::structured(&status(answer, asked.elapsed())?)
    }
}

fn still_waiting(run: &Run, waited: Duration, within: Duration) {
    let message = format!("waiting for an answer, {} of {} seconds", waited.as_secs(), within.as_secs());
    run.reporter.progress(waited.as_secs_f64(), Some(within.as_secs_f64()), message);
}

/// No answer is a result too; what was not asked is none.
fn status(answer: Result<Answer, EgressError>, took: Duration) -> Result<ServiceStatus, ToolError> {
    let latency_ms = (took.as_secs_f64() * 1e6).round() / 1e3;
    match answer {
        Ok(answer) => Ok(ServiceStatus {
            reachable: true,
            status_code: Some(answer.status().as_u16()),
            latency_ms,
            final_url: Some(answer.url().to_string()),
            reason: None,
        }),
        Err(
            error @ (EgressError::Unresolved { .. }
            | EgressError::Unreachable { .. }
            | EgressError::Late { .. }
            | EgressError::Broken { .. }),
        ) => Ok(ServiceStatus {
            reachable: false,
            status_code: None,
            latency_ms,
            final_url: None,
            reason: Some(error.to_string()),
        }),
        Err(refused) => Err(ToolError::Failed(refused.to_string())),
    }
}

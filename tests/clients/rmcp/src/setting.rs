//! What there is to meet, as the environment says it.

use std::{env, fs, path::PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use crate::Failure;

/// The revision without a handshake.
pub const MODERN: &str = "2026-07-28";

/// What there is to meet.
pub struct Setting {
    pub transport: String,
    pub revision: String,
    /// A URL, or a command as a JSON list.
    pub target: String,
    /// The target, with answers that break off.
    pub cut: String,
    /// What the entrances' operators look at.
    pub metrics: Vec<String>,
    /// A served file that may be written to.
    pub watched: PathBuf,
    /// Its URI.
    pub watched_uri: String,
    pub offer: Offer,
}

/// What the server offers.
#[derive(Deserialize)]
pub struct Offer {
    pub tools: Vec<String>,
    pub resources: Vec<String>,
    pub templates: Vec<String>,
    pub prompts: Vec<String>,
    pub call: Sample,
    /// A tool that always fails.
    pub fails: Option<String>,
    /// Resources and what is in them.
    pub texts: Map<String, Value>,
    pub prompt: Sample,
}

/// A tool or a prompt, arguments for it, and what comes of them.
#[derive(Deserialize)]
pub struct Sample {
    pub name: String,
    pub arguments: Value,
    pub text: String,
}

impl Setting {
    /// # Errors
    /// A variable is missing, or says nothing of use.
    pub fn from_environment(transport: &str, revision: &str) -> Result<Self, Failure> {
        let variable = |name: &str| env::var(name).map_err(|error| format!("`{name}`: {error}"));
        let watched = PathBuf::from(variable("WATCHED")?);
        let watched_uri = Url::from_file_path(&watched).map_err(|()| "`WATCHED` is no absolute path")?.to_string();
        Ok(Self {
            transport: transport.to_owned(),
            revision: revision.to_owned(),
            target: variable("TARGET")?,
            cut: variable("CUT")?,
            metrics: variable("METRICS")?.split_whitespace().map(str::to_owned).collect(),
            watched,
            watched_uri,
            offer: serde_json::from_str(&fs::read_to_string(variable("OFFER")?)?)?,
        })
    }

    /// Whether there is no handshake.
    pub fn modern(&self) -> bool {
        self.revision == MODERN
    }
}

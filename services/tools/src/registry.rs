//! The tools there are, and of those the ones that are offered.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde_json::Value;
use sha2::{Digest, Sha256};
use switchyard_files::Root;
use switchyard_state::{Entry, EntryKind};

use crate::{
    CheckDiskSpace, CheckServiceStatus, Definition, Echo, ListProcesses, Search, Tool, ToolOptions, ToolsError,
    arguments::Schema,
};

/// What built-in tools stand on.
#[derive(Clone, Default)]
pub struct Backends {
    /// The served directories; without any there is no `search`.
    pub files: Vec<Root>,
}

/// A tool, or `None` when there is nothing that it could work on.
type Made = Result<Option<Arc<dyn Tool>>, ToolsError>;

/// A tool that comes with the program.
struct BuiltIn {
    name: &'static str,
    /// Offered without being asked for.
    by_default: bool,
    make: fn(&Backends, &ToolOptions) -> Made,
}

/// Every tool that comes with the program, in the order in which they are listed.
const BUILT_IN: [BuiltIn; 5] = [
    BuiltIn { name: CheckDiskSpace::NAME, by_default: true, make: |_, _| made(CheckDiskSpace::default()) },
    BuiltIn { name: CheckServiceStatus::NAME, by_default: true, make: |_, own| made(CheckServiceStatus::new(own)?) },
    BuiltIn { name: Search::NAME, by_default: true, make: |on, _| search_over(&on.files) },
    BuiltIn { name: ListProcesses::NAME, by_default: false, make: |_, _| made(ListProcesses::default()) },
    BuiltIn { name: Echo::NAME, by_default: false, make: |_, _| made(Echo) },
];

fn made(tool: impl Tool) -> Made {
    Ok(Some(Arc::new(tool)))
}

fn search_over(files: &[Root]) -> Made {
    if files.is_empty() { Ok(None) } else { made(Search::over(files.to_vec())) }
}

/// A tool that is offered.
pub struct Offered {
    tool: Arc<dyn Tool>,
    definition: Definition,
    arguments: Schema,
    output: Schema,
    entry: Entry,
}

impl Offered {
    /// Offers a tool; a call of it may go `timeout` without a sign of life.
    ///
    /// # Errors
    /// `Definition` when one of its schemas is none.
    pub fn new(tool: Arc<dyn Tool>, timeout: Duration) -> Result<Self, ToolsError> {
        let definition = tool.definition();
        let wrong = |reason: String| ToolsError::Definition { name: definition.name, reason };
        let arguments = Schema::compile(&definition.input_schema).map_err(wrong)?;
        let output = Schema::compile(&definition.output_schema).map_err(wrong)?;
        let json = serde_json::to_string(&definition).map_err(|error| wrong(error.to_string()))?;
        let (annotations, tasks) = (&definition.annotations, tool.tasks());
        let entry = Entry {
            kind: EntryKind::Tool,
            name: definition.name.to_owned(),
            digest: digest(&[&json, &tool.fingerprint(), &timeout.as_millis().to_string(), &format!("{tasks:?}")]),
            definition: json,
            needs: String::new(),
            prefix: String::new(),
            repeatable: annotations.read_only_hint || annotations.idempotent_hint,
            timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
            tasks,
        };
        Ok(Self { tool, definition, arguments, output, entry })
    }

    /// The tools that `options` ask for, and those offered anyway.
    ///
    /// # Errors
    /// When an option names no tool, or asks for what cannot be.
    pub(crate) fn built_in(options: &[ToolOptions], backends: &Backends) -> Result<Vec<Self>, ToolsError> {
        let mut named = by_name(options)?;
        let mut offered = Vec::new();
        for built_in in &BUILT_IN {
            let (index, own) = match named.remove(built_in.name) {
                Some((index, own)) => (index, own.clone()),
                None => (0, ToolOptions::named(built_in.name)),
            };
            own.check_timeout(index)?;
            if !own.enabled.unwrap_or(built_in.by_default) {
                continue;
            }
            match (built_in.make)(backends, &own)? {
                Some(tool) => offered.push(Self::new(tool, own.timeout)?),
                // Nobody asked for it, so nobody misses it.
                None if own.enabled.is_none() => {}
                None => return Err(ToolsError::NothingToSearch { index }),
            }
        }
        Ok(offered)
    }

    pub(crate) fn name(&self) -> &'static str {
        self.definition.name
    }

    pub(crate) fn tool(&self) -> Arc<dyn Tool> {
        Arc::clone(&self.tool)
    }

    pub(crate) fn arguments(&self) -> &Schema {
        &self.arguments
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Whether structured output is what the definition promises.
    pub(crate) fn promised(&self, structured: &[u8]) -> bool {
        serde_json::from_slice::<Value>(structured).is_ok_and(|value| self.output.fits(&value))
    }
}

/// The options by the tool they are for, with their places.
fn by_name(options: &[ToolOptions]) -> Result<HashMap<&str, (usize, &ToolOptions)>, ToolsError> {
    let mut named = HashMap::new();
    for (index, own) in options.iter().enumerate() {
        let name = own.name.clone();
        if !BUILT_IN.iter().any(|built_in| built_in.name == name) {
            return Err(ToolsError::Unknown { index, nearest: nearest(&name), name });
        }
        if !own.allow_hosts.is_empty() && name != CheckServiceStatus::NAME {
            return Err(ToolsError::NoRequests { index, name });
        }
        if let Some((first, _)) = named.insert(own.name.as_str(), (index, own)) {
            return Err(ToolsError::Twice { index, first, name });
        }
    }
    Ok(named)
}

fn nearest(name: &str) -> &'static str {
    let name = name.to_lowercase();
    let distance = |built_in: &&BuiltIn| strsim::damerau_levenshtein(&built_in.name.to_lowercase(), &name);
    BUILT_IN.iter().min_by_key(distance).map_or(Echo::NAME, |built_in| built_in.name)
}

/// SHA-256 over all parts, in hexadecimal.
fn digest(parts: &[&str]) -> String {
    use std::fmt::Write;
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

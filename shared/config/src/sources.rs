//! Where a configuration comes from: a file, environment variables, options of the command line.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Everything that a configuration is made of. A later kind beats an earlier one: defaults, file, environment
/// variables, options. Sections merge key by key; lists and values are replaced.
#[derive(Default)]
pub struct Sources {
    pub(crate) file: Option<PathBuf>,
    pub(crate) variables: Variables,
    /// Only references read the variables.
    pub(crate) only_references: bool,
    pub(crate) foreign: Vec<String>,
    pub(crate) options: Vec<Setting>,
}

/// An option of the command line.
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) value: Value,
}

impl Sources {
    /// Nothing but the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads this file: JSON when it is named `.json`, YAML when `.yaml` or `.yml`, else what it looks like.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Takes options from these environment variables, usually [`std::env::vars_os`]: `SWITCHYARD_SERVER_PORT` is
    /// `server.port`, `SWITCHYARD_SERVER_MAX_BODY_BYTES` is `server.maxBodyBytes`. Sections and lists are JSON.
    /// References read them too.
    #[must_use]
    pub fn environment(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.variables = Variables(variables.into_iter().collect());
        self
    }

    /// Leaves out variables that begin with `SWITCHYARD_` and belong to somebody else, such as the command line itself.
    #[must_use]
    pub fn except<'n>(mut self, variables: impl IntoIterator<Item = &'n str>) -> Self {
        self.foreign.extend(variables.into_iter().map(str::to_owned));
        self
    }

    /// Sets the key at `path`, such as `server.port`, because of the option `name`, such as `--port`. Text is read as
    /// an environment variable's is.
    #[must_use]
    pub fn option(mut self, name: &str, path: &str, value: impl Into<Value>) -> Self {
        self.options.push(Setting { name: name.to_owned(), path: path.to_owned(), value: value.into() });
        self
    }

    pub(crate) fn for_check(path: &Path, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { only_references: true, ..Self::new().file(path).environment(variables) }
    }
}

/// Environment variables.
#[derive(Default)]
pub(crate) struct Variables(BTreeMap<OsString, OsString>);

impl Variables {
    /// The value of `name`, or why there is none.
    pub(crate) fn get(&self, name: &str) -> Result<String, String> {
        let value = self.0.get(&OsString::from(name));
        let value = value.ok_or_else(|| format!("the environment variable `{name}` is not set"))?;
        value.to_str().map(str::to_owned).ok_or_else(|| format!("the environment variable `{name}` is not UTF-8 text"))
    }

    /// The names that begin with `prefix`, in order; what follows need not be UTF-8, and is shown as well as it can be.
    pub(crate) fn with_prefix(&self, prefix: &str) -> impl Iterator<Item = String> {
        let names = self.0.keys().map(|name| name.to_string_lossy().into_owned());
        names.filter(move |name| name.starts_with(prefix))
    }
}

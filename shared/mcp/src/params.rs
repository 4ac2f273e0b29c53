//! The parameters that a gateway routes by, unread until they are asked for.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Method, RpcError,
    error::missing_name,
    jsonrpc::{Text, present},
    meta::log_level,
};

/// Members of `params`, each as its JSON text. What is not listed here is not looked at.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Params<'a> {
    /// `_meta`.
    #[serde(borrow, default, rename = "_meta", deserialize_with = "present")]
    pub meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    cursor: Option<&'a RawValue>,
    /// `notifications` of `subscriptions/listen`.
    #[serde(borrow, default, deserialize_with = "present")]
    pub notifications: Option<&'a RawValue>,
    /// `requestId` of `notifications/cancelled`.
    #[serde(borrow, default, rename = "requestId", deserialize_with = "present")]
    pub request_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    reason: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    level: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "ref", deserialize_with = "present")]
    reference: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    argument: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    context: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses", deserialize_with = "present")]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState", deserialize_with = "present")]
    request_state: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "taskId", deserialize_with = "present")]
    task_id: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    /// Reads `params`, which is an object where it is there at all.
    ///
    /// # Errors
    /// -32602 when it is something else, or has a member twice.
    pub fn read(params: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let Some(params) = params else { return Ok(Self::default()) };
        if !params.get().starts_with('{') {
            return Err(RpcError::invalid_params("`params` must be an object"));
        }
        serde_json::from_str(params.get())
            .map_err(|_| RpcError::invalid_params("`params` must be an object, no member of it twice"))
    }

    /// The name, URI or task that `method` is about.
    ///
    /// # Errors
    /// -32602 when it is missing or no string.
    pub fn name_for(&self, method: Method) -> Result<Cow<'a, str>, RpcError> {
        let raw = match method.named_by() {
            Some("uri") => self.uri,
            Some("taskId") => self.task_id,
            _ => self.name,
        };
        raw.and_then(text).ok_or_else(|| missing_name(method))
    }

    /// `uri`.
    ///
    /// # Errors
    /// -32602 when it is missing or no string.
    pub fn uri(&self) -> Result<Cow<'a, str>, RpcError> {
        self.uri.and_then(text).ok_or_else(|| RpcError::invalid_params("`params.uri` must be a string"))
    }

    /// The JSON text of `arguments`; an absent one is an empty object.
    ///
    /// # Errors
    /// -32602 when it is no object.
    pub fn arguments(&self) -> Result<&'a str, RpcError> {
        match self.arguments.map(RawValue::get) {
            None => Ok("{}"),
            Some(arguments) if arguments.starts_with('{') => Ok(arguments),
            Some(_) => Err(RpcError::invalid_params("`params.arguments` must be an object")),
        }
    }

    /// `cursor`.
    ///
    /// # Errors
    /// -32602 when it is no string.
    pub fn cursor(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        let Some(cursor) = self.cursor else { return Ok(None) };
        text(cursor).map(Some).ok_or_else(|| RpcError::invalid_params("`params.cursor` must be a string"))
    }

    /// `reason`, or nothing when it is no string.
    pub fn reason(&self) -> Cow<'a, str> {
        self.reason.and_then(text).unwrap_or_default()
    }

    /// `level`.
    ///
    /// # Errors
    /// -32602 when there is no such log level.
    pub fn level(&self) -> Result<&'static str, RpcError> {
        log_level(self.level)
    }

    /// The JSON text of the client's answers to questions of an earlier round: an object of objects. `None` in a first
    /// round.
    ///
    /// # Errors
    /// -32602 when it is something else.
    pub fn input_responses(&self) -> Result<Option<&'a str>, RpcError> {
        let Some(responses) = self.input_responses else { return Ok(None) };
        let answers: Option<BTreeMap<Cow<'_, str>, &RawValue>> = serde_json::from_str(responses.get()).ok();
        match answers {
            Some(answers) if answers.values().all(|answer| object_text(answer).is_some()) => Ok(Some(responses.get())),
            _ => Err(RpcError::invalid_params("`params.inputResponses` must be an object of the answers by key")),
        }
    }

    /// The client's answers to questions of a task, each one JSON object, by key.
    ///
    /// # Errors
    /// -32602 when they are something else, or missing.
    pub fn task_answers(&self) -> Result<BTreeMap<String, Vec<u8>>, RpcError> {
        let responses = self.input_responses()?.ok_or_else(|| {
            RpcError::invalid_params("`params.inputResponses` is missing: an object of the answers by key")
        })?;
        let answers: BTreeMap<String, &RawValue> = serde_json::from_str(responses)
            .map_err(|_| RpcError::invalid_params("`params.inputResponses` must be an object of the answers by key"))?;
        Ok(answers.into_iter().map(|(key, answer)| (key, answer.get().into())).collect())
    }

    /// What an earlier round asked to be given back.
    ///
    /// # Errors
    /// -32602 when it is no string.
    pub fn request_state(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        let Some(state) = self.request_state else { return Ok(None) };
        text(state).map(Some).ok_or_else(|| RpcError::invalid_params("`params.requestState` must be a string"))
    }

    /// The argument that `completion/complete` is about.
    ///
    /// # Errors
    /// -32602 when something that it needs is missing or of the wrong type.
    pub fn completion(&self) -> Result<Completion<'a>, RpcError> {
        let wrong = || {
            RpcError::invalid_params(
                "`completion/complete` needs `ref` (of a prompt by name, or a template by URI) and `argument` with \
                 `name` and `value`",
            )
        };
        let reference = self.reference.and_then(object_text).ok_or_else(wrong)?;
        let argument = self.argument.and_then(object_text).ok_or_else(wrong)?;
        let reference: Reference<'a> = serde_json::from_str(reference).map_err(|_| wrong())?;
        let argument: Argument<'a> = serde_json::from_str(argument).map_err(|_| wrong())?;
        let context: CompletionContext = match self.context.and_then(object_text) {
            Some(context) => serde_json::from_str(context).map_err(|_| wrong())?,
            None => CompletionContext::default(),
        };
        let about = match (reference.kind.0.as_ref(), reference.name, reference.uri) {
            ("ref/prompt", Some(name), _) => Completed::Prompt(name.0),
            ("ref/resource", _, Some(uri)) => Completed::Template(uri.0),
            _ => return Err(wrong()),
        };
        Ok(Completion { about, name: argument.name.0, value: argument.value.0, context: context.arguments })
    }
}

/// An argument that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion<'a> {
    /// What it is an argument of.
    pub about: Completed<'a>,
    /// Its name.
    pub name: Cow<'a, str>,
    /// What has been written of it.
    pub value: Cow<'a, str>,
    /// Arguments that are known already.
    pub context: HashMap<String, String>,
}

/// What has arguments to complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completed<'a> {
    /// A prompt, by name.
    Prompt(Cow<'a, str>),
    /// A resource template, by its URI template.
    Template(Cow<'a, str>),
}

#[derive(Deserialize)]
struct Reference<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    uri: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Argument<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    value: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionContext {
    arguments: HashMap<String, String>,
}

/// The string that a JSON text is, or `None`.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// The JSON text of an object, or `None` when it is something else.
pub fn object_text(raw: &RawValue) -> Option<&str> {
    raw.get().starts_with('{').then(|| raw.get())
}

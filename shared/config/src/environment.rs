//! Options in environment variables.
//!
//! A variable's name is the prefix and the keys of the path, in capitals, joined by `_`: which `_` joins keys and
//! which stands within one is told by the schema, from which all names are made.

use std::collections::BTreeMap;

use crate::{
    KeyPath, Origin, Problem,
    shape::Shape,
    sources::{Sources, Variables},
    suggest,
    tree::Tree,
    value,
};

/// What the names of all our variables begin with.
pub const PREFIX: &str = "SWITCHYARD_";

/// Puts what the environment sets into `tree`. Variables that set a section come before those that set keys of it.
pub(crate) fn overlay(tree: &mut Tree, shape: Shape<'_>, sources: &Sources) -> Vec<Problem> {
    let names = names(shape);
    let mut problems = Vec::new();
    let mut settings = Vec::new();
    for variable in sources.variables.with_prefix(PREFIX) {
        if sources.foreign.contains(&variable) || has_service_address(&variable, &sources.variables) {
            continue;
        }
        match names.get(&variable).map(Vec::as_slice) {
            Some([path]) => settings.push((path, variable)),
            None if is_service_link(&variable) => {}
            Some(paths) => problems.push(ambiguous(variable, paths)),
            None => problems.push(unknown(variable, &names)),
        }
    }
    settings.sort_by_key(|(path, _)| path.steps().len());
    for (path, variable) in settings {
        let text = sources.variables.get(&variable);
        match text.and_then(|text| value::from_text(&text, shape.kinds_at(path))) {
            Ok(value) => tree.put(path, value, &Origin::Variable(variable)),
            Err(reason) => problems.push(problem(path.clone(), variable, reason)),
        }
    }
    problems
}

/// The variable of every option; options whose names coincide share one.
fn names(shape: Shape<'_>) -> BTreeMap<String, Vec<KeyPath>> {
    let mut names: BTreeMap<String, Vec<KeyPath>> = BTreeMap::new();
    for path in shape.options() {
        names.entry(name_of(&path)).or_default().push(path);
    }
    names
}

fn name_of(path: &KeyPath) -> String {
    let keys: Vec<_> = path.keys().map(capitals).collect();
    format!("{PREFIX}{}", keys.join("_"))
}

/// `maxBodyBytes` as `MAX_BODY_BYTES`.
fn capitals(key: &str) -> String {
    let mut name = String::new();
    let mut before_is_small = false;
    for letter in key.chars() {
        if letter.is_uppercase() && before_is_small {
            name.push('_');
        }
        before_is_small = letter.is_lowercase() || letter.is_ascii_digit();
        name.push(if letter == '-' { '_' } else { letter.to_ascii_uppercase() });
    }
    name
}

/// Whether an orchestrator made this variable, which is named like an option, to say where a service listens. For a
/// service called `switchyard-server` Kubernetes sets `SWITCHYARD_SERVER_PORT=tcp://10.0.0.1:3000`.
fn has_service_address(variable: &str, variables: &Variables) -> bool {
    let is_address = |value: String| ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    variable.ends_with("_PORT") && variables.get(variable).is_ok_and(is_address)
}

/// Whether an orchestrator makes variables of this name beside that one, such as `SWITCHYARD_SERVICE_HOST` or
/// `SWITCHYARD_PORT_3000_TCP_ADDR`.
fn is_service_link(variable: &str) -> bool {
    if ["_SERVICE_HOST", "_SERVICE_PORT"].iter().any(|end| variable.ends_with(end))
        || variable.contains("_SERVICE_PORT_")
    {
        return true;
    }
    let Some((_, port)) = variable.rsplit_once("_PORT_") else { return false };
    // Beside the address itself there are `…_TCP_PROTO`, `…_TCP_PORT` and `…_TCP_ADDR`.
    let mut words = port.split('_');
    let number = words.next().is_some_and(|word| word.parse::<u16>().is_ok());
    number && matches!(words.next(), Some("TCP" | "UDP" | "SCTP"))
}

fn unknown(variable: String, names: &BTreeMap<String, Vec<KeyPath>>) -> Problem {
    let word = variable.trim_start_matches(PREFIX);
    let known = names.keys().map(|name| name.trim_start_matches(PREFIX));
    let nearest = suggest::most_like(word, known).map(|(_, name)| format!("{PREFIX}{name}"));
    Problem { nearest, ..problem(KeyPath::default(), variable, "no option has a variable of this name".to_owned()) }
}

fn ambiguous(variable: String, paths: &[KeyPath]) -> Problem {
    let paths: Vec<_> = paths.iter().map(|path| format!("`{path}`")).collect();
    problem(KeyPath::default(), variable, format!("this may mean {}, so set it elsewhere", paths.join(" or ")))
}

fn problem(path: KeyPath, variable: String, reason: String) -> Problem {
    Problem { path, origin: Some(Origin::Variable(variable)), reason, nearest: None }
}

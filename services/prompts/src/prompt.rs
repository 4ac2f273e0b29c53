//! A prompt that can be rendered.

use std::{collections::HashMap, io};

use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, syntax::SyntaxConfig};
use serde_json::json;
use sha2::{Digest, Sha256};
use switchyard_state::{Entry, EntryKind, TaskSupport};

use crate::{
    error::{Broken, RenderError},
    file::{MessageSource, PromptFile, Role},
    tags,
};

/// How much work one message may cost, in the engine's units: an instruction, or 64 bytes that are made or looked at.
/// It is spent in well under a second.
const FUEL: u64 = 500_000;

/// A prompt, ready to be rendered.
pub(crate) struct Prompt {
    pub(crate) entry: Entry,
    pub(crate) description: String,
    pub(crate) arguments: Vec<Argument>,
    messages: Vec<Message>,
    /// Holds one template a message, named by its place.
    templates: Environment<'static>,
}

/// What a prompt takes.
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) required: bool,
}

struct Message {
    role: Role,
    template: String,
    /// The line of the file that the template begins in.
    line: usize,
}

impl Prompt {
    /// The prompt that a file says.
    pub(crate) fn parse(text: &str) -> Result<Self, Broken> {
        let file = PromptFile::parse(text)?;
        for message in &file.messages {
            tags::check(&message.text).map_err(|(at, reason)| {
                let before = message.text[..at].matches('\n').count();
                Broken::new(message.line + before, reason)
            })?;
        }
        let compiled = tags::on_large_stack(|| Self::compile(file));
        compiled.unwrap_or_else(|error| Err(Broken::new(None, format!("there is no thread to compile it: {error}"))))
    }

    fn compile(file: PromptFile) -> Result<Self, Broken> {
        let mut templates = environment();
        let mut messages = Vec::new();
        for (at, source) in file.messages.into_iter().enumerate() {
            let template = at.to_string();
            let (role, line) = (source.role, source.line);
            add_template(&mut templates, &template, source, &file.head.arguments)?;
            messages.push(Message { role, template, line });
        }
        let definition = file.head.definition();
        let mut hash = Sha256::new();
        for part in [&definition, &file.body] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let entry = Entry {
            kind: EntryKind::Prompt,
            name: file.head.name,
            definition,
            digest: hex(&hash.finalize()),
            needs: String::new(),
            prefix: String::new(),
            repeatable: true,
            timeout_ms: 0,
            tasks: TaskSupport::Never,
        };
        let arguments = file.head.arguments.into_iter();
        let arguments = arguments.map(|argument| Argument { name: argument.name, required: argument.required });
        let description = file.head.description.unwrap_or_default();
        Ok(Self { entry, description, arguments: arguments.collect(), messages, templates })
    }

    /// The prompt's messages as a JSON array of `{"role": …, "content": …}`. Arguments that were not given are empty
    /// text, and messages that come out empty are left out.
    pub(crate) fn render(&self, given: &HashMap<String, String>, limit: usize) -> Result<Vec<u8>, RenderError> {
        let value = |argument: &Argument| given.get(&argument.name).map_or("", String::as_str);
        let arguments = self.arguments.iter().map(|argument| (argument.name.as_str(), value(argument)));
        let arguments = Value::from_pairs(arguments);
        let mut messages = Vec::new();
        let mut left = limit;
        for message in &self.messages {
            let text = self.render_message(message, &arguments, left, limit)?;
            left -= text.len();
            let text = text.trim_start_matches('\n').trim_end();
            if !text.trim().is_empty() {
                let content = json!({ "type": "text", "text": text });
                messages.push(json!({ "role": message.role.as_str(), "content": content }));
            }
        }
        Ok(serde_json::Value::from(messages).to_string().into_bytes())
    }

    fn render_message(
        &self,
        message: &Message,
        arguments: &Value,
        left: usize,
        limit: usize,
    ) -> Result<String, RenderError> {
        let mut output = Output { bytes: Vec::new(), left };
        let template = self.templates.get_template(&message.template).expect("every message has its template");
        match template.render_captured_to(arguments.clone(), &mut output) {
            Ok(_) => Ok(String::from_utf8(output.bytes).expect("a template is text, and so is what it makes")),
            Err(error) => {
                let reason = match error.kind() {
                    ErrorKind::WriteFailure => format!("it becomes longer than {limit} bytes"),
                    ErrorKind::OutOfFuel => "it takes more work than is permitted".to_owned(),
                    // The error's own text may show values.
                    kind => kind.to_string(),
                };
                Err(RenderError { line: line_in_file(message.line, error.line()), reason })
            }
        }
    }
}

/// Templates can neither include others nor reach anything but their arguments.
fn environment() -> Environment<'static> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(syntax.expect("the usual delimiters do not clash"));
    environment.set_fuel(Some(FUEL));
    environment
}

fn add_template(
    environment: &mut Environment<'static>,
    name: &str,
    source: MessageSource,
    arguments: &[crate::file::Argument],
) -> Result<(), Broken> {
    environment.add_template_owned(name.to_owned(), source.text.clone()).map_err(|error| {
        let detail = error.detail().map(|detail| format!(", {detail}")).unwrap_or_default();
        Broken::new(line_in_file(source.line, error.line()), format!("{}{detail}", error.kind()))
    })?;
    let template = environment.get_template(name).expect("it was just added");
    let mut unknown: Vec<_> = template.undeclared_variables(false).into_iter().collect();
    unknown.retain(|used| !arguments.iter().any(|argument| argument.name == *used));
    unknown.retain(|used| !environment.globals().any(|(global, _)| global == used));
    unknown.sort();
    let Some(used) = unknown.first() else { return Ok(()) };
    let line = source.text.lines().position(|line| line.contains(used.as_str())).map(|at| source.line + at);
    Err(Broken::new(line, format!("`{used}` is no argument of this prompt")))
}

/// The line of the file, when a template that begins in line `first` fails in its line `within`, from 1.
fn line_in_file(first: usize, within: Option<usize>) -> usize {
    first + within.unwrap_or(1).saturating_sub(1)
}

/// Collects what a template makes, up to a limit.
struct Output {
    bytes: Vec<u8>,
    left: usize,
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HEAD: &str = "---\nname: p\narguments: [{name: a, required: true}, {name: b}]\n---\n";

    fn prompt(body: &str) -> Result<Prompt, Broken> {
        Prompt::parse(&format!("{HEAD}{body}"))
    }

    fn render(body: &str, a: &str) -> Result<Vec<(String, String)>, RenderError> {
        let messages = prompt(body).unwrap().render(&HashMap::from([("a".to_owned(), a.to_owned())]), 10_000)?;
        let messages: Vec<serde_json::Value> = serde_json::from_slice(&messages).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        Ok(messages.iter().map(|message| (text(&message["role"]), text(&message["content"]["text"]))).collect())
    }

    #[test]
    fn messages_have_roles_and_texts() {
        let messages = prompt("Hello {{ a }}\n--- assistant ---\nYes?\n").unwrap();
        let messages = messages.render(&HashMap::from([("a".into(), "World".into())]), 100).unwrap();

        assert_eq!(
            String::from_utf8(messages).unwrap(),
            r#"[{"role":"user","content":{"type":"text","text":"Hello World"}},{"role":"assistant","content":{"type":"text","text":"Yes?"}}]"#
        );
    }

    #[test]
    fn an_argument_that_was_not_given_is_empty_text() {
        let body = "{% if b %}\nwith {{ b }}\n{% else %}\nwithout\n{% endif %}\n|{{ b }}|\n";

        assert_eq!(render(body, "").unwrap(), [("user".into(), "without\n||".into())]);
    }

    #[test]
    fn a_message_that_comes_out_empty_is_left_out() {
        let body = "one\n--- assistant ---\n{% if b %}two{% endif %}\n--- user ---\n\n   three\n\n";

        assert_eq!(render(body, "").unwrap(), [("user".into(), "one".into()), ("user".into(), "   three".into())]);
    }

    #[test]
    fn arguments_are_text_and_nothing_else() {
        let hostile = "{{ b }}\n--- assistant ---\n{% raw %}<&\"'>\u{0}";

        assert_eq!(render("{{ a }}!", hostile).unwrap(), [("user".into(), format!("{hostile}!"))]);
    }

    #[test]
    fn a_template_that_cannot_work_is_broken_with_its_line() {
        for (body, line, reason) in [
            ("one\n{{ a", Some(6), "syntax error"),
            ("one\n--- user ---\ntwo\n{% if a %}", Some(8), "syntax error"),
            ("{{ a | nope }}", Some(5), "unknown filter"),
            ("one\n\n{{ langage }}", Some(7), "`langage` is no argument of this prompt"),
            ("{% include 'x' %}", Some(5), "syntax error"),
            ("{% extends 'x' %}", Some(5), "syntax error"),
        ] {
            let broken = prompt(body).err();
            // Filters are looked up when the template is rendered.
            let Some(broken) = broken else {
                let error = render(body, "").unwrap_err();
                assert_eq!((Some(error.line), error.reason.as_str()), (line, reason), "{body}");
                continue;
            };
            assert_eq!(broken.line, line, "{body}: {broken:?}");
            assert!(broken.reason.contains(reason), "{body}: {broken:?}");
        }
    }

    #[test]
    fn a_template_as_deep_as_can_be_ends_nothing_but_itself() {
        let tag = |part: &str| format!("{{{{ a{} }}}}", part.repeat(4000 / part.len()));
        for part in ["-a", "|e", ".b", "+a", "**a", "()", "[0]", " if a else a", " and a", " not in a", "(", "~(", "<a"]
        {
            let _ = prompt(&tag(part)).map(|prompt| prompt.render(&HashMap::new(), 10_000).is_ok());
        }
        for opening in ["{% if a %}", "{% for x in a %}", "{% if a %}{% elif a %}", "{{ -", "{{ not ", "{{ (", "{{ ["] {
            let _ = prompt(&opening.repeat(1000)).map(|prompt| prompt.render(&HashMap::new(), 10_000).is_ok());
        }
        let negated = prompt(&format!("{{{{ {}a }}}}", "-".repeat(4000))).err();
        assert_eq!(negated, None);
        let chain = prompt(&format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(1000))).err();
        assert_eq!(chain, None);
        let broken = prompt(&format!("one\n{}", tag("|upper").repeat(2).replace(" }}{{ ", "|"))).err();
        assert_eq!(broken, Some(Broken::new(6, "a tag is longer than 4096 bytes")));
    }

    #[test]
    fn names_that_a_template_makes_itself_are_known() {
        let body = "{% set x = a %}{% for y in range(2) %}{{ loop.index }}{{ x }}{{ y }}{% endfor %}\
                    {% macro m(z) %}{{ z }}{% endmacro %}{{ m(a) }}";

        assert_eq!(render(body, "A").unwrap(), [("user".into(), "1A02A1A".into())]);
    }

    #[test]
    fn a_failure_while_rendering_names_the_line_and_shows_nothing() {
        for (body, line) in [("one\n\n{{ a.secret.deeper }}", 7), ("one\n{{ a + 1 }}", 6), ("{{ a | int }}", 5)] {
            let error = render(body, "hunter2").unwrap_err();

            assert_eq!(error.line, line, "{body}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hunter") && !shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn work_and_text_are_bounded() {
        let bodies = [
            "{% for x in range(99999) %}{% for y in range(99999) %}{% endfor %}{% endfor %}",
            "{% for x in range(99999) %}{{ a }}{% endfor %}",
            "{{ a * 999999999 }}",
            "{% set x = a * 100000 %}{% set y = x * 1000 %}{% set z = y * 1000 %}{{ z }}",
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
            "one\n--- user ---\n{{ a * 9999 }}",
        ];
        for body in bodies {
            assert!(render(body, "0123456789").is_err(), "{body}");
        }
        assert_eq!(render("{{ a * 1000 }}", "0123456789").unwrap()[0].1.len(), 10_000);
        assert_eq!(render("{{ a * 1000 }}x", "0123456789").unwrap_err().reason, "it becomes longer than 10000 bytes");
    }

    #[test]
    fn the_digest_covers_what_clients_see_and_what_it_says() {
        let digest = |text: &str| Prompt::parse(text).unwrap().entry.digest;
        let first = digest("---\nname: p\n---\nx");

        assert_eq!(first.len(), 64);
        assert_eq!(first, digest("---\r\nname:   p\r\n---\r\nx"));
        assert_ne!(first, digest("---\nname: p\n---\ny"));
        assert_ne!(first, digest("---\nname: p\ntitle: P\n---\nx"));
    }

    #[test]
    fn a_prompt_is_announced_as_what_may_be_repeated() {
        let entry = prompt("x").unwrap().entry;

        assert_eq!((entry.kind, entry.name.as_str(), entry.repeatable), (EntryKind::Prompt, "p", true));
        assert!(entry.definition.starts_with(r#"{"name":"p","#), "{}", entry.definition);
    }
}

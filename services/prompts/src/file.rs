//! A prompt as a file: what it is, between two lines of `---`, then what it says.
//!
//! ```text
//! ---
//! name: code_review
//! title: Code review
//! description: Reviews code.
//! arguments:
//!   - name: code
//!     description: The code to review.
//!     required: true
//! ---
//! --- user ---
//! Review this code: {{ code }}
//! --- assistant ---
//! With pleasure.
//! ```
//!
//! A line `--- user ---` or `--- assistant ---` begins a message in that role; text before the first such line is the
//! user's. The lines are looked for before arguments are put in, so nobody's argument can begin a message. Within a
//! message the text is a template in Jinja's language.

use serde::Deserialize;
use serde_json::json;

use crate::error::Broken;

/// The longest name of a prompt or argument, in bytes.
const LONGEST_NAME: usize = 64;

/// How many messages a prompt may have; each may cost as much work as one message may.
const MOST_MESSAGES: usize = 100;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
}

impl Role {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// What a file says, in its parts.
#[derive(Debug)]
pub(crate) struct PromptFile {
    pub(crate) head: Head,
    pub(crate) messages: Vec<MessageSource>,
    /// Everything after the head.
    pub(crate) body: String,
}

/// What a prompt is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub(crate) name: String,
    title: Option<String>,
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) arguments: Vec<Argument>,
}

/// What a prompt takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Argument {
    pub(crate) name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    pub(crate) required: bool,
}

/// One message before arguments are put in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MessageSource {
    pub(crate) role: Role,
    pub(crate) text: String,
    /// The line of the file that the text begins in, from 1.
    pub(crate) line: usize,
}

impl PromptFile {
    pub(crate) fn parse(text: &str) -> Result<Self, Broken> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let lines: Vec<_> = text.split('\n').collect();
        let begins = lines.first().is_some_and(|line| line.trim_end() == "---");
        let end = lines.iter().skip(1).position(|line| line.trim_end() == "---").map(|at| at + 1);
        let Some(end) = end.filter(|_| begins) else {
            return Err(Broken::new(1, "the file does not begin with a head between two lines of `---`"));
        };
        let head = Head::parse(&lines[1..end].join("\n"))?;
        let messages = split(&lines[end + 1..], end + 2)?;
        if messages.is_empty() {
            return Err(Broken::new(end + 1, "there is no text below the head"));
        }
        if messages.len() > MOST_MESSAGES {
            let line = messages[MOST_MESSAGES].line;
            return Err(Broken::new(line, format!("there are more than {MOST_MESSAGES} messages")));
        }
        Ok(Self { head, messages, body: lines[end + 1..].join("\n") })
    }
}

impl Head {
    fn parse(yaml: &str) -> Result<Self, Broken> {
        let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
        let head: Self = serde_saphyr::from_str_with_options(yaml, options).map_err(|error| {
            // The head begins in the file's second line.
            let line = error.location().and_then(|at| usize::try_from(at.line()).ok()).map(|line| line + 1);
            let message = error.without_snippet().render_with_formatter(&serde_saphyr::UserMessageFormatter);
            let reason = message.split(" at line ").next().unwrap_or(&message);
            Broken::new(line, format!("the head cannot be read: {reason}"))
        })?;
        head.check()?;
        Ok(head)
    }

    fn check(&self) -> Result<(), Broken> {
        let is_name = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'.' | b'-');
        if !(1..=LONGEST_NAME).contains(&self.name.len()) || !self.name.bytes().all(is_name) {
            return Err(Broken::new(None, "a prompt's name is 1 to 64 letters, digits, `_`, `.` or `-`"));
        }
        for (at, argument) in self.arguments.iter().enumerate() {
            let name = &argument.name;
            if !is_variable(name) {
                let rule = "an argument's name is 1 to 64 letters, digits or `_`, and begins with no digit";
                return Err(Broken::new(None, format!("{rule}, unlike that of argument {}", at + 1)));
            }
            if self.arguments[..at].iter().any(|other| other.name == *name) {
                return Err(Broken::new(None, format!("there are two arguments called `{name}`")));
            }
        }
        Ok(())
    }

    /// The prompt as clients see it in a list: one JSON object.
    pub(crate) fn definition(&self) -> String {
        let arguments = self.arguments.iter().map(|argument| {
            let mut entry = json!({ "name": argument.name, "required": argument.required });
            put(&mut entry, "title", argument.title.as_deref());
            put(&mut entry, "description", argument.description.as_deref());
            entry
        });
        let mut definition = json!({ "name": self.name, "arguments": arguments.collect::<Vec<_>>() });
        put(&mut definition, "title", self.title.as_deref());
        put(&mut definition, "description", self.description.as_deref());
        definition.to_string()
    }
}

fn put(object: &mut serde_json::Value, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        object[key] = value.into();
    }
}

/// Whether a template can refer to something of this name.
fn is_variable(name: &str) -> bool {
    let letters = name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_');
    letters && (1..=LONGEST_NAME).contains(&name.len()) && !name.as_bytes()[0].is_ascii_digit()
}

/// The messages in these lines, of which the first is the file's line `first`. Those without text are left out.
fn split(lines: &[&str], first: usize) -> Result<Vec<MessageSource>, Broken> {
    let mut messages = Vec::new();
    let mut role = Role::User;
    let mut begin = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some(word) = marker(line) else { continue };
        push(&mut messages, role, &lines[begin..at], first + begin);
        role = match word {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return Err(Broken::new(first + at, format!("`{word}` is no role, there are `user` and `assistant`"))),
        };
        begin = at + 1;
    }
    push(&mut messages, role, &lines[begin..], first + begin);
    Ok(messages)
}

fn push(messages: &mut Vec<MessageSource>, role: Role, lines: &[&str], line: usize) {
    if lines.iter().any(|line| !line.trim().is_empty()) {
        messages.push(MessageSource { role, text: lines.join("\n"), line });
    }
}

/// The word of a line that begins a message. No rule of Markdown, diff or YAML looks like it.
fn marker(line: &str) -> Option<&str> {
    let word = line.trim_end().strip_prefix("--- ")?.strip_suffix(" ---")?.trim();
    let is_word = !word.is_empty() && word.bytes().all(|letter| letter.is_ascii_alphabetic());
    is_word.then_some(word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn broken(text: &str) -> (Option<usize>, String) {
        let broken = PromptFile::parse(text).unwrap_err();
        (broken.line, broken.reason)
    }

    fn messages(body: &str) -> Vec<(Role, String, usize)> {
        let file = PromptFile::parse(&format!("---\nname: a\n---\n{body}")).unwrap();
        file.messages.into_iter().map(|message| (message.role, message.text, message.line)).collect()
    }

    #[test]
    fn a_file_says_what_the_prompt_is_and_what_it_says() {
        let text = "\u{feff}---\r\nname: greet\r\ntitle: Greeting\r\ndescription: Greets.\r\narguments:\r\n  - name: who\r\n    \
                    required: true\r\n  - {name: how, title: How, description: In which way.}\r\n---\r\nHello\r\n{{ who }}\r\n";

        let file = PromptFile::parse(text).unwrap();

        let definition: serde_json::Value = serde_json::from_str(&file.head.definition()).unwrap();
        assert_eq!(
            definition,
            json!({
                "name": "greet",
                "title": "Greeting",
                "description": "Greets.",
                "arguments": [
                    { "name": "who", "required": true },
                    { "name": "how", "title": "How", "description": "In which way.", "required": false },
                ],
            })
        );
        assert_eq!(file.body, "Hello\n{{ who }}\n");
        assert_eq!(file.messages[0].line, 10);
    }

    #[test]
    fn marker_lines_begin_messages_and_text_before_them_is_the_users() {
        let (user, assistant) = (Role::User, Role::Assistant);

        assert_eq!(messages("one\ntwo"), [(user, "one\ntwo".into(), 4)]);
        assert_eq!(
            messages("one\n--- assistant ---\ntwo\n--- user --- \n\nthree"),
            [(user, "one".into(), 4), (assistant, "two".into(), 6), (user, "\nthree".into(), 8)]
        );
        assert_eq!(messages("\n \n--- assistant ---\none\n--- user ---\n"), [(assistant, "one".into(), 7)]);
    }

    #[test]
    fn what_only_resembles_a_marker_is_text() {
        for line in [
            "---",
            "--- a/file.rs",
            "--- two words ---",
            "---user---",
            " --- user ---",
            "--- user",
            "- --- user ---",
            "[user]",
        ] {
            assert_eq!(messages(&format!("{line}\nx")), [(Role::User, format!("{line}\nx"), 4)], "{line}");
        }
    }

    #[test]
    fn a_broken_file_is_told_with_line_and_reason() {
        for (text, line, reason) in [
            ("", Some(1), "does not begin with a head"),
            ("name: a\n", Some(1), "does not begin with a head"),
            ("---\nname: a\n", Some(1), "does not begin with a head"),
            ("---\nname: a\n---\n", Some(3), "no text below the head"),
            ("---\nname: a\n---\n--- user ---\n \n", Some(3), "no text below the head"),
            ("---\nname: a\n---\nx\n--- system ---\ny", Some(5), "`system` is no role"),
            ("---\ntitle: a\n---\nx", Some(2), "missing field `name`"),
            ("---\nname: a\nnmae: b\n---\nx", Some(3), "nmae"),
            ("---\nname: a\nname: b\n---\nx", Some(3), "duplicate mapping key `name`"),
            ("---\nname: a\narguments: [{name: x, required: maybe}]\n---\nx", Some(3), "the head cannot be read"),
            ("---\nname: a\n  b: [\n---\nx", Some(3), "the head cannot be read"),
            ("---\nname: a b\n---\nx", None, "a prompt's name is"),
            ("---\nname: ''\n---\nx", None, "a prompt's name is"),
            ("---\nname: a/b\n---\nx", None, "a prompt's name is"),
            ("---\nname: \u{e9}\n---\nx", None, "a prompt's name is"),
            ("---\nname: a\narguments: [{name: b}, {name: c-d}]\n---\nx", None, "unlike that of argument 2"),
            ("---\nname: a\narguments: [{name: 1b}]\n---\nx", None, "unlike that of argument 1"),
            ("---\nname: a\narguments: [{name: ''}]\n---\nx", None, "unlike that of argument 1"),
            ("---\nname: a\narguments: [{name: b}, {name: b}]\n---\nx", None, "two arguments called `b`"),
        ] {
            let found = broken(text);
            assert_eq!(found.0, line, "{text}: {found:?}");
            assert!(found.1.contains(reason), "{text}: {found:?}");
        }
        assert!(broken(&format!("---\nname: {}\n---\nx", "a".repeat(65))).1.contains("a prompt's name is"));
        assert!(PromptFile::parse(&format!("---\nname: {}\n---\nx", "a".repeat(64))).is_ok());
        let many = |count| format!("---\nname: a\n---\n{}", "--- user ---\nx\n".repeat(count));
        assert_eq!(broken(&many(101)), (Some(205), "there are more than 100 messages".to_owned()));
        assert!(PromptFile::parse(&many(100)).is_ok());
    }
}

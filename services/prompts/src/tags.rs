//! Bounds the tags of a template before it is compiled.
//!
//! The engine reads an expression such as `a|b|c` or `a + b + c`, and a chain of `elif`, one level deeper for each
//! part, and neither it nor the machine's stack says when that is too much: the process would end. So the length of a
//! tag and the number of `elif`s are bounded, and templates are compiled on a stack that such a depth fits on.

use std::{panic::resume_unwind, thread};

/// The longest `{{ … }}` or `{% … %}`, in bytes.
const LONGEST_TAG: usize = 4096;

/// The most `elif` tags in one message.
const MOST_ELIFS: usize = 1000;

/// The stack for compiling, in bytes: some ten times of what the bounds above allow, which the system hands out as it
/// is used.
const STACK: usize = 128 * 1024 * 1024;

/// What is too much in a template, with its byte in the text.
pub(crate) fn check(text: &str) -> Result<(), (usize, String)> {
    let mut elifs = 0;
    let mut at = 0;
    while let Some(begin) = text[at..].find('{').map(|found| at + found) {
        let inside = begin + 2;
        at = match text.as_bytes().get(begin + 1) {
            Some(b'#') => text[inside..].find("#}").map_or(text.len(), |end| inside + end),
            Some(b'{' | b'%') => {
                let end = end_of_tag(text, inside);
                if end - begin > LONGEST_TAG {
                    return Err((begin, format!("a tag is longer than {LONGEST_TAG} bytes")));
                }
                let word = text[inside..end].trim_start_matches(['-', '+']).trim_start();
                elifs += usize::from(word.starts_with("elif"));
                if elifs > MOST_ELIFS {
                    return Err((begin, format!("there are more than {MOST_ELIFS} `elif` tags")));
                }
                match word.strip_prefix("raw") {
                    Some(rest) if rest.trim_matches(['-', '+', ' ']).is_empty() => {
                        text[end..].find("endraw").map_or(text.len(), |found| end + found)
                    }
                    _ => end,
                }
            }
            _ => begin + 1,
        };
    }
    Ok(())
}

/// Where the tag ends whose content begins at `from`: its first brace that stands in no string, or the text's end.
fn end_of_tag(text: &str, from: usize) -> usize {
    let mut quote = None;
    let mut bytes = text.as_bytes().iter().enumerate().skip(from);
    while let Some((at, byte)) = bytes.next() {
        match (byte, quote) {
            (b'\\', Some(_)) => {
                bytes.next();
            }
            (byte, Some(open)) if *byte == open => quote = None,
            (b'"' | b'\'', None) => quote = Some(*byte),
            (b'}', None) if at > from && matches!(text.as_bytes()[at - 1], b'}' | b'%') => return at - 1,
            _ => {}
        }
    }
    text.len()
}

/// Runs `work` on a stack of its own that is large enough for what [`check`] lets pass.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("prompt-compiler".to_owned()).stack_size(STACK);
        let running = thread.spawn_scoped(scope, work)?;
        Ok(running.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_templates_pass_however_long_they_are() {
        let text = "{{ a }} { b } {% if a %}{# don't {{ #}{% endif %} é {{ \"}}\" }} {}".repeat(5000);

        assert_eq!(check(&text), Ok(()));
        assert_eq!(check(&format!("{{% raw %}}{{{{{}", " ".repeat(9000))), Ok(()));
        assert_eq!(check(&format!("{{%- raw -%}}{{{{{}{{% endraw %}}{{{{ a }}}}", " ".repeat(9000))), Ok(()));
        for text in ["", "{", "{{", "{%", "{#", "{{}", "{%}", "{#}", "{{}}", "{%%}", "{%raw", "{{'", "{{'\\", "{é{é%}"]
        {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_tag_that_is_too_long_is_found_wherever_strings_pretend_to_end_it() {
        let long = "-".repeat(5000);
        for (text, at) in [
            (format!("{{{{ {long}a }}}}"), 0),
            (format!("x{{% if {long}a %}}"), 1),
            (format!("{{{{ \"}}}}\" ~ {long}a }}}}"), 0),
            (format!("{{{{ '\\'}}}}' ~ {long}a }}}}"), 0),
            (format!("{{{{ a }}}}{{# '}} #}}{{{{{long}"), 15),
            (format!("{{% raw %}}{{% endraw %}}{{{{{long}a}}}}"), 21),
        ] {
            assert_eq!(check(&text), Err((at, "a tag is longer than 4096 bytes".to_owned())), "{:.40}", text);
        }
    }

    #[test]
    fn a_chain_of_alternatives_that_is_too_long_is_found() {
        let chain = |count| format!("{{% if a %}}{}{{% endif %}}", "{%- elif a %}".repeat(count));

        assert_eq!(check(&chain(MOST_ELIFS)), Ok(()));
        assert!(check(&chain(MOST_ELIFS + 1)).is_err());
    }
}

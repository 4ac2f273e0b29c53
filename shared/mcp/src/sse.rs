//! Server-sent events out of the bytes of a response, however those were cut.

/// One event. Its name is not kept, for nothing depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its data, lines joined; empty for an event that only moves the id on.
    pub data: String,
    /// Its id, if it has one.
    pub id: Option<String>,
    /// The reconnection time that came with it, in milliseconds.
    pub retry: Option<u64>,
}

/// Reads events of at most `limit` bytes.
pub struct Parser {
    limit: usize,
    line: Vec<u8>,
    /// The first line has passed, before which a mark of byte order may stand.
    begun: bool,
    after_return: bool,
    open: Event,
    data: Vec<u8>,
    has_data: bool,
}

/// An event is larger than the limit.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

impl Parser {
    /// Nothing read yet.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            begun: false,
            after_return: false,
            open: Event::default(),
            data: Vec::new(),
            has_data: false,
        }
    }

    /// Adds the events that end in the next bytes to `events`.
    ///
    /// # Errors
    /// An event is larger than the limit. Those before it have been added.
    pub fn take(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLarge> {
        while !bytes.is_empty() {
            // The second half of a line's end that came cut in two.
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() + self.data.len() > self.limit {
                return Err(TooLarge);
            }
            let Some(end) = end else { break };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.take_line(&line));
        }
        Ok(())
    }

    fn take_line(&mut self, mut line: &[u8]) -> Option<Event> {
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            let is_event = std::mem::take(&mut self.has_data) || self.open != Event::default();
            let mut event = std::mem::take(&mut self.open);
            event.data = String::from_utf8_lossy(&std::mem::take(&mut self.data)).into_owned();
            return is_event.then_some(event);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => self.open.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => self.open.retry = number(value).or(self.open.retry),
            // Comments, names of events, and what may come some day.
            _ => {}
        }
        None
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The number that digits are; anything else is none.
fn number(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok().filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(text: &str, step: usize) -> Vec<Event> {
        let (mut parser, mut events) = (Parser::new(1000), Vec::new());
        for piece in text.as_bytes().chunks(step) {
            parser.take(piece, &mut events).unwrap();
        }
        events
    }

    #[test]
    fn field_case_83_events_are_the_same_wherever_they_are_cut() {
        for end in ["\n", "\r\n", "\r"] {
            let lines = [
                "\u{feff}: hello",
                "event: message",
                "id: 7",
                "data: {\"a\":",
                "data:\"🚃 天\"}",
                "",
                "retry: 250",
                "id",
                "data",
                "",
                "data: lost",
            ];
            let text = lines.join(end);
            let expected = vec![
                Event { data: "{\"a\":\n\"🚃 天\"}".into(), id: Some("7".into()), retry: None },
                Event { data: String::new(), id: Some(String::new()), retry: Some(250) },
            ];
            for step in 1..=text.len() {
                assert_eq!(parse(&text, step), expected, "{end:?} in steps of {step}");
            }
        }
    }

    #[test]
    fn comments_alone_are_no_event() {
        assert_eq!(parse(": keep-alive\n\n: keep-alive\n\n", 5), []);
    }

    #[test]
    fn a_mark_of_byte_order_belongs_to_no_line() {
        let data = |text| parse(text, 1).pop().map(|event| event.data);

        assert_eq!(data("\u{feff}data: x\n\n").as_deref(), Some("x"));
        assert_eq!(data("data: x\n\u{feff}data: y\n\n").as_deref(), Some("x"), "only at the beginning");
    }

    #[test]
    fn a_reconnection_time_that_is_no_number_is_passed_over() {
        for wrong in ["+5", "-5", "5s", " 5", "", "99999999999999999999"] {
            let events = parse(&format!("retry: 250\nretry: {wrong}\ndata\n\n"), 7);

            assert_eq!(events, [Event { retry: Some(250), ..Event::default() }], "{wrong:?}");
        }
    }

    #[test]
    fn an_event_above_the_limit_is_an_error_and_costs_none_before_it() {
        for step in [1, 100] {
            let (mut parser, mut events) = (Parser::new(10), Vec::new());

            let mut pieces = b"data: 1234\n\ndata: 12345".chunks(step);
            let taken = pieces.try_for_each(|piece| parser.take(piece, &mut events));

            assert_eq!(taken, Err(TooLarge), "in steps of {step}");
            assert_eq!(events.len(), 1, "in steps of {step}");
        }
    }
}

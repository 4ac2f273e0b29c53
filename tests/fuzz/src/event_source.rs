//! What a browser makes of an event stream, to the letter of the standard: slow, plain, and knowing nothing of how the
//! bytes came. It is what our writer and our reader are held against.

use switchyard_mcp::sse::Event;

/// What a stream told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Its name; empty for the default.
    pub name: String,
    /// Its data; `None` for what is no event to a browser, but sets the id or the reconnection time.
    pub data: Option<String>,
    /// The id in it.
    pub id: Option<String>,
    /// The reconnection time in it, in milliseconds.
    pub retry: Option<u64>,
}

impl Heard {
    /// As our own reader hears it.
    pub(crate) fn into_event(self) -> Event {
        Event { data: self.data.unwrap_or_default(), id: self.id, retry: self.retry }
    }
}

/// Everything that these bytes tell, comments left out.
pub(crate) fn read(bytes: &[u8]) -> Vec<Heard> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut all = Vec::new();
    let mut open = Heard::default();
    // What follows the last end of a line is no line.
    let Some((lines, _)) = text.rsplit_once('\n') else { return all };
    for line in lines.split('\n') {
        if line.is_empty() {
            let heard = std::mem::take(&mut open);
            if heard != (Heard { name: heard.name.clone(), ..Heard::default() }) {
                all.push(heard);
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut open.name),
            "data" => match &mut open.data {
                Some(data) => *data += &format!("\n{value}"),
                None => open.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => open.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.chars().all(|digit| digit.is_ascii_digit()) => {
                open.retry = value.parse().ok().or(open.retry);
            }
            _ => {}
        }
    }
    all
}

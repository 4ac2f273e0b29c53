//! Log lines for machines: one JSON object an event, its fields beside `timestamp`, `level`, `target` and `message`.
//! An error is written with all its causes.

use std::{error::Error, fmt};

use serde_json::{Map, Value};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::Writer,
        time::{FormatTime, SystemTime},
    },
    registry::LookupSpan,
};

pub(crate) struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let metadata = event.metadata();
        let mut line = Line(Map::new());
        line.put("timestamp", timestamp.into());
        line.put("level", metadata.level().as_str().into());
        line.put("target", metadata.target().into());
        event.record(&mut line);
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

struct Line(Map<String, Value>);

impl Line {
    fn put(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut chain = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            chain.push_str(": ");
            chain.push_str(&error.to_string());
            cause = error.source();
        }
        self.put(field.name(), chain.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}").into());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use serde_json::json;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the file cannot be read")]
    struct Unreadable(#[source] io::Error);

    #[test]
    fn an_event_is_one_json_object_with_its_fields_and_the_causes_of_its_error() {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::registry()
            .with(tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).event_format(Json));

        let error = Unreadable(io::Error::other("disk on fire"));
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(took_ms = 3, safe = true, id = %"a\"b", error = &error as &dyn Error, "could not read");
        });

        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let mut line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(text.matches('\n').count(), 1);
        assert!(line["timestamp"].take().as_str().unwrap().ends_with('Z'));
        assert_eq!(
            line,
            json!({
                "timestamp": null,
                "level": "WARN",
                "target": "switchyard_telemetry::json::tests",
                "took_ms": 3,
                "safe": true,
                "id": "a\"b",
                "error": "the file cannot be read: disk on fire",
                "message": "could not read",
            })
        );
    }
}

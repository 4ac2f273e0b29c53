//! What a process writes, collected as it comes.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    sync::watch,
    task::JoinHandle,
};

use crate::{PATIENCE, within};

/// What a process writes, collected as it comes.
#[derive(Debug)]
pub(crate) struct Output {
    text: Arc<Mutex<String>>,
    lines: watch::Receiver<usize>,
    reader: JoinHandle<()>,
}

impl Output {
    /// Reads until the process ends.
    pub fn read(from: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let (count, lines) = watch::channel(0);
        let collected = text.clone();
        // Ends with the process whose output it reads.
        let reader = tokio::spawn(async move {
            let mut from = BufReader::new(from);
            let mut line = Vec::new();
            while from.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                *collected.lock().expect("nothing panics while holding it") += &String::from_utf8_lossy(&line);
                line.clear();
                count.send_modify(|count| *count += 1);
            }
        });
        Self { text, lines, reader }
    }

    /// All of it so far.
    pub fn text(&self) -> String {
        self.text.lock().expect("nothing panics while holding it").clone()
    }

    /// Waits for another line, or a moment, or the end.
    pub async fn more(&mut self) {
        let moment = std::time::Duration::from_millis(100);
        if let Ok(Err(_)) = tokio::time::timeout(moment, self.lines.changed()).await {
            tokio::time::sleep(moment).await;
        }
    }

    /// Waits for the end.
    pub async fn all(&mut self) {
        within(PATIENCE, "the end of a node's output", &mut self.reader).await.expect("the reader does not panic");
    }
}

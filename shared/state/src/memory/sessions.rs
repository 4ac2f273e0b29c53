//! The sessions of one process.
//!
//! Expired ones are skipped at once and removed by a sweep, which any call makes when the last one was a while ago.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{SWEEP, expiry, log::MemoryLog, replies::MemoryReplies};
use crate::{Floor, FloorChange, NodeId, Offset, Session, SessionId, SessionStore, StoreError};

/// The table of sessions, the log that their changes go to, and the replies that end with them.
pub struct MemorySessions {
    log: Arc<MemoryLog>,
    replies: Arc<MemoryReplies>,
    table: Mutex<Table>,
}

struct Table {
    rows: HashMap<SessionId, Row>,
    swept: Instant,
}

struct Row {
    session: Session,
    expires: Instant,
}

impl MemorySessions {
    pub fn new(log: Arc<MemoryLog>, replies: Arc<MemoryReplies>) -> Self {
        Self { log, replies, table: Mutex::new(Table { rows: HashMap::new(), swept: Instant::now() }) }
    }

    /// Locked before the log and the replies, always in this order.
    fn table(&self) -> MutexGuard<'_, Table> {
        let mut table = self.table.lock().expect("nothing panics while holding it");
        table.sweep(Instant::now());
        table
    }
}

impl Table {
    fn sweep(&mut self, now: Instant) {
        if now.duration_since(self.swept) >= SWEEP {
            self.swept = now;
            self.rows.retain(|_, row| row.expires > now);
        }
    }

    fn row(&mut self, id: &SessionId) -> Option<&mut Row> {
        let now = Instant::now();
        self.rows.get_mut(id).filter(|row| row.expires > now)
    }

    fn session(&mut self, id: &SessionId) -> Option<&mut Session> {
        self.row(id).map(|row| &mut row.session)
    }

    fn touch(&mut self, id: &SessionId, ttl: Duration) -> Option<&Session> {
        let row = self.row(id)?;
        row.expires = expiry(ttl);
        Some(&row.session)
    }
}

#[async_trait]
impl SessionStore for MemorySessions {
    async fn create(&self, session: &Session, ttl: Duration) -> Result<(), StoreError> {
        let mut table = self.table();
        let end = self.log.end();
        let session = Session { left: end.last, epoch: end.epoch, ..session.clone() };
        table.rows.insert(session.id.clone(), Row { session, expires: expiry(ttl) });
        Ok(())
    }

    async fn load(&self, id: &SessionId, ttl: Duration) -> Result<Option<Session>, StoreError> {
        Ok(self.table().touch(id, ttl).cloned())
    }

    async fn touch(&self, ids: &[SessionId], ttl: Duration) -> Result<Vec<SessionId>, StoreError> {
        let mut table = self.table();
        Ok(ids.iter().filter(|id| table.touch(id, ttl).is_some()).cloned().collect())
    }

    async fn set_ready(&self, id: &SessionId, entry: &[u8]) -> Result<bool, StoreError> {
        let mut table = self.table();
        let Some(session) = table.session(id) else { return Ok(false) };
        session.ready = true;
        self.log.push(entry);
        Ok(true)
    }

    async fn set_log_level(&self, id: &SessionId, level: &str) -> Result<bool, StoreError> {
        let mut table = self.table();
        let Some(session) = table.session(id) else { return Ok(false) };
        session.log_level = Some(level.to_owned());
        Ok(true)
    }

    async fn subscribe(&self, id: &SessionId, uri: &str, entry: &[u8]) -> Result<Option<Offset>, StoreError> {
        let mut table = self.table();
        let Some(session) = table.session(id) else { return Ok(None) };
        if let Some(first) = session.subscriptions.get(uri) {
            return Ok(Some(*first));
        }
        let offset = self.log.push(entry);
        session.subscriptions.insert(uri.to_owned(), offset);
        Ok(Some(offset))
    }

    async fn unsubscribe(&self, id: &SessionId, uri: &str, entry: &[u8]) -> Result<bool, StoreError> {
        let mut table = self.table();
        let Some(session) = table.session(id) else { return Ok(false) };
        let removed = session.subscriptions.remove(uri).is_some();
        if removed {
            self.log.push(entry);
        }
        Ok(removed)
    }

    async fn take_floor(
        &self,
        id: &SessionId,
        stream: &str,
        node: &NodeId,
        entry: &[u8],
    ) -> Result<Option<FloorChange>, StoreError> {
        let mut table = self.table();
        let Some(session) = table.session(id) else { return Ok(None) };
        let at = self.log.push(entry);
        let floor = Floor { stream: stream.to_owned(), node: node.clone(), at };
        let before = session.floor.replace(floor);
        let left = std::mem::replace(&mut session.left, at);
        Ok(Some(FloorChange { at, before, left }))
    }

    async fn release_floor(&self, id: &SessionId, stream: &str, left: Offset) -> Result<bool, StoreError> {
        let mut table = self.table();
        let Some(session) = table.session(id) else { return Ok(false) };
        if session.floor.as_ref().is_none_or(|floor| floor.stream != stream) {
            return Ok(false);
        }
        session.floor = None;
        session.left = left;
        Ok(true)
    }

    async fn remove(&self, id: &SessionId, entry: &[u8]) -> Result<bool, StoreError> {
        let mut table = self.table();
        if table.session(id).is_none() {
            return Ok(false);
        }
        table.rows.remove(id);
        self.replies.forget(id);
        self.log.push(entry);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LogLimits, ReplyLimits};

    #[tokio::test]
    async fn an_expired_session_is_removed_though_nobody_loads_it() {
        let log = Arc::new(MemoryLog::new(LogLimits::default()));
        let replies = Arc::new(MemoryReplies::new(ReplyLimits::default()));
        let sessions = MemorySessions::new(log, replies);
        let [expired, alive] = ["expired", "alive"].map(|id| SessionId(id.into()));
        sessions.create(&session(&expired), Duration::ZERO).await.expect("memory is never away");
        sessions.create(&session(&alive), Duration::from_secs(60)).await.expect("memory is never away");

        sessions.table.lock().expect("nobody else holds it").swept -= SWEEP;

        assert_eq!(sessions.table().rows.keys().collect::<Vec<_>>(), [&alive]);
    }

    fn session(id: &SessionId) -> Session {
        Session {
            id: id.clone(),
            revision: "2025-06-18".into(),
            principal: String::new(),
            client_capabilities: "{}".into(),
            client: "a client/1".into(),
            ready: false,
            log_level: None,
            subscriptions: Default::default(),
            floor: None,
            left: Offset::default(),
            epoch: String::new(),
        }
    }
}

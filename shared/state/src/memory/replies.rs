//! The reply logs of one process.
//!
//! Expired ones are skipped at once and removed by a sweep, which any call makes when the last one was a while ago.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use super::{SWEEP, expiry};
use crate::{NodeId, ReplyBatch, ReplyId, ReplyLimits, ReplyLog, SessionId, StoreError};

/// The table of reply logs.
pub struct MemoryReplies {
    limits: ReplyLimits,
    table: Mutex<Table>,
}

struct Table {
    /// The replies of each session, in the order in which they began.
    sessions: HashMap<SessionId, Vec<Reply>>,
    swept: Instant,
}

struct Reply {
    stream: String,
    node: NodeId,
    requests: String,
    ttl: Duration,
    expires: Instant,
    closed: bool,
    /// The newest event's number.
    last: u64,
    events: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Tells the waiting of an event or the end, and by its own end that the log is gone.
    news: watch::Sender<()>,
}

impl MemoryReplies {
    pub fn new(limits: ReplyLimits) -> Self {
        Self { limits, table: Mutex::new(Table { sessions: HashMap::new(), swept: Instant::now() }) }
    }

    /// Removes the replies of a session that has ended.
    pub fn forget(&self, session: &SessionId) {
        self.table().sessions.remove(session);
    }

    /// Locked after the sessions, always in this order.
    fn table(&self) -> MutexGuard<'_, Table> {
        let mut table = self.table.lock().expect("nothing panics while holding it");
        table.sweep(Instant::now());
        table
    }
}

impl Table {
    fn sweep(&mut self, now: Instant) {
        if now.duration_since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        self.sessions.retain(|_, replies| {
            replies.retain(|reply| reply.expires > now);
            !replies.is_empty()
        });
    }

    fn reply(&mut self, id: &ReplyId) -> Option<&mut Reply> {
        let now = Instant::now();
        let replies = self.sessions.get_mut(&id.session)?;
        replies.iter_mut().find(|reply| reply.stream == id.stream && reply.expires > now)
    }

    fn open(&mut self, id: &ReplyId, reply: Reply, most: usize) {
        let now = Instant::now();
        let replies = self.sessions.entry(id.session.clone()).or_default();
        replies.retain(|other| other.expires > now && other.stream != id.stream);
        while replies.len() >= most {
            replies.remove(replies.iter().position(|other| other.closed).unwrap_or(0));
        }
        replies.push(reply);
    }
}

impl Reply {
    fn new(stream: String, node: NodeId, requests: String, ttl: Duration) -> Self {
        Self {
            stream,
            node,
            requests,
            ttl,
            expires: expiry(ttl),
            closed: false,
            last: 0,
            events: VecDeque::new(),
            bytes: 0,
            news: watch::Sender::default(),
        }
    }

    fn append(&mut self, message: &[u8], limits: &ReplyLimits) -> u64 {
        self.events.push_back(message.to_vec());
        self.bytes += message.len();
        self.last += 1;
        self.expires = expiry(self.ttl);
        while self.events.len() > 1
            && (self.events.len() > limits.max_events.get() || self.bytes > limits.max_bytes.get())
        {
            self.bytes -= self.events.pop_front().map_or(0, |event| event.len());
        }
        self.news.send_replace(());
        self.last
    }

    fn batch(&self, after: u64) -> ReplyBatch {
        let after = if after > self.last { 0 } else { after };
        let dropped = self.last - self.events.len() as u64;
        let events = (dropped + 1..).zip(&self.events).filter(|(number, _)| *number > after);
        ReplyBatch {
            events: events.map(|(number, event)| (number, event.clone())).collect(),
            closed: self.closed,
            node: self.node.clone(),
            requests: self.requests.clone(),
        }
    }
}

#[async_trait]
impl ReplyLog for MemoryReplies {
    async fn open(&self, id: &ReplyId, node: &NodeId, requests: &str, ttl: Duration) -> Result<(), StoreError> {
        let mut table = self.table();
        match table.reply(id) {
            Some(reply) if reply.closed => {}
            Some(reply) => {
                reply.node = node.clone();
                reply.ttl = ttl;
                reply.expires = expiry(ttl);
            }
            None => {
                let reply = Reply::new(id.stream.clone(), node.clone(), requests.to_owned(), ttl);
                table.open(id, reply, self.limits.max_replies.get());
            }
        }
        Ok(())
    }

    async fn append(&self, id: &ReplyId, message: &[u8]) -> Result<Option<u64>, StoreError> {
        let mut table = self.table();
        let reply = table.reply(id).filter(|reply| !reply.closed);
        Ok(reply.map(|reply| reply.append(message, &self.limits)))
    }

    async fn close(&self, id: &ReplyId) -> Result<(), StoreError> {
        let mut table = self.table();
        if let Some(reply) = table.reply(id).filter(|reply| !reply.closed) {
            reply.closed = true;
            reply.expires = expiry(self.limits.keep());
            reply.news.send_replace(());
        }
        Ok(())
    }

    async fn read(&self, id: &ReplyId, after: u64, wait: Duration) -> Result<Option<ReplyBatch>, StoreError> {
        let deadline = expiry(wait);
        let (batch, mut news) = match self.table().reply(id) {
            // Under one lock with the look, so that nothing slips in between.
            Some(reply) => (reply.batch(after), reply.news.subscribe()),
            None => return Ok(None),
        };
        if batch.closed || !batch.events.is_empty() || wait.is_zero() {
            return Ok(Some(batch));
        }
        // The deadline, news, or the end of the log: each is a reason to look again.
        let _ = timeout_at(deadline, news.changed()).await;
        Ok(self.table().reply(id).map(|reply| reply.batch(after)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_expired_reply_is_removed_though_nobody_reads_it() {
        let replies = MemoryReplies::new(ReplyLimits::default());
        let [expired, alive] = ["expired", "alive"].map(|id| SessionId(id.into()));
        for (session, ttl) in [(&expired, Duration::ZERO), (&alive, Duration::from_secs(60))] {
            let id = ReplyId { session: session.clone(), stream: "stream".into() };
            replies.open(&id, &NodeId("node".into()), "[1]", ttl).await.expect("memory is never away");
        }

        replies.table.lock().expect("nobody else holds it").swept -= SWEEP;

        assert_eq!(replies.table().sessions.keys().collect::<Vec<_>>(), [&alive]);
    }
}

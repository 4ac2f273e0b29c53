//! The reply logs of a cluster: a hash of heads for each session, and a stream of events for each reply.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use redis::{Script, ScriptInvocation};
use tokio::time::Instant;

use super::{
    keys::{Keys, millis},
    link::{Link, Opener},
    waits::Waits,
};
use crate::{CENTURY, NodeId, ReplyBatch, ReplyId, ReplyLimits, ReplyLog, StoreError};

/// Reply logs that every node of a cluster appends to and reads.
pub struct RedisReplies {
    limits: ReplyLimits,
    keys: Arc<Keys>,
    link: Arc<Link>,
    waits: Waits,
    open: Script,
    append: Script,
    close: Script,
    read: Script,
}

/// What `reply_read.lua` returns.
type Reply = (String, String, bool, u64, Vec<u64>, Vec<Vec<u8>>);

impl RedisReplies {
    pub fn new(limits: &ReplyLimits, keys: Arc<Keys>, link: Arc<Link>, opener: Opener) -> Self {
        Self {
            limits: limits.clone(),
            keys,
            link,
            waits: Waits::new(opener),
            open: script(include_str!("reply_open.lua")),
            append: script(include_str!("reply_append.lua")),
            close: script(include_str!("reply_close.lua")),
            read: script(include_str!("reply_read.lua")),
        }
    }

    /// A call of a script that [`script`] made, with what `reply_head.lua` takes, and the key that it is about.
    fn call<'a>(&self, script: &'a Script, id: &ReplyId) -> (String, ScriptInvocation<'a>) {
        let key = self.keys.replies(&id.session);
        let mut call = script.key(&key);
        call.arg(self.keys.reply_prefix(&id.session)).arg(&id.stream);
        (key, call)
    }

    /// What follows `after`, and the number that stands for it.
    async fn batch(&self, id: &ReplyId, after: u64) -> Result<Option<(ReplyBatch, u64)>, StoreError> {
        let (key, mut call) = self.call(&self.read, id);
        call.arg(after);
        let reply: Option<Reply> = self.link.script(&key, &call).await?;
        Ok(reply.map(|(node, requests, closed, after, numbers, events)| {
            let events = numbers.into_iter().zip(events).collect();
            (ReplyBatch { events, closed, node: NodeId(node), requests }, after)
        }))
    }
}

#[async_trait]
impl ReplyLog for RedisReplies {
    async fn open(&self, id: &ReplyId, node: &NodeId, requests: &str, ttl: Duration) -> Result<(), StoreError> {
        let (key, mut call) = self.call(&self.open, id);
        call.arg(&node.0).arg(requests).arg(millis(ttl)).arg(self.limits.max_replies.get());
        self.link.script(&key, &call).await
    }

    async fn append(&self, id: &ReplyId, message: &[u8]) -> Result<Option<u64>, StoreError> {
        let (key, mut call) = self.call(&self.append, id);
        call.arg(message).arg(self.limits.max_events.get()).arg(self.limits.max_bytes.get());
        self.link.script(&key, &call).await
    }

    async fn close(&self, id: &ReplyId) -> Result<(), StoreError> {
        let (key, mut call) = self.call(&self.close, id);
        call.arg(millis(self.limits.keep()));
        self.link.script(&key, &call).await
    }

    async fn read(&self, id: &ReplyId, after: u64, wait: Duration) -> Result<Option<ReplyBatch>, StoreError> {
        let deadline = Instant::now() + wait.min(CENTURY);
        loop {
            let Some((batch, after)) = self.batch(id, after).await? else { return Ok(None) };
            let left = deadline.saturating_duration_since(Instant::now());
            if batch.closed || !batch.events.is_empty() || left.is_zero() {
                return Ok(Some(batch));
            }
            self.waits.entry_after(&self.keys.reply(id), after, left).await?;
        }
    }
}

/// A script that begins with `reply_head.lua`.
fn script(body: &str) -> Script {
    Script::new(&format!("{}\n{body}", include_str!("reply_head.lua")))
}

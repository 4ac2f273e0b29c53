//! The sessions of a cluster: a hash each, changed by scripts that append to the log in the same step.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use redis::{Script, pipe};

use super::{
    keys::{Keys, millis},
    link::Link,
    log::{self, RedisLog},
    record,
};
use crate::{Floor, FloorChange, NodeId, Offset, Session, SessionId, SessionStore, StoreError};

/// The most sessions that are touched in one round trip.
const TOUCHES: usize = 1_000;

/// Sessions that every node of a cluster reads and changes.
pub struct RedisSessions {
    keys: Arc<Keys>,
    link: Arc<Link>,
    log: Arc<RedisLog>,
    create: Script,
    ready: Script,
    level: Script,
    subscribe: Script,
    unsubscribe: Script,
    take_floor: Script,
    release_floor: Script,
    remove: Script,
}

impl RedisSessions {
    pub fn new(keys: Arc<Keys>, link: Arc<Link>, log: Arc<RedisLog>) -> Self {
        Self {
            keys,
            link,
            log,
            create: log::script(include_str!("session_create.lua")),
            ready: log::script(include_str!("session_ready.lua")),
            level: Script::new(include_str!("session_level.lua")),
            subscribe: log::script(include_str!("session_subscribe.lua")),
            unsubscribe: log::script(include_str!("session_unsubscribe.lua")),
            take_floor: log::script(include_str!("session_take_floor.lua")),
            release_floor: Script::new(include_str!("session_release_floor.lua")),
            remove: log::script(include_str!("session_remove.lua")),
        }
    }

    async fn touch_some(&self, ids: &[SessionId], ttl: Duration) -> Result<Vec<SessionId>, StoreError> {
        let mut commands = pipe();
        for id in ids {
            commands.pexpire(self.keys.session(id), millis(ttl));
        }
        let touched: Vec<bool> = self.link.pipeline("session", &commands).await?;
        Ok(ids.iter().zip(touched).filter(|(_, touched)| *touched).map(|(id, _)| id.clone()).collect())
    }
}

#[async_trait]
impl SessionStore for RedisSessions {
    async fn create(&self, session: &Session, ttl: Duration) -> Result<(), StoreError> {
        let key = self.keys.session(&session.id);
        let mut call = self.log.call(&self.create);
        call.key(&key).arg(millis(ttl)).arg(record::fields(session));
        self.link.script(&key, &call).await
    }

    async fn load(&self, id: &SessionId, ttl: Duration) -> Result<Option<Session>, StoreError> {
        let key = self.keys.session(id);
        // Touched first: what is read after that has not expired in between.
        let mut commands = pipe();
        commands.pexpire(&key, millis(ttl)).ignore().hgetall(&key);
        let (fields,): (HashMap<String, String>,) = self.link.pipeline(&key, &commands).await?;
        record::session(&key, id, fields)
    }

    async fn touch(&self, ids: &[SessionId], ttl: Duration) -> Result<Vec<SessionId>, StoreError> {
        let mut touched = Vec::with_capacity(ids.len());
        for some in ids.chunks(TOUCHES) {
            touched.extend(self.touch_some(some, ttl).await?);
        }
        Ok(touched)
    }

    async fn set_ready(&self, id: &SessionId, entry: &[u8]) -> Result<bool, StoreError> {
        let key = self.keys.session(id);
        let mut call = self.log.call(&self.ready);
        call.key(&key).arg(entry);
        self.link.script(&key, &call).await
    }

    async fn set_log_level(&self, id: &SessionId, level: &str) -> Result<bool, StoreError> {
        let key = self.keys.session(id);
        self.link.script(&key, self.level.key(&key).arg(level)).await
    }

    async fn subscribe(&self, id: &SessionId, uri: &str, entry: &[u8]) -> Result<Option<Offset>, StoreError> {
        let key = self.keys.session(id);
        let mut call = self.log.call(&self.subscribe);
        call.key(&key).arg(entry).arg(record::subscription(uri));
        let since: Option<u64> = self.link.script(&key, &call).await?;
        Ok(since.map(Offset))
    }

    async fn unsubscribe(&self, id: &SessionId, uri: &str, entry: &[u8]) -> Result<bool, StoreError> {
        let key = self.keys.session(id);
        let mut call = self.log.call(&self.unsubscribe);
        call.key(&key).arg(entry).arg(record::subscription(uri));
        self.link.script(&key, &call).await
    }

    async fn take_floor(
        &self,
        id: &SessionId,
        stream: &str,
        node: &NodeId,
        entry: &[u8],
    ) -> Result<Option<FloorChange>, StoreError> {
        type Taken = (u64, u64, Option<String>, Option<String>, Option<u64>);

        let key = self.keys.session(id);
        let mut call = self.log.call(&self.take_floor);
        call.key(&key).arg(entry).arg(stream).arg(&node.0);
        let taken: Option<Taken> = self.link.script(&key, &call).await?;

        Ok(taken.map(|(at, left, stream, node, since)| {
            let before = stream.zip(node).zip(since);
            let before = before.map(|((stream, node), at)| Floor { stream, node: NodeId(node), at: Offset(at) });
            FloorChange { at: Offset(at), before, left: Offset(left) }
        }))
    }

    async fn release_floor(&self, id: &SessionId, stream: &str, left: Offset) -> Result<bool, StoreError> {
        let key = self.keys.session(id);
        self.link.script(&key, self.release_floor.key(&key).arg(stream).arg(left.0)).await
    }

    async fn remove(&self, id: &SessionId, entry: &[u8]) -> Result<bool, StoreError> {
        let key = self.keys.session(id);
        let mut call = self.log.call(&self.remove);
        call.key(&key).key(self.keys.replies(id)).arg(entry).arg(self.keys.reply_prefix(id));
        self.link.script(&key, &call).await
    }
}

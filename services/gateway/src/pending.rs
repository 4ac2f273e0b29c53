//! News that one stream has not taken yet.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard},
};

use switchyard_proto::v1::ListKind;
use switchyard_state::Offset;
use tokio::sync::Notify;

/// What a stream can hear of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// A list changed.
    List(ListKind),
    /// A resource changed.
    Resource(String),
    /// A task changed.
    Task(String),
}

/// The trace context of what caused a piece of news; empty when it is not traced.
pub type Cause = String;

/// What a stream takes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A topic has news, the first of them at this offset.
    Changed(Topic, Offset, Cause),
    /// No stream has the floor, and this one may take it.
    FloorIsFree,
    /// There will be no more: the stream's session is over.
    Ended,
}

/// News of one stream: at most one entry a topic, since all of them only say "look again".
#[derive(Default)]
pub struct Pending {
    marks: Mutex<Marks>,
    changed: Notify,
}

#[derive(Default)]
struct Marks {
    first: HashMap<Topic, Offset>,
    in_order: BTreeMap<(Offset, Topic), Cause>,
    /// Everything up to this offset was handed out.
    taken: Offset,
    /// Nothing is handed out before the stream has caught up and its client is ready.
    open: bool,
    floor_is_free: bool,
    ended: bool,
}

impl Pending {
    /// Notes news of `topic`. News of one topic merges and keeps its first offset; so this never waits, loses
    /// nothing, and holds at most one entry a subscription.
    pub fn mark(&self, topic: Topic, at: Offset, cause: &str) {
        let mut marks = self.marks();
        match marks.first.get(&topic) {
            Some(first) if *first <= at => return,
            Some(first) => {
                let later = (*first, topic.clone());
                marks.in_order.remove(&later);
            }
            None => {}
        }
        marks.first.insert(topic.clone(), at);
        marks.in_order.insert((at, topic), cause.to_owned());
        self.changed.notify_one();
    }

    /// Forgets news of a topic that the client no longer wants.
    pub fn forget(&self, topic: &Topic) {
        let mut marks = self.marks();
        if let Some(first) = marks.first.remove(topic) {
            marks.in_order.remove(&(first, topic.clone()));
        }
    }

    /// The stream carries what comes after this offset, and has yet to catch up from there.
    pub fn begin(&self, from: Offset) {
        let mut marks = self.marks();
        marks.taken = from;
        marks.open = false;
    }

    /// From now on news is handed out.
    pub fn open(&self) {
        self.marks().open = true;
        self.changed.notify_one();
    }

    /// No stream has the floor, and this one may take it.
    pub fn offer_floor(&self) {
        self.marks().floor_is_free = true;
        self.changed.notify_one();
    }

    /// There will be no more news.
    pub fn end(&self) {
        self.marks().ended = true;
        self.changed.notify_one();
    }

    /// The next piece of news, in order of the offsets. Dropping the future loses none.
    pub async fn next(&self) -> News {
        loop {
            if let Some(news) = self.take() {
                return news;
            }
            self.changed.notified().await;
        }
    }

    fn take(&self) -> Option<News> {
        let mut marks = self.marks();
        if marks.ended {
            return Some(News::Ended);
        }
        if std::mem::take(&mut marks.floor_is_free) {
            return Some(News::FloorIsFree);
        }
        if !marks.open {
            return None;
        }
        let ((at, topic), cause) = marks.in_order.pop_first()?;
        marks.first.remove(&topic);
        marks.taken = at;
        Some(News::Changed(topic, at, cause))
    }

    /// While news is waiting, or may still be found, the offset up to which everything was handed out.
    pub fn behind(&self) -> Option<Offset> {
        let marks = self.marks();
        (!marks.open || !marks.in_order.is_empty()).then_some(marks.taken)
    }

    /// The offset of the oldest news that is waiting.
    #[cfg(test)]
    pub fn oldest(&self) -> Option<Offset> {
        self.marks().in_order.keys().next().map(|(at, _)| *at)
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().expect("nothing panics while holding it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(uri: &str) -> Topic {
        Topic::Resource(uri.into())
    }

    #[tokio::test]
    async fn news_of_one_topic_merges_and_keeps_its_first_offset_and_place() {
        let pending = Pending::default();
        pending.open();
        pending.mark(resource("a"), Offset(1), "");
        pending.mark(resource("b"), Offset(2), "");
        pending.mark(resource("a"), Offset(3), "");

        assert_eq!(pending.next().await, News::Changed(resource("a"), Offset(1), String::new()));
        assert_eq!(pending.next().await, News::Changed(resource("b"), Offset(2), String::new()));
        assert_eq!(pending.behind(), None);
    }

    #[tokio::test]
    async fn a_stream_that_is_behind_knows_how_far_it_came() {
        let pending = Pending::default();
        pending.begin(Offset(7));
        pending.open();
        pending.mark(resource("a"), Offset(8), "");
        pending.mark(resource("b"), Offset(9), "");
        assert_eq!(pending.behind(), Some(Offset(7)));

        pending.next().await;

        assert_eq!(pending.behind(), Some(Offset(8)));
    }

    #[tokio::test]
    async fn what_is_found_later_but_happened_earlier_comes_first() {
        let pending = Pending::default();
        pending.mark(resource("a"), Offset(5), "live");
        pending.mark(resource("a"), Offset(2), "caught up");
        pending.mark(resource("b"), Offset(1), "");
        pending.open();

        assert_eq!(pending.next().await, News::Changed(resource("b"), Offset(1), String::new()));
        assert_eq!(pending.next().await, News::Changed(resource("a"), Offset(2), "caught up".into()));
    }

    #[tokio::test]
    async fn nothing_is_handed_out_before_it_is_opened_and_nothing_after_its_end() {
        let pending = Pending::default();
        pending.mark(resource("a"), Offset(1), "");
        assert!(pending.take().is_none());

        pending.end();
        assert_eq!(pending.next().await, News::Ended);
    }
}

//! The streams of one session at this gateway, and what they are to hear.
//!
//! Of all streams of a session, at any gateway, one has the floor at every offset of the log; so each fact leaves on
//! exactly one of them. A stream that lost the floor still sends what came before, and then stays open and silent.

use std::{collections::HashMap, sync::Arc};

use switchyard_state::{Offset, Session};

use crate::pending::{Pending, Topic};

/// The streams of one session.
#[derive(Default)]
pub struct Audience {
    /// URIs with the offset after which the session hears of them.
    subscriptions: HashMap<String, Offset>,
    /// URIs that it gave up, with the offset: a record read earlier may still have them.
    given_up: HashMap<String, Offset>,
    ready: bool,
    streams: Vec<Standing>,
    /// Who took the floor, and where, while a stream does not know its place: one of these may end it.
    taken: Vec<(Offset, String)>,
}

struct Standing {
    id: String,
    pending: Arc<Pending>,
    /// It took the floor at this offset.
    at: Offset,
    /// It carries what comes after this offset, once that is known.
    from: Option<Offset>,
    /// And up to this one, once another stream took the floor.
    until: Option<Offset>,
}

impl Audience {
    /// A stream that does not know its place, yet or any more. Changes of the session are noted from now on.
    pub fn attach(&mut self, id: String, pending: Arc<Pending>) {
        self.streams.retain(|stream| stream.id != id);
        self.streams.push(Standing { id, pending, at: Offset(0), from: None, until: None });
    }

    /// A stream has its place: it took the floor at `at` and carries what comes after `from`. The session is as this
    /// record says, but for what was noted since.
    pub fn open(&mut self, id: &str, session: &Session, from: Offset, at: Offset) {
        self.ready |= session.ready;
        for (uri, since) in &session.subscriptions {
            if self.given_up.get(uri).is_none_or(|at| at < since) {
                self.subscriptions.entry(uri.clone()).or_insert(*since);
            }
        }
        let ended_by = |(taken, by): &&(Offset, String)| *taken > at && by != id;
        let until = self.taken.iter().filter(ended_by).map(|(taken, _)| *taken).min();
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.id == id) {
            stream.at = at;
            stream.from = Some(from);
            stream.until = until;
            stream.pending.begin(from);
        }
        if self.streams.iter().all(|stream| stream.from.is_some()) {
            self.given_up.clear();
            self.taken.clear();
        }
    }

    /// A stream has caught up with what it missed.
    pub fn caught_up(&self, id: &str) {
        let stream = self.streams.iter().find(|stream| stream.id == id);
        if let Some(stream) = stream.filter(|_| self.ready) {
            stream.pending.open();
        }
    }

    /// A stream is gone. `true` when it had the floor.
    pub fn detach(&mut self, id: &str) -> bool {
        let Some(index) = self.streams.iter().position(|stream| stream.id == id) else { return false };
        let stream = self.streams.remove(index);
        stream.from.is_some() && stream.until.is_none()
    }

    /// A stream, of this gateway or another, has the floor from here on.
    pub fn floor_taken(&mut self, by: &str, at: Offset) {
        // An entry from before a stream's own may come later than the stream knows its place.
        let ended = |stream: &&mut Standing| stream.id != by && stream.from.is_some() && stream.at < at;
        for stream in self.streams.iter_mut().filter(ended) {
            stream.until.get_or_insert(at);
        }
        if self.streams.iter().any(|stream| stream.from.is_none()) {
            self.taken.push((at, by.to_owned()));
        }
    }

    /// No stream has the floor any more: the youngest may take it.
    pub fn floor_freed(&self) {
        if let Some(stream) = self.streams.last() {
            stream.pending.offer_floor();
        }
    }

    /// The client is ready to hear.
    pub fn ready(&mut self) {
        self.ready = true;
        self.streams.iter().filter(|stream| stream.from.is_some()).for_each(|stream| stream.pending.open());
    }

    /// The session subscribed.
    pub fn subscribed(&mut self, uri: String, at: Offset) {
        self.given_up.remove(&uri);
        self.subscriptions.entry(uri).or_insert(at);
    }

    /// The session gave a subscription up.
    pub fn unsubscribed(&mut self, uri: String, at: Offset) {
        self.subscriptions.remove(&uri);
        let topic = Topic::Resource(uri.clone());
        self.streams.iter().for_each(|stream| stream.pending.forget(&topic));
        if self.streams.iter().any(|stream| stream.from.is_none()) {
            self.given_up.insert(uri, at);
        }
    }

    /// A fact: marked at the stream that has the floor at its offset, if the session wants to hear of it.
    pub fn hear(&self, topic: &Topic, at: Offset, cause: &str) {
        if !self.wants(topic, at) {
            return;
        }
        let carries = |stream: &&Standing| {
            stream.from.is_some_and(|from| from < at) && stream.until.is_none_or(|until| at <= until)
        };
        self.streams.iter().filter(carries).for_each(|stream| stream.pending.mark(topic.clone(), at, cause));
    }

    /// A fact that an earlier stream had left to send, which this one goes on for.
    pub fn repeat(&self, id: &str, topic: &Topic, at: Offset, cause: &str) {
        if self.wants(topic, at)
            && let Some(stream) = self.streams.iter().find(|stream| stream.id == id)
        {
            stream.pending.mark(topic.clone(), at, cause);
        }
    }

    /// Everything that the session could have missed, on this stream alone.
    pub fn repeat_everything(&self, id: &str, lists: &[Topic], at: Offset) {
        let Some(stream) = self.streams.iter().find(|stream| stream.id == id) else { return };
        let resources = self.subscriptions.keys().cloned().map(Topic::Resource);
        lists.iter().cloned().chain(resources).for_each(|topic| stream.pending.mark(topic, at, ""));
    }

    fn wants(&self, topic: &Topic, at: Offset) -> bool {
        match topic {
            Topic::List(_) => true,
            Topic::Resource(uri) => self.subscriptions.get(uri).is_some_and(|since| *since < at),
            // Sessions know of no tasks.
            Topic::Task(_) => false,
        }
    }

    /// Everything that the session could have missed.
    pub fn hear_everything(&self, lists: &[Topic], at: Offset) {
        for topic in lists {
            self.hear(topic, at, "");
        }
        for uri in self.subscriptions.keys() {
            self.hear(&Topic::Resource(uri.clone()), at, "");
        }
    }

    /// The session is over.
    pub fn end(&self) {
        self.streams.iter().for_each(|stream| stream.pending.end());
    }

    /// Whether no stream is left.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use switchyard_state::SessionId;

    use super::*;

    fn session(subscriptions: &[(&str, u64)]) -> Session {
        Session {
            id: SessionId("s".into()),
            revision: "2025-11-25".into(),
            principal: String::new(),
            client_capabilities: "{}".into(),
            client: String::new(),
            ready: true,
            log_level: None,
            subscriptions: subscriptions
                .iter()
                .map(|(uri, at)| ((*uri).to_owned(), Offset(*at)))
                .collect::<BTreeMap<_, _>>(),
            floor: None,
            left: Offset(0),
            epoch: "e".into(),
        }
    }

    fn stream(audience: &mut Audience, id: &str, from: u64) -> Arc<Pending> {
        let pending = Arc::new(Pending::default());
        audience.attach(id.into(), pending.clone());
        audience.floor_taken(id, Offset(from));
        audience.open(id, &session(&[("a", 0)]), Offset(from), Offset(from));
        audience.caught_up(id);
        pending
    }

    fn resource(uri: &str) -> Topic {
        Topic::Resource(uri.into())
    }

    #[test]
    fn each_fact_is_marked_at_exactly_the_stream_that_has_the_floor_at_its_offset() {
        let mut audience = Audience::default();
        let first = stream(&mut audience, "1", 10);
        let second = stream(&mut audience, "2", 20);

        audience.hear(&resource("a"), Offset(15), "");
        assert_eq!((first.oldest(), second.oldest()), (Some(Offset(15)), None));
        audience.hear(&resource("a"), Offset(21), "");
        assert_eq!((first.oldest(), second.oldest()), (Some(Offset(15)), Some(Offset(21))));
    }

    #[test]
    fn a_subscription_begins_after_its_own_offset_and_ends_at_once() {
        let mut audience = Audience::default();
        let pending = stream(&mut audience, "1", 0);
        audience.subscribed("b".into(), Offset(5));

        audience.hear(&resource("b"), Offset(5), "");
        assert_eq!(pending.oldest(), None);
        audience.hear(&resource("b"), Offset(6), "");
        assert_eq!(pending.oldest(), Some(Offset(6)));
        audience.unsubscribed("b".into(), Offset(7));
        assert_eq!(pending.oldest(), None);
    }

    #[test]
    fn a_subscription_given_up_while_the_record_was_read_does_not_come_back() {
        let mut audience = Audience::default();
        let pending = Arc::new(Pending::default());
        audience.attach("1".into(), pending.clone());
        audience.unsubscribed("a".into(), Offset(3));

        audience.open("1", &session(&[("a", 1)]), Offset(0), Offset(0));

        audience.hear(&resource("a"), Offset(9), "");
        assert_eq!(pending.oldest(), None);
    }

    #[test]
    fn of_two_streams_that_find_their_places_at_once_one_has_the_floor_at_every_offset() {
        let mut audience = Audience::default();
        let [first, second] = [(); 2].map(|()| Arc::new(Pending::default()));
        audience.attach("1".into(), first.clone());
        audience.attach("2".into(), second.clone());
        audience.floor_taken("1", Offset(10));
        audience.floor_taken("2", Offset(20));
        audience.floor_taken("elsewhere", Offset(30));
        audience.open("2", &session(&[("a", 0)]), Offset(20), Offset(20));
        audience.open("1", &session(&[("a", 0)]), Offset(10), Offset(10));

        for (at, expected) in [(15, [Some(15), None]), (25, [Some(15), Some(25)]), (35, [Some(15), Some(25)])] {
            audience.hear(&resource("a"), Offset(at), "");
            assert_eq!([first.oldest(), second.oldest()], expected.map(|at| at.map(Offset)), "{at}");
        }
    }

    #[test]
    fn an_earlier_entry_that_comes_late_takes_nothing_from_a_stream() {
        let mut audience = Audience::default();
        let pending = Arc::new(Pending::default());
        audience.attach("1".into(), pending.clone());
        audience.open("1", &session(&[("a", 0)]), Offset(30), Offset(30));

        audience.floor_taken("elsewhere", Offset(20));
        audience.floor_taken("1", Offset(30));

        audience.hear(&resource("a"), Offset(40), "");
        assert_eq!(pending.oldest(), Some(Offset(40)));
    }

    #[test]
    fn only_the_end_of_the_stream_with_the_floor_frees_it() {
        let mut audience = Audience::default();
        stream(&mut audience, "1", 10);
        stream(&mut audience, "2", 20);

        assert!(!audience.detach("1"));
        assert!(audience.detach("2"));
        assert!(audience.is_empty());
    }
}

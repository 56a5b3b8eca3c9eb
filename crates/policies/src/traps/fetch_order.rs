//! When to fetch a URL, and how queued URLs are re-evaluated.

use super::{HostTraps, MIRROR, SESSIONS, parameters, pattern};

/// When to fetch a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchOrder {
    /// In the normal order of its host.
    InOrder,
    /// After all other URLs of its host.
    Last,
    /// Deferred, until URLs of this mark are released.
    Deferred(u32),
}

/// The result for a queued URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swept {
    Order(FetchOrder),
    /// Deferred because it carries a session; the string is the URL without the session.
    Renamed(u32, String),
}

impl HostTraps {
    /// Re-evaluates a queued URL, given its path and query.
    pub fn judge(&self, path_and_query: &str) -> Swept {
        match parameters::without(path_and_query, self.sessions()) {
            Some(page) => Swept::Renamed(SESSIONS, page),
            None if self.is_mirror() => Swept::Order(FetchOrder::Deferred(MIRROR)),
            None => Swept::Order(self.order_on(path_and_query, false)),
        }
    }

    /// Re-evaluates a URL that is not in normal order, given the page of this host that led to it. If no page of that
    /// pattern was fetched, as for a front page, the URL is fetched in order.
    pub fn judge_on(&self, path_and_query: &str, on: &str) -> FetchOrder {
        let marks = self.marks(&pattern::of(on));
        match self.pattern(marks.own) {
            None => FetchOrder::InOrder,
            Some(_) => self.order_on(path_and_query, self.cool(marks).is_some()),
        }
    }

    /// The mark under which a URL of this host is deferred, if its pattern is cool.
    pub fn cool_mark(&self, path_and_query: &str) -> Option<u32> {
        Some(self.cool(self.marks(&pattern::of(path_and_query)))?.mark)
    }
}

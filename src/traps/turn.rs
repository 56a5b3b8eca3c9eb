//! When a URL is asked for, and what becomes of those that were queued before that was known.

use super::{HostTraps, MIRROR, SESSIONS, parameters, pattern};

/// When a URL is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// When its host comes to it.
    InOrder,
    /// When all others of its host have been.
    Last,
    /// When some of what waits under this mark is released.
    Waits(u32),
}

/// What becomes of a queued URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swept {
    Turn(Turn),
    /// It waits, as it carries a session; this is the page's URL without.
    Renamed(u32, String),
}

impl HostTraps {
    /// Of a queued URL's path and query.
    pub fn judge(&self, path_and_query: &str) -> Swept {
        match parameters::without(path_and_query, self.sessions()) {
            Some(page) => Swept::Renamed(SESSIONS, page),
            None if self.is_mirror() => Swept::Turn(Turn::Waits(MIRROR)),
            None => Swept::Turn(self.turn_on(path_and_query, false)),
        }
    }

    /// The same of a URL whose turn is not in order, by the page of this host that led to it. One of whose likes none was fetched, as
    /// the front page, is believed.
    pub fn judge_on(&self, path_and_query: &str, on: &str) -> Turn {
        let marks = self.marks(&pattern::of(on));
        match self.place(marks.own) {
            None => Turn::InOrder,
            Some(_) => self.turn_on(path_and_query, self.cool(marks).is_some()),
        }
    }

    /// The mark that a URL of this host waits under, if its pattern is cool.
    pub fn cool_mark(&self, path_and_query: &str) -> Option<u32> {
        Some(self.cool(self.marks(&pattern::of(path_and_query)))?.mark)
    }
}

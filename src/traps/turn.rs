//! When a URL is asked for, and what becomes of those that were queued before that was known.

use super::{HostTraps, SESSIONS, parameters, pattern};

/// What the frontier is asked to look for among a host's queued URLs.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The place in the queue to go on from.
    pub from: u64,
    traps: Box<HostTraps>,
}

/// When a URL is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// When its host comes to it.
    InOrder,
    /// When all others of its host have been; and if the page that led to it is cool itself ([`Sweep::is_cool`]), it waits under
    /// this mark.
    Last(u32),
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

impl Sweep {
    pub(super) fn new(from: u64, traps: &HostTraps) -> Sweep {
        Sweep { from, traps: Box::new(traps.clone()) }
    }

    /// Of a queued URL's path and query.
    pub fn judge(&self, path_and_query: &str) -> Swept {
        match parameters::without(path_and_query, self.traps.sessions()) {
            Some(page) => Swept::Renamed(SESSIONS, page),
            None => Swept::Turn(self.traps.turn(path_and_query, false)),
        }
    }

    /// Whether the pattern of a URL of this host is cool.
    pub fn is_cool(&self, path_and_query: &str) -> bool {
        self.traps.cool(self.traps.marks(&pattern::of(path_and_query))).is_some()
    }
}

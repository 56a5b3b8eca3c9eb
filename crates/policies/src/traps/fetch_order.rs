//! When to fetch a URL, and how queued URLs are re-evaluated.

use super::pattern_stats::PatternStats;
use super::{HostTraps, MIRROR, SESSIONS, SILENT, Worth, parameters, pattern};

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
    /// When to fetch a link of this host that was found on a page `from` it (none: of another host) of worth `on`. None:
    /// a seed, or a URL that was known before.
    pub fn order(&self, path_and_query: &str, from: Option<&str>, on: Option<Worth>) -> FetchOrder {
        if self.is_mirror() {
            return FetchOrder::Deferred(MIRROR);
        }
        let Some(on) = on else { return FetchOrder::InOrder };
        match self.cool_target(path_and_query) {
            None => FetchOrder::InOrder,
            // News on a page of a cool pattern leads on to the next pages of this pattern, and to no others of the trap.
            Some(cool) if on.feeds_itself && !on.is_barren && on.marks.has(cool.mark) && cool.leads_on() => {
                FetchOrder::InOrder
            }
            Some(cool) if on.feeds_itself => FetchOrder::Deferred(cool.mark),
            Some(cool) if from.is_some_and(|from| is_variant(path_and_query, from)) => FetchOrder::Deferred(cool.mark),
            Some(_) => FetchOrder::Last,
        }
    }

    /// Whether a link leads out of the trap that its page belongs to, to a pattern that brings something new.
    pub fn leads_out(&self, path_and_query: &str, on: Worth) -> bool {
        let marks = self.marks(&pattern::of(path_and_query));
        let is_news = self.pattern(marks.own).is_some_and(|target| target.silent < SILENT);
        is_news && !on.marks.has(marks.own) && self.cool(marks).is_none()
    }

    /// The cool pattern of a URL.
    fn cool_target(&self, path_and_query: &str) -> Option<&PatternStats> {
        let has_cool = self.patterns.iter().any(|stats| stats.is_cool);
        has_cool.then(|| self.cool(self.marks(&pattern::of(path_and_query)))).flatten()
    }

    /// Re-evaluates a queued URL, given its path and query.
    pub fn judge(&self, path_and_query: &str) -> Swept {
        match parameters::without(path_and_query, self.sessions()) {
            Some(page) => Swept::Renamed(SESSIONS, page),
            None if self.is_mirror() => Swept::Order(FetchOrder::Deferred(MIRROR)),
            None => {
                let is_cool = self.cool_target(path_and_query).is_some();
                Swept::Order(if is_cool { FetchOrder::Last } else { FetchOrder::InOrder })
            }
        }
    }

    /// Re-evaluates a URL that is not in normal order, given the page of this host that led to it. If no page of that
    /// pattern was fetched, as for a front page, the URL is fetched in order.
    pub fn judge_on(&self, path_and_query: &str, on: &str) -> FetchOrder {
        let marks = self.marks(&pattern::of(on));
        // Without statistics of its own, the page's directory decides.
        let stats = self.pattern(marks.own).or_else(|| self.pattern(marks.directory));
        match (stats, self.cool_target(path_and_query)) {
            (None, _) | (_, None) => FetchOrder::InOrder,
            (_, Some(cool)) if self.cool(marks).is_some() || is_variant(path_and_query, on) => {
                FetchOrder::Deferred(cool.mark)
            }
            (_, Some(_)) => FetchOrder::Last,
        }
    }

    /// The mark under which a URL of this host is deferred, if its pattern is cool.
    pub fn cool_mark(&self, path_and_query: &str) -> Option<u32> {
        Some(self.cool(self.marks(&pattern::of(path_and_query)))?.mark)
    }
}

/// Whether a URL is another view of the page that leads to it: only their queries differ, as in the history of a page or
/// the orders of a list. So the page leads to itself.
fn is_variant(path_and_query: &str, from: &str) -> bool {
    let path = |path_and_query: &str| path_and_query.split('?').next().map(str::len);
    let length = path(path_and_query).unwrap_or(0);
    path_and_query.len() > length
        && path(from) == Some(length)
        && path_and_query.as_bytes()[..length] == from.as_bytes()[..length]
}

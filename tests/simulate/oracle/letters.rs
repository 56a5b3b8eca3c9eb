//! Property 2, second half: every delivered page is complete, has the time of its fetch, and no old version follows a newer one.

use std::collections::{BTreeMap, BTreeSet};

use super::Case;
use super::removals::is_confirmed;
use super::requests::Got;
use crate::world::mishap::{What, WrongHeaders};
use crate::world::settings::{Kind, Removed};
use crate::world::{Change, Done, Event, HOUR, MINUTE, SECOND, Says};

pub fn stories(case: &Case) -> Vec<String> {
    let mut stories = Vec::new();
    let empty = crate::world::digest("");
    for (sink, log) in &case.ends.log {
        let mut by_url: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        log.iter().for_each(|change| by_url.entry(&change.url).or_default().push(change));
        for (url, changes) in by_url {
            // The written rule (docs/consuming.md): a dead letter that is replayed late can stand behind newer messages of a topic.
            let is_late = |change: &&Change| {
                sink == Kind::Kafka.name() && case.replayed(sink, url, change.fetched_ms()).is_some()
            };
            let changes = changes.into_iter().filter(|change| !is_late(change)).collect();
            let page = Page { case, sink, url, changes, empty: &empty };
            stories.extend(page.old_after_new());
            stories.extend(page.half_over_whole());
            stories.extend(page.empty_over_whole());
            stories.extend(page.of_no_fetch());
        }
    }
    stories
}

struct Page<'p> {
    case: &'p Case<'p>,
    sink: &'p str,
    url: &'p str,
    changes: Vec<&'p Change>,
    /// The digest of an empty body.
    empty: &'p str,
}

impl Page<'_> {
    /// An older version may follow a newer one only if one at least as new comes within an hour: after a restart, a sink repeats events.
    fn old_after_new(&self) -> Option<String> {
        for (nth, change) in self.changes.iter().enumerate() {
            let is_letter = self.case.replayed(self.sink, self.url, change.fetched_ms()).is_some();
            let before = if is_letter { self.what_counts(nth) } else { self.changes[..nth].to_vec() };
            let newest = before.iter().map(|it| it.fetched_ms()).max().unwrap_or_default();
            let old = change.fetched_ms();
            let is_made_good = || {
                self.changes[nth + 1..]
                    .iter()
                    .any(|it| it.fetched_ms() >= newest && it.at_ms <= change.at_ms + self.patience(change.at_ms))
            };
            if old < newest && !is_made_good() {
                return Some(format!(
                    "{} got {} as of {} at {}, after it had it as of {}",
                    self.sink,
                    self.url,
                    self.case.day(old),
                    self.case.day(change.at_ms),
                    self.case.day(newest)
                ));
            }
        }
        None
    }

    /// The changes that count against a dead letter in an index. The written rules (docs/consuming.md): a deletion may be forgotten, and
    /// with it all before it. An index that somebody has emptied has forgotten everything. A 304 gives the document no newer page.
    fn what_counts(&self, letter: usize) -> Vec<&Change> {
        let (before, at) = (&self.changes[..letter], self.changes[letter].at_ms);
        let is_forgotten = |it: &&Change| {
            let is_removed = matches!(it.what, Done::Removed { .. });
            is_removed && self.case.has_forgotten_deletions(Kind::Elastic, it.at_ms, at)
        };
        let from = before.iter().rposition(is_forgotten).map_or(0, |removed| removed + 1);
        let is_there = |it: &&Change| !self.case.has_lost_all(self.sink, it.at_ms, at);
        let counts = |it: &&Change| !matches!(it.what, Done::Touched { .. }) && is_there(it);
        before[from..].iter().copied().filter(counts).collect()
    }

    /// The hour is longer while the destination or the process is down.
    fn patience(&self, at: u64) -> u64 {
        let lasting = self
            .case
            .oracle
            .events
            .iter()
            .filter(|(from, until, _)| *from <= at + HOUR && until.unwrap_or(*from + 48 * HOUR) >= at);
        let is_slow = lasting.into_iter().any(|(_, _, event)| {
            matches!(
                event,
                Event::Destination(_)
                    | Event::DiskFull { .. }
                    | Event::NoFiles { .. }
                    | Event::Order(_)
                    | Event::Kill
                    | Event::RestartWith(_)
            )
        });
        if is_slow { 4 * 24 * HOUR } else { HOUR }
    }

    /// Bodies that the web answered completely for the URL.
    fn whole(&self) -> BTreeSet<&str> {
        let whole = |(_, last): &(&super::requests::Asked, &super::requests::Asked)| last.got == Got::Whole;
        let of = self.case.oracle.requests.of(self.url).filter(whole);
        of.filter_map(|(_, last)| match &last.meant.says {
            Says::Page { digest, .. } => Some(digest.as_str()),
            _ => None,
        })
        .collect()
    }

    fn half_over_whole(&self) -> Option<String> {
        let is_of_headers = |what: &What| matches!(what, What::Headers(WrongHeaders::NotGzip));
        if self.case.world.mishaps.iter().any(|mishap| is_of_headers(&mishap.what)) {
            return None; // bodies that cannot be decoded are delivered as far as they can
        }
        let whole = self.whole();
        let mut whole_since = None;
        for change in &self.changes {
            match &change.what {
                Done::Delivered { digest, .. } if !whole.contains(digest.as_str()) => {
                    let is_known = |since: u64| {
                        !self.case.has_lost_all(self.sink, since, change.at_ms)
                            && !self.case.was_forgotten(self.url, since, change.at_ms)
                    };
                    if whole_since.is_some_and(is_known) {
                        return Some(format!(
                            "{} had {} whole, and at {} got something that no whole answer was",
                            self.sink,
                            self.url,
                            self.case.day(change.at_ms)
                        ));
                    }
                }
                Done::Delivered { .. } => whole_since = Some(change.at_ms),
                Done::Removed { .. } => whole_since = None,
                Done::Touched { .. } => {}
            }
        }
        None
    }

    /// An empty 200 replaces a page only when a second one confirms it, or when the page was gone: with `removed: keep` a destination does
    /// not hear of that.
    fn empty_over_whole(&self) -> Option<String> {
        let mut holds_whole = false;
        let mut came = 0;
        for change in &self.changes {
            match &change.what {
                Done::Delivered { digest, .. } if digest == self.empty => {
                    let was_gone = is_confirmed(self.case, self.url, (came, change.at_ms));
                    let is_right = was_gone || self.is_confirmed_empty(change.at_ms) || self.keeps_alias(change.at_ms);
                    if holds_whole && !is_right {
                        return Some(format!(
                            "{} had {} whole, and at {} got an empty body that nothing had confirmed",
                            self.sink,
                            self.url,
                            self.case.day(change.at_ms)
                        ));
                    }
                    holds_whole = false;
                }
                Done::Delivered { .. } => (holds_whole, came) = (true, change.at_ms),
                Done::Removed { .. } => holds_whole = false,
                Done::Touched { .. } => {}
            }
        }
        None
    }

    /// With `removed: keep` a destination does not hear that the page is delivered under another URL now. Its document of this URL does not
    /// count any more.
    fn keeps_alias(&self, at: u64) -> bool {
        let settings = self.case.world.settings_at(at);
        let keeps = settings.sinks.iter().any(|sink| sink.name == self.sink && sink.removed == Removed::Keep);
        let truth = || self.case.world.judge(self.url, &settings, at, &mut Default::default());
        keeps && truth().place != self.url
    }

    fn is_confirmed_empty(&self, at: u64) -> bool {
        let empty = self.case.oracle.requests.of(self.url).filter(|(_, last)| {
            last.ended <= at && last.got == Got::Whole && matches!(last.meant.says, Says::Page { is_empty: true, .. })
        });
        let times: Vec<u64> = empty.map(|(_, last)| last.ended).collect();
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return false };
        times.len() > 1 && (last + MINUTE >= first + self.case.settings.confirm_gone || self.case.has_jumps())
    }

    /// A delivered page has a fetch time, and there was a fetch at that time.
    fn of_no_fetch(&self) -> Option<String> {
        if self.case.has_jumps() {
            return None;
        }
        let fetches: Vec<u64> = self.case.oracle.requests.of(self.url).map(|(_, last)| last.ended).collect();
        let wrong = self.changes.iter().find_map(|change| {
            let fetched_ms = change.fetched_ms();
            let is_one = fetches.iter().any(|at| at.abs_diff(fetched_ms) <= 30 * SECOND);
            let is_ahead = fetched_ms > change.at_ms + SECOND;
            let is_delivered = matches!(change.what, Done::Delivered { .. });
            (is_ahead || (is_delivered && !is_one)).then_some((change.at_ms, fetched_ms))
        });
        let (at, fetched_ms) = wrong?;
        Some(format!(
            "{} got {} at {} as fetched at {}, when nobody fetched it",
            self.sink,
            self.url,
            self.case.day(at),
            self.case.day(fetched_ms)
        ))
    }
}

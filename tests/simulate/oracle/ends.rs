//! Property 1: at the end every destination holds exactly the live pages, in their last complete version.

use std::collections::{BTreeMap, BTreeSet};

use super::Case;
use super::requests::{Asked, Got};
use crate::world::mishap::What;
use crate::world::settings::{Kind, Redirects, Removed, Sink};
use crate::world::{DAY, Done, Event, HOUR, Held, Order, Place, Says, Trouble, Truth, split};

pub fn stories(case: &Case) -> Vec<String> {
    let known = known(case);
    let truths = case.world.truth_of(known.may_be.clone(), &case.settings, case.world.ends_ms);
    let places = case.world.places(&truths);
    let mut stories = Vec::new();
    for sink in &case.settings.sinks {
        let Some(held) = case.ends.held.get(&sink.name) else {
            stories.push(format!("nobody says what {} holds", sink.name));
            continue;
        };
        let seen = Seen { case, sink, held, known: &known, truths: &truths };
        stories.extend(places.iter().filter_map(|(place, its)| seen.missing(place, its)));
        stories.extend(places.values().filter_map(|its| seen.twice(its)));
        stories.extend(held.iter().filter_map(|(url, held)| seen.wrong(url, held, &places)));
    }
    stories
}

/// URLs that the crawl knows.
pub struct Known {
    /// URLs that it must know: it requested them, or links lead to them until the end.
    pub must: BTreeSet<String>,
    /// URLs that it may know; these include `must`.
    pub may_be: BTreeSet<String>,
}

pub fn known(case: &Case) -> Known {
    let (world, requests) = (case.world, &case.oracle.requests);
    let mut must = world.reachable(&case.settings, world.ends_ms);
    // Pages that have not changed since are not read again for links to forgotten URLs.
    if case.oracle.events.iter().any(|(_, _, event)| matches!(event, Event::Order(Order::Forget { .. }))) {
        must.clear();
    }
    // A request that only followed a redirect does not make its URL known. The last run, whose seeds are given again, comes too late.
    let is_in_time = |asked: &&Asked| asked.from.is_none() && asked.at <= world.ends_ms;
    let asked = requests.by_url.iter().filter(|(url, at)| {
        let mut own = at.iter().map(|at| &requests.all[*at]).filter(is_in_time);
        own.next_back().is_some_and(|last| !is_forgotten(case, split(url).0, last.at))
    });
    must.extend(asked.map(|(url, _)| url.clone()));
    let mut may_be: BTreeSet<String> = must.clone();
    may_be.extend(requests.all.iter().filter(|asked| asked.robots_of.is_none()).map(|asked| asked.url.clone()));
    must.retain(|url| !may_be_given_up(case, url));
    Known { must, may_be }
}

/// Whether the operator ordered to forget the host after this time.
pub fn is_forgotten(case: &Case, origin: &str, last: u64) -> bool {
    let forgets = |event: &Event| matches!(event, Event::Order(Order::Forget { origin: of }) if of == origin);
    case.oracle.events.iter().any(|(at, _, event)| *at >= last && forgets(event))
}

/// The written rule: a host in trouble for `give_up_after` is given up, until a link leads there again. The requests show how long it
/// was in trouble. They do not if connections failed or the clock was set; then the times of mishaps count.
pub fn may_be_given_up(case: &Case, url: &str) -> bool {
    let Some(host) = case.world.host_of(url) else { return false };
    let mut troubling =
        case.world.mishaps.iter().filter(|mishap| mishap.may_trouble() && mishap.who.touches(host)).peekable();
    if troubling.peek().is_none() {
        return false;
    }
    if case.has_jumps() || troubling.any(|mishap| mishap.is_of_connection()) {
        return may_be_given_up_by_mishaps(case, url);
    }
    case.longest_troubles.get(split(url).0).is_some_and(|longest| longest + HOUR >= case.settings.give_up_after)
}

/// A short time between two mishaps counts, too, because the program may not have asked the host meanwhile.
fn may_be_given_up_by_mishaps(case: &Case, url: &str) -> bool {
    let Some(host) = case.world.host_of(url) else { return false };
    let troubling = |mishap: &&crate::world::Mishap| mishap.may_trouble() && mishap.who.touches(host);
    let mut spans: Vec<(u64, u64)> =
        case.world.mishaps.iter().filter(troubling).map(|mishap| (mishap.when.from, mishap.when.until)).collect();
    spans.sort_unstable();
    let gap = case.settings.backoff_max + DAY;
    let (mut longest, mut current): (u64, Option<(u64, u64)>) = (0, None);
    for (from, until) in spans {
        current = match current {
            Some((began, end)) if from <= end + gap => Some((began, end.max(until))),
            _ => Some((from, until)),
        };
        longest = longest.max(current.map_or(0, |(began, end)| end - began));
    }
    longest + 2 * gap >= case.settings.give_up_after && longest > 0
}

struct Seen<'s> {
    case: &'s Case<'s>,
    sink: &'s Sink,
    held: &'s BTreeMap<String, Held>,
    known: &'s Known,
    truths: &'s BTreeMap<String, Truth>,
}

impl Seen<'_> {
    /// A page that the destination lacks.
    fn missing(&self, place: &str, its: &Place) -> Option<String> {
        if self.may_lack_pages() || its.one_of.iter().any(|url| self.held.contains_key(url)) {
            return None;
        }
        let url = its.one_of.iter().find(|url| self.known.must.contains(*url))?;
        if self.truths.get(url).is_some_and(|truth| truth.is_trap) {
            return None; // of a trap without end nobody has to fetch all
        }
        // The written rule (docs/explain/traps.md): URLs of a mirror are deferred, and come a few at a time.
        let is_mirror = self.case.world.host_of(url).is_some_and(|host| host.forwards.is_some());
        if is_mirror && self.case.settings.traps && self.case.settings.redirects == Redirects::Follow {
            return None;
        }
        let others = its.one_of.len() - 1;
        let or = if others > 0 { format!(" (or one of {others} others that lead to {place})") } else { String::new() };
        Some(format!("{} lacks the live page {url}{or}: {}", self.sink.name, self.past(url)))
    }

    /// A page that the destination has under two URLs.
    fn twice(&self, its: &Place) -> Option<String> {
        if self.sink.removed == Removed::Keep || self.may_hold_more() {
            return None;
        }
        let counts =
            |url: &str, held: &Held| !self.is_of_before_forgetting(url, held) && !self.is_late_letter(url, held);
        let is_held = |url: &&String| self.held.get(*url).is_some_and(|held| counts(url, held));
        let held: Vec<&String> = its.one_of.iter().filter(is_held).collect();
        let first = held.first()?;
        let second = held.get(1)?;
        Some(format!("{} holds one page twice, as {first} and as {second}: {}", self.sink.name, self.past(second)))
    }

    /// A document that the destination should not have, or has in a wrong version.
    fn wrong(&self, url: &str, held: &Held, places: &BTreeMap<String, Place>) -> Option<String> {
        let name = &self.sink.name;
        let Some(truth) = self.truths.get(url) else {
            return Some(format!("{name} holds {url}, which was never asked for"));
        };
        if self.is_of_before_forgetting(url, held) || self.is_late_letter(url, held) {
            return None;
        }
        if truth.is_page && truth.body_digest != held.body_digest {
            let place = places.get(&truth.place);
            let is_kept = place.is_some_and(|its| self.keeps_alias(url, its)) || self.keeps_partition(url, truth);
            if may_be_given_up(self.case, url) || is_kept {
                return None;
            }
            return Some(format!(
                "{name} does not hold the last version of {url} (version {}), but {}: {}",
                truth.version,
                self.what(url, &held.body_digest),
                self.past(url)
            ));
        }
        if self.sink.removed == Removed::Keep || self.may_hold_more() || may_be_given_up(self.case, url) {
            return None;
        }
        if !truth.is_page {
            return Some(format!("{name} holds {url}, but {}: {}", truth.why, self.past(url)));
        }
        let is_alias = places.get(&truth.place).is_some_and(|its| its.none_of.contains(url));
        is_alias.then(|| format!("{name} holds {url}, whose page is that of {}: {}", truth.place, self.past(url)))
    }

    /// The written rule (docs/consuming.md): with `removed: keep` a destination keeps the document of a URL whose page is now delivered
    /// under another URL. The destination must have the last version under the other URL, or there is a written rule for what it has.
    fn keeps_alias(&self, url: &str, its: &Place) -> bool {
        let is_last = |digest: &String| its.digests.contains(digest);
        let has_last = |other: &String| match self.held.get(other) {
            Some(held) => {
                is_last(&held.body_digest)
                    || self.is_late_letter(other, held)
                    || self.last_in_new_partition(other).is_some_and(is_last)
            }
            None => self.may_lack_pages(),
        };
        let mut others = its.one_of.iter().filter(|other| *other != url);
        self.sink.removed == Removed::Keep && others.any(has_last)
    }

    /// The written rule (docs/consuming.md): if a topic with `removed: keep` gets more partitions, old messages stay in the old partition.
    /// The last message of the page must be right.
    fn keeps_partition(&self, url: &str, truth: &Truth) -> bool {
        self.last_in_new_partition(url) == Some(&truth.body_digest)
    }

    /// The digest in the last message of a page, if an earlier message may stay in another partition.
    fn last_in_new_partition(&self, url: &str) -> Option<&String> {
        let may_stay =
            self.sink.removed == Removed::Keep && self.befell(|what| matches!(what, Trouble::PartitionsAdded(_)));
        let log = self.case.ends.log.get(&self.sink.name).filter(|_| may_stay)?;
        log.iter().rev().filter(|change| change.url == url).find_map(|change| match &change.what {
            Done::Delivered { digest, .. } => Some(digest),
            Done::Removed { .. } | Done::Touched { .. } => None,
        })
    }

    /// The written rule (README, `seine forget`): destinations keep their documents of forgotten URLs.
    fn is_of_before_forgetting(&self, url: &str, held: &Held) -> bool {
        let (origin, _) = split(url);
        let clock = if self.case.has_jumps() { 2 * DAY } else { 0 };
        self.case.oracle.events.iter().any(|(at, _, event)| {
            let forgets = matches!(event, Event::Order(Order::Forget { origin: of }) if of == origin);
            forgets && held.fetched_ms <= at + clock
        })
    }

    /// The written rules (docs/consuming.md): a topic keeps a dead letter that is replayed behind newer messages. An index keeps it if the
    /// page was deleted since, and the index has forgotten this: after a week, or because it is another one, or an operator's doing.
    fn is_late_letter(&self, url: &str, held: &Held) -> bool {
        let Some(replayed) = self.case.replayed(&self.sink.name, url, held.fetched_ms) else { return false };
        let last = self.case.ends.log.get(&self.sink.name).and_then(|log| log.iter().rfind(|it| it.url == url));
        let was_last = last.is_some_and(|last| last.fetched_ms() == held.fetched_ms);
        match self.sink.to {
            Kind::Kafka => was_last,
            Kind::Elastic => {
                let truth = self.truths.get(url);
                let is_gone = truth.is_none_or(|truth| !truth.is_page || truth.place != url);
                let may_return = self.case.has_forgotten_deletions(self.sink.to, held.fetched_ms, replayed);
                (is_gone && may_return) || self.case.has_lost_all(&self.sink.name, held.fetched_ms, replayed)
            }
            Kind::Files => false,
        }
    }

    /// Says which version of a page has this digest, for people.
    fn what(&self, url: &str, digest: &str) -> String {
        let came = |(first, last): &(&Asked, &Asked)| match &last.meant.says {
            Says::Page { digest: its, .. } => *its == *digest && first.at < u64::MAX,
            _ => false,
        };
        match self.case.oracle.requests.of(url).rfind(came) {
            Some((_, last)) if last.meant.mishap.is_some() => {
                format!("what a mishap made of it at {}", self.case.day(last.at))
            }
            Some((_, last)) => format!("what it was at {}", self.case.day(last.at)),
            None => "what no whole answer was".to_owned(),
        }
    }

    /// The last fetches of a URL, for people.
    fn past(&self, url: &str) -> String {
        past(self.case, url)
    }

    /// Whether the destination may lack pages. Either its documents were deleted while it stayed the same destination, or it was added
    /// late; unchanged pages are not sent again.
    fn may_lack_pages(&self) -> bool {
        self.befell(|what| matches!(what, Trouble::Emptied)) || self.case.was_added_later(&self.sink.name)
    }

    fn may_hold_more(&self) -> bool {
        self.befell(|what| matches!(what, Trouble::AliasRolledOver))
    }

    fn befell(&self, is_it: impl Fn(&Trouble) -> bool) -> bool {
        self.case.oracle.events.iter().any(|(_, _, event)| match event {
            Event::Destination(it) => it.which == self.sink.to && is_it(&it.what),
            _ => false,
        })
    }
}

pub fn past(case: &Case, url: &str) -> String {
    let fetches: Vec<String> = case.oracle.requests.of(url).map(|(first, last)| one(case, first, last)).collect();
    match fetches.len() {
        0 => "it was never asked for".to_owned(),
        1..7 => format!("fetched {}", fetches.join("; ")),
        many => {
            format!("fetched {many} times, at first {}; … {}", fetches[..3].join("; "), fetches[many - 3..].join("; "))
        }
    }
}

fn one(case: &Case, first: &Asked, last: &Asked) -> String {
    let what = match (&last.meant.says, last.got) {
        (_, Got::Nothing) => "no answer".to_owned(),
        (_, Got::Cut) => "a body that broke off".to_owned(),
        (Says::Page { version: Some(version), noindex, .. }, _) => {
            format!("version {version}{}", if *noindex { ", noindex" } else { "" })
        }
        (Says::Page { is_empty: true, .. }, _) => "an empty page".to_owned(),
        (Says::Page { .. }, _) => "a page".to_owned(),
        (Says::Missing, _) => "not there".to_owned(),
        (Says::NotModified { .. }, _) => "not modified".to_owned(),
        (Says::Redirect(to), _) => format!("a redirect to {to}"),
        (Says::Status(status), _) => format!("status {status}"),
        (says, _) => format!("{says:?}"),
    };
    let mishap = if last.meant.mishap.is_some() { " (mishap)" } else { "" };
    let at = if last.url == first.url { String::new() } else { format!(" from {}", last.url) };
    format!("{}: {what}{at}{mishap}", case.day(first.at))
}

/// Whether the name or the answers of the URL's host may be missing in this time, because of a mishap of the world or an event of the
/// machine.
pub fn is_troubled(case: &Case, url: &str, from: u64, to: u64) -> bool {
    let Some(host) = case.world.host_of(url) else { return true };
    let mishaps = case.world.mishaps.iter();
    let is_struck = mishaps
        .filter(|mishap| !matches!(mishap.what, What::WrongBody | What::SameBody))
        .any(|mishap| mishap.when.from <= to && mishap.when.until + DAY + HOUR >= from && mishap.who.touches(host));
    is_struck || case.events_between(from.saturating_sub(DAY), to).next().is_some()
}

/// The end of the last trouble between two times that concerns the URL's host; `from` if there was none.
pub fn trouble_ends(case: &Case, url: &str, from: u64, to: u64) -> u64 {
    let touches = |mishap: &&crate::world::Mishap| case.world.host_of(url).is_none_or(|host| mishap.who.touches(host));
    let mishaps = case.world.mishaps.iter().filter(touches).map(|mishap| (mishap.when.from, mishap.when.until));
    let events = case.oracle.events.iter().map(|(at, until, event)| (*at, until.unwrap_or(at + event.lasts())));
    let over = mishaps.chain(events).filter(|(begin, end)| *begin <= to && *end >= from);
    over.map(|(_, end)| end.min(to)).max().unwrap_or(from).max(from)
}

//! A small crawler that keeps all promises, to test the oracle: the oracle must find nothing wrong with it, and must find each mistake
//! that the crawler makes on request. Its machine never fails; the web does.

use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::net::IpAddr;
use std::{cmp::Reverse, str};

use crate::oracle::{Broken, Ends, Oracle};
use crate::world::settings::{Canonical, Kind, Redirects, Removed, Sink, Unchanged};
use crate::world::web::Rules;
use crate::world::{
    Answer, Change, DAY, Done, HOUR, Held, Reply, Request, Resolved, SECOND, Says, Settings, World, split,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// Truncated pages are delivered, and not fetched again before their usual recheck.
    HalfPages,
    /// A page is removed at its first bad answer.
    OneBadHour,
    /// A URL whose first answer is bad is never fetched again.
    RefusedForEver,
    /// From the fifth day on no URL of the largest host is fetched.
    Stall,
    /// The destination is emptied, and the crawler does not notice.
    Emptied,
    /// One event in a hundred is not delivered.
    CursorMovedEarly,
    /// One removal in three is not delivered.
    LostTombstone,
    /// Now and then the delay of a host is forgotten.
    ForgottenSlot,
    /// Now and then the delay of an address is forgotten.
    ForgottenAddress,
    /// Fetch times are an hour ahead.
    WrongClock,
    /// A robots.txt is kept for good.
    OldRobots,
    /// An older event follows a newer one.
    OldAfterNew,
    /// Retry-After is ignored.
    NoRetryAfter,
}

pub struct Crawler {
    world: World,
    oracle: Oracle,
    settings: Settings,
    mistake: Mistake,
    rng: fastrand::Rng,
    known: BTreeMap<String, Known>,
    hosts: HashMap<String, HostState>,
    addresses: HashMap<IpAddr, u64>,
    agenda: BinaryHeap<Reverse<(u64, String)>>,
    log: Vec<Change>,
    /// The last digest that was sent for each page.
    sent: BTreeMap<String, String>,
}

#[derive(Default)]
struct Known {
    bad_since: Option<u64>,
    is_refused: bool,
}

#[derive(Default)]
struct HostState {
    free: u64,
    robots: Option<(u64, Rules)>,
}

/// The result of a visit.
enum Brought {
    Page {
        digest: String,
        links: Vec<String>,
    },
    /// An answer that speaks against the page. Its links are followed all the same.
    Bad {
        links: Vec<String>,
    },
    /// No meaningful answer; the URL is tried again later.
    Nothing,
}

const NAME: &str = "pages-index";

impl Crawler {
    /// Crawls the world with settings under which each URL has a page of its own. Only the web changes and fails.
    pub fn new(mut world: World, mistake: Mistake) -> Crawler {
        let settings = Settings {
            redirects: Redirects::Follow,
            canonical: Canonical::Ignore,
            sitemaps: false,
            sinks: vec![Sink {
                name: NAME.to_owned(),
                to: Kind::Elastic,
                removed: Removed::Delete,
                unchanged: Unchanged::Send,
            }],
            ..world.settings.clone()
        };
        world.settings = settings.clone();
        world.events.clear();
        let rng = fastrand::Rng::with_seed(world.seed);
        let oracle = Oracle::new(&world);
        let agenda = world.seeds().into_iter().map(|seed| Reverse((world.begins_ms, seed))).collect();
        let (known, hosts, addresses, log, sent) = Default::default();
        Crawler { world, oracle, settings, mistake, rng, known, hosts, addresses, agenda, log, sent }
    }

    pub fn run(mut self) -> Vec<Broken> {
        self.oracle.began(self.world.begins_ms);
        while let Some(Reverse((at, url))) = self.agenda.pop() {
            if at < self.world.ends_ms - HOUR {
                self.visit(at, url);
            }
        }
        let mut held = BTreeMap::new();
        self.log.sort_by_key(|change| change.at_ms);
        let emptied = (self.mistake == Mistake::Emptied).then_some(self.world.ends_ms - 2 * HOUR);
        for change in self.log.iter().filter(|change| emptied.is_none_or(|at| change.at_ms > at)) {
            match &change.what {
                Done::Delivered { fetched_ms, digest } => {
                    held.insert(change.url.clone(), Held { body_digest: digest.clone(), fetched_ms: *fetched_ms });
                }
                Done::Removed { .. } => _ = held.remove(&change.url),
                Done::Touched { .. } => {}
            }
        }
        let ends = Ends {
            held: [(NAME.to_owned(), held)].into(),
            log: [(NAME.to_owned(), self.log)].into(),
            ..Ends::default()
        };
        self.oracle.end(&self.world, &ends)
    }

    fn visit(&mut self, at: u64, url: String) {
        let origin = split(&url).0.to_owned();
        let is_stalled = self.mistake == Mistake::Stall && at > self.world.begins_ms + 5 * DAY;
        if is_stalled && self.world.host_of(&url).is_some_and(|host| host.id == 0) {
            return;
        }
        // The visit is too early, so it is repeated later.
        let free = self.free(&origin);
        if free > at {
            self.agenda.push(Reverse((free, url)));
            return;
        }
        let mut now = at;
        let brought = self.fetch(&mut now, &url);
        let next = self.judge(&url, brought, now);
        if let Some(next) = next {
            self.agenda.push(Reverse((next, url)));
        }
    }

    fn free(&self, origin: &str) -> u64 {
        let host = self.hosts.get(origin).map_or(0, |host| host.free);
        let address = self.world.host_of(&format!("{origin}/")).map(|host| host.address);
        let address = address.and_then(|ip| self.addresses.get(&ip)).copied().unwrap_or_default();
        host.max(address)
    }

    fn fetch(&mut self, now: &mut u64, url: &str) -> Brought {
        let mut url = url.to_owned();
        for _ in 0..10 {
            let (origin, path) = split(&url);
            match self.rules(now, origin) {
                None => return Brought::Nothing,
                Some(rules) if !rules.allow(path) => return Brought::Bad { links: Vec::new() },
                Some(_) => {}
            }
            let Some((answer, whole)) = self.ask(now, &url, None) else { return Brought::Nothing };
            match &answer.meant.says {
                Says::Redirect(to) if whole => {
                    let to = if to.starts_with('/') { format!("{}{to}", split(&url).0) } else { to.clone() };
                    if !self.world.is_in_scope(&to, &self.settings) || self.world.host_of(&to).is_none() {
                        return Brought::Bad { links: Vec::new() };
                    }
                    url = to;
                }
                Says::Page { digest, noindex, is_empty, .. } if whole || self.mistake == Mistake::HalfPages => {
                    let Reply::Head { body, .. } = &answer.what else { return Brought::Nothing };
                    let text = str::from_utf8(body).unwrap_or_default();
                    let links = if whole { links(text) } else { Vec::new() };
                    let digest = if whole { digest.clone() } else { "half".to_owned() };
                    return if *noindex || *is_empty {
                        Brought::Bad { links }
                    } else {
                        Brought::Page { digest, links }
                    };
                }
                Says::Missing if whole => return Brought::Bad { links: Vec::new() },
                _ => return Brought::Nothing,
            }
        }
        Brought::Bad { links: Vec::new() }
    }

    /// The host's robots.txt, not older than a day.
    fn rules(&mut self, now: &mut u64, origin: &str) -> Option<Rules> {
        let known = self.hosts.entry(origin.to_owned()).or_default().robots.clone();
        let is_old = |at: u64| *now >= at + DAY && self.mistake != Mistake::OldRobots;
        if let Some((_, rules)) = known.filter(|(at, _)| !is_old(*at)) {
            return Some(rules);
        }
        let mut url = format!("{origin}/robots.txt");
        let mut rules = None;
        for hop in 0..=5 {
            let (answer, whole) = self.ask(now, &url, (hop > 0).then_some(origin))?;
            rules = match answer.meant.says {
                _ if !whole => return None,
                Says::Redirect(to) if hop < 5 => {
                    url = if to.starts_with('/') { format!("{}{to}", split(&url).0) } else { to };
                    Some(Rules::default())
                }
                Says::Rules(rules) => Some(rules),
                Says::Status(status) if status >= 500 || status == 429 => return None,
                _ => Some(Rules::default()),
            };
            if !matches!(&rules, Some(rules) if *rules == Rules::default()) || url == format!("{origin}/robots.txt") {
                break;
            }
        }
        let rules = rules?;
        let host = self.hosts.entry(origin.to_owned()).or_default();
        host.robots = Some((*now, rules.clone()));
        host.free = host.free.max(*now + rules.delay.unwrap_or_default().min(self.settings.max_crawl_delay) + 5);
        Some(rules)
    }

    /// Sends one request when the host and its address are free. Returns whether the answer is complete.
    fn ask(&mut self, now: &mut u64, url: &str, robots_of: Option<&str>) -> Option<(Answer, bool)> {
        let origin = split(url).0.to_owned();
        let name = origin.rsplit('/').next().unwrap_or_default().to_owned();
        let forgets = self.mistake == Mistake::ForgottenSlot && self.rng.u32(..200) == 0;
        let forgets_address = self.mistake == Mistake::ForgottenAddress && self.rng.u32(..20) == 0;
        let host = self.hosts.entry(origin.clone()).or_default().free;
        let Resolved::Ips(ips, _) = self.world.resolve(&name, *now) else {
            *now += 15 * SECOND;
            return None;
        };
        let address = self.addresses.get(&ips[0]).copied().unwrap_or_default();
        if !(forgets || forgets_address && address > host) {
            *now = (*now).max(host).max(address);
        }
        let request = Request { url: url.to_owned(), ip: ips[0], headers: Vec::new(), at_ms: *now };
        let answer = self.world.answer(&request);
        self.oracle.asked(&self.world, &request, &answer);
        let (time, whole) = took(&answer);
        *now += time;
        let crawl_delay = self.hosts[&origin].robots.as_ref().and_then(|(_, rules)| rules.delay);
        let crawl_delay = crawl_delay.unwrap_or_default().min(self.settings.max_crawl_delay);
        let retry_after = answer.meant.retry_after.filter(|_| self.mistake != Mistake::NoRetryAfter);
        let retry_after = retry_after.unwrap_or_default().min(self.settings.retry_after_max);
        let delay = self.settings.host_delay.max(crawl_delay).max(retry_after) + 5;
        let host = self.hosts.entry(origin).or_default();
        host.free = host.free.max(*now + delay);
        if let Some(of) = robots_of {
            let of = self.hosts.entry(of.to_owned()).or_default();
            of.free = of.free.max(*now + self.settings.host_delay + 5);
        }
        let address = self.settings.address_delay.unwrap_or(self.settings.host_delay) + 5;
        self.addresses.insert(ips[0], *now + address);
        Some((answer, whole))
    }

    /// Applies the result to a URL. Returns when it is fetched again.
    fn judge(&mut self, url: &str, brought: Brought, now: u64) -> Option<u64> {
        let (confirm, interval) = (self.settings.confirm_gone, self.settings.interval);
        match brought {
            Brought::Nothing => Some(now + HOUR),
            Brought::Page { digest, links } => {
                self.known.entry(url.to_owned()).or_default().bad_since = None;
                self.follow(links, now);
                self.deliver(url, digest, now);
                Some(now + interval)
            }
            Brought::Bad { links } => {
                self.follow(links, now);
                let is_held = self.sent.contains_key(url);
                let known = self.known.entry(url.to_owned()).or_default();
                if self.mistake == Mistake::RefusedForEver && !is_held {
                    known.is_refused = true;
                    return None;
                }
                let since = *known.bad_since.get_or_insert(now);
                if !is_held {
                    return Some(now + interval);
                }
                if now >= since + confirm || self.mistake == Mistake::OneBadHour {
                    self.remove(url, now);
                    return Some(now + interval);
                }
                // By then robots.txt is fetched again, too.
                Some(now + confirm.max(DAY) + SECOND)
            }
        }
    }

    fn follow(&mut self, links: Vec<String>, now: u64) {
        for link in links {
            if self.world.is_in_scope(&link, &self.settings) && !self.known.contains_key(&link) {
                self.known.insert(link.clone(), Known::default());
                self.agenda.push(Reverse((now, link)));
            }
        }
    }

    /// Delivers a page. An unchanged page is not sent again.
    fn deliver(&mut self, url: &str, digest: String, now: u64) {
        if self.sent.insert(url.to_owned(), digest.clone()).as_ref() == Some(&digest) {
            return;
        }
        if self.mistake == Mistake::CursorMovedEarly && self.rng.u32(..50) == 0 {
            return;
        }
        let fetched_ms = if self.mistake == Mistake::WrongClock && self.rng.u32(..100) == 0 { now + HOUR } else { now };
        let before = self.log.iter().rev().find(|change| change.url == url).map(|change| change.what.clone());
        self.log.push(Change { at_ms: now, url: url.to_owned(), what: Done::Delivered { fetched_ms, digest } });
        if let Some(what) = before.filter(|_| self.mistake == Mistake::OldAfterNew && self.rng.u32(..200) == 0) {
            self.log.push(Change { at_ms: now, url: url.to_owned(), what });
        }
    }

    fn remove(&mut self, url: &str, now: u64) {
        self.sent.remove(url);
        if self.mistake != Mistake::LostTombstone || self.rng.u32(..3) > 0 {
            self.log.push(Change { at_ms: now, url: url.to_owned(), what: Done::Removed { fetched_ms: now } });
        }
    }
}

/// The maximum duration of an answer, and whether it arrives completely.
fn took(answer: &Answer) -> (u64, bool) {
    let after = (answer.after.as_millis() as u64).min(20_000);
    let Reply::Head { body, cut_at, bytes_per_second, .. } = &answer.what else { return (21_000, false) };
    if after >= 20_000 {
        return (after, false);
    }
    let time = bytes_per_second.map_or(0, |rate| body.len() as u64 * 1000 / rate.max(1));
    let is_too_slow = bytes_per_second.is_some_and(|rate| rate < 1024) && time >= 20_000;
    (after + time + 250, cut_at.is_none() && !is_too_slow)
}

fn links(text: &str) -> Vec<String> {
    let found = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    found.map(|it| it.replace("&amp;", "&")).filter(|url| !url.contains("/calendar/")).collect()
}

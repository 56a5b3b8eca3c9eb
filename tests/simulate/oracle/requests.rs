//! The requests of a crawl, and which of them belong together: a redirect and its target, and a robots.txt and the host that it is for.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use crate::world::web::Rules;
use crate::world::{Answer, MINUTE, Meant, Reply, Request, SECOND, Says, World, split};

/// The client waits this long for the beginning of an answer.
const HEADER_TIMEOUT: u64 = 20 * SECOND;
/// The earliest time after which the client gives up, because the timeout includes the look-up of the host's name.
const GIVEN_UP: u64 = HEADER_TIMEOUT - 20;
/// The client gives up a body with less than 1 KiB per second over this time.
const MIN_RATE: (u64, u64) = (1024, 20 * SECOND);
/// A redirect is followed within this time, or not at all.
const FOLLOWED: u64 = 10 * MINUTE;
/// Maximum number of redirects of a robots.txt that are followed.
const ROBOTS_HOPS: u32 = 5;

#[derive(Debug, Clone, Default)]
pub struct Requests {
    /// In the order in which they were sent.
    pub all: Vec<Asked>,
    /// Indices into `all`, by URL; requests for redirect targets included.
    pub by_url: BTreeMap<String, Vec<usize>>,
    /// The answers for robots.txt, by origin.
    pub robots: BTreeMap<String, Vec<RobotsSeen>>,
    /// Targets of redirects that were not requested yet, with the requests that redirected there.
    leads_to: HashMap<String, Vec<usize>>,
}

#[derive(Debug, Clone)]
pub struct Asked {
    pub url: String,
    pub ip: IpAddr,
    pub at: u64,
    /// The earliest time at which the answer can have ended.
    pub ended: u64,
    pub got: Got,
    pub meant: Meant,
    /// The request whose answer redirected here, if one did just before.
    pub from: Option<usize>,
    /// The last request of the chain of redirects that begins here; without redirects, this request.
    pub last: usize,
    /// The host for whose robots.txt it was sent, possibly after redirects to another host.
    pub robots_of: Option<String>,
    hops: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Got {
    Whole,
    /// Part of the body.
    Cut,
    Nothing,
}

/// A fetched robots.txt of a host.
#[derive(Debug, Clone)]
pub struct RobotsSeen {
    pub at: u64,
    pub said: RobotsSaid,
    /// The request may have been for another host, whose robots.txt redirects here.
    pub is_unsure: bool,
}

#[derive(Debug, Clone)]
pub enum RobotsSaid {
    Rules(Rules),
    Everything,
    /// It could not be fetched.
    Unreachable,
}

impl RobotsSaid {
    /// Whether it does not forbid the path. One that could not be fetched forbids nothing here.
    pub fn allows(&self, path: &str) -> bool {
        !matches!(self, RobotsSaid::Rules(rules) if !rules.allow(path))
    }
}

impl Requests {
    pub fn add(&mut self, world: &World, request: &Request, answer: &Answer) {
        let number = self.all.len();
        let (ended, got) = ending(request.at_ms, answer);
        let follows = |from: &usize| (0..=FOLLOWED).contains(&request.at_ms.wrapping_sub(self.all[*from].ended));
        let mut from = None;
        if let Some(all) = self.leads_to.get_mut(&request.url) {
            all.retain(|from| follows(from));
            from = all.pop();
        }
        let (origin, path) = split(&request.url);
        let robots_of = match from {
            Some(from) => self.all[from].robots_of.clone(),
            None => (path == "/robots.txt").then(|| origin.to_owned()),
        };
        let hops = from.map_or(0, |from| self.all[from].hops + 1);
        let (url, ip, meant) = (request.url.clone(), request.ip, answer.meant.clone());
        let asked = Asked { url, ip, at: request.at_ms, ended, got, meant, from, last: number, robots_of, hops };
        if let Some(to) = asked.leads_to().filter(|_| asked.robots_of.is_none() || hops < ROBOTS_HOPS) {
            self.leads_to.entry(to).or_default().push(number);
        }
        if path == "/robots.txt" && from.is_some() {
            let seen = RobotsSeen { at: ended, said: asked.says_of_robots(), is_unsure: true };
            self.robots.entry(origin.to_owned()).or_default().push(seen);
        }
        if let Some(of) = &asked.robots_of {
            let seen = RobotsSeen { at: ended, said: asked.says_of_robots(), is_unsure: false };
            let known = self.robots.entry(of.clone()).or_default();
            // The target of the redirect counts instead of the redirect.
            if hops > 0 && known.last().is_some_and(|last| last.at <= ended) {
                known.pop();
            }
            known.push(seen);
        } else {
            self.by_url.entry(request.url.clone()).or_default().push(number);
        }
        self.all.push(asked);
        let mut led = from;
        while let Some(before) = led {
            self.all[before].last = number;
            led = self.all[before].from;
        }
        debug_assert!(world.begins_ms <= request.at_ms);
    }

    /// The longest time from the first to the last error in a row, by origin.
    pub fn longest_troubles(&self) -> HashMap<String, u64> {
        let (mut longest, mut since) = (HashMap::new(), HashMap::new());
        for asked in &self.all {
            let (origin, _) = split(&asked.url);
            let is_error = match (asked.got, &asked.meant.says) {
                (Got::Whole, Says::Status(status)) => *status >= 500 || *status == 429,
                (got, _) => got != Got::Whole,
            };
            if !is_error {
                since.remove(origin);
                continue;
            }
            let lasts = asked.ended - *since.entry(origin).or_insert(asked.at);
            let before: &mut u64 = longest.entry(origin.to_owned()).or_default();
            *before = lasts.max(*before);
        }
        longest
    }

    /// The process ended, so requests in progress got no answer.
    pub fn break_off(&mut self, at: u64) {
        for asked in self.all.iter_mut().rev().take(1000).filter(|asked| asked.ended > at) {
            (asked.ended, asked.got) = (at, Got::Nothing);
        }
        for seen in self.robots.values_mut().flatten().filter(|seen| seen.at > at) {
            (seen.at, seen.said) = (at, RobotsSaid::Unreachable);
        }
        self.leads_to.clear();
    }

    /// The fetches of a URL, in order: the first request, and the last one after redirects.
    pub fn of(&self, url: &str) -> impl DoubleEndedIterator<Item = (&Asked, &Asked)> {
        self.by_url.get(url).into_iter().flatten().map(|at| (&self.all[*at], &self.all[self.all[*at].last]))
    }
}

impl Asked {
    /// Where it redirects to.
    pub fn leads_to(&self) -> Option<String> {
        let Says::Redirect(to) = &self.meant.says else { return None };
        let to = if to.starts_with('/') { format!("{}{to}", split(&self.url).0) } else { to.clone() };
        (self.got == Got::Whole).then_some(to)
    }

    fn says_of_robots(&self) -> RobotsSaid {
        match (&self.meant.says, self.got) {
            (_, Got::Nothing | Got::Cut) | (Says::Nothing, _) => RobotsSaid::Unreachable,
            (Says::Rules(rules), _) => RobotsSaid::Rules(rules.clone()),
            (Says::Status(status), _) if *status >= 500 || *status == 429 => RobotsSaid::Unreachable,
            // RFC 9309: a missing file forbids nothing, and another page contains no rules.
            _ => RobotsSaid::Everything,
        }
    }

    /// Whether the answer shows a live page: complete, not empty and without noindex, or a 304 without noindex.
    pub fn is_alive(&self) -> bool {
        self.got == Got::Whole
            && match &self.meant.says {
                Says::Page { noindex, is_empty, .. } => !noindex && !is_empty,
                Says::NotModified { noindex } => !noindex,
                _ => false,
            }
    }
}

/// The earliest time at which an answer can have ended, and how much of it the client got. The client gives up slow answers.
fn ending(at: u64, answer: &Answer) -> (u64, Got) {
    let after = answer.after.as_millis() as u64;
    let Reply::Head { status, body, cut_at, bytes_per_second, .. } = &answer.what else {
        let wait = if matches!(answer.what, Reply::Hang) { GIVEN_UP } else { after.min(GIVEN_UP) };
        return (at + wait, Got::Nothing);
    };
    if after >= HEADER_TIMEOUT {
        return (at + GIVEN_UP, Got::Nothing);
    }
    let bytes = cut_at.unwrap_or(body.len()).min(body.len()) as u64;
    let (least, over) = MIN_RATE;
    let time = bytes_per_second.map_or(0, |rate| bytes * 1000 / rate.max(1));
    if bytes_per_second.is_some_and(|rate| rate < least) && time >= over {
        return (at + after + over, if *status == 200 { Got::Cut } else { Got::Whole });
    }
    // The body of any other status does not matter.
    let is_cut = *status == 200 && cut_at.is_some_and(|at| at < body.len() || answer.meant.is_cut);
    let got = if is_cut { Got::Cut } else { Got::Whole };
    (at + after + time, got)
}

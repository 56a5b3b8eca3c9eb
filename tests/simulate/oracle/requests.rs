//! The requests of a crawl, and which of them belong together: redirects to what they lead to, and files to the host whose they are.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use crate::world::web::Rules;
use crate::world::{Answer, MINUTE, Meant, Reply, Request, SECOND, Says, World, split};

/// Who asks waits no longer for an answer to begin.
const HEADER_TIMEOUT: u64 = 20 * SECOND;
/// A body that brings less than 1 KiB a second over such a time is given up.
const MIN_RATE: (u64, u64) = (1024, 20 * SECOND);
/// A redirect is followed within this time, or not at all.
const FOLLOWED: u64 = 10 * MINUTE;
/// Redirects of a robots.txt that are followed.
const ROBOTS_HOPS: u32 = 5;

#[derive(Debug, Clone, Default)]
pub struct Requests {
    /// In the order in which they were sent.
    pub all: Vec<Asked>,
    /// By URL; those of redirects' targets, too.
    pub by_url: BTreeMap<String, Vec<usize>>,
    /// What hosts said of robots, by origin.
    pub robots: BTreeMap<String, Vec<RobotsSeen>>,
    /// URLs that redirects lead to: from which request.
    leads_to: HashMap<String, usize>,
}

#[derive(Debug, Clone)]
pub struct Asked {
    pub url: String,
    pub ip: IpAddr,
    pub at: u64,
    /// Not before this time.
    pub ended: u64,
    pub got: Got,
    pub meant: Meant,
    /// The request whose answer redirected here, if one did just before.
    pub from: Option<usize>,
    /// What redirects led to from here in the end: the last request of them, or this one.
    pub last: usize,
    /// It is for this host's robots.txt, wherever that is.
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

/// What a host's robots.txt said when it was fetched.
#[derive(Debug, Clone)]
pub struct RobotsSeen {
    pub at: u64,
    pub said: RobotsSaid,
    /// It may have been asked for as another host's, which redirects here.
    pub is_unsure: bool,
}

#[derive(Debug, Clone)]
pub enum RobotsSaid {
    Rules(Rules),
    Everything,
    /// It could not be had.
    Unreachable,
}

impl Requests {
    pub fn add(&mut self, world: &World, request: &Request, answer: &Answer) {
        let number = self.all.len();
        let (ended, got) = ending(request.at_ms, answer);
        let follows = |from: &usize| (0..=FOLLOWED).contains(&request.at_ms.wrapping_sub(self.all[*from].ended));
        let from = self.leads_to.get(&request.url).copied().filter(follows);
        if from.is_some() {
            self.leads_to.remove(&request.url);
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
            self.leads_to.insert(to, number);
        }
        if path == "/robots.txt" && from.is_some() {
            let seen = RobotsSeen { at: ended, said: asked.says_of_robots(), is_unsure: true };
            self.robots.entry(origin.to_owned()).or_default().push(seen);
        }
        if let Some(of) = &asked.robots_of {
            let seen = RobotsSeen { at: ended, said: asked.says_of_robots(), is_unsure: false };
            let known = self.robots.entry(of.clone()).or_default();
            // The target of a redirect says it instead of the redirect.
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

    /// The process ended: what was under way brought nothing.
    pub fn break_off(&mut self, at: u64) {
        for asked in self.all.iter_mut().rev().take(1000).filter(|asked| asked.ended > at) {
            (asked.ended, asked.got) = (at, Got::Nothing);
        }
        for seen in self.robots.values_mut().flatten().filter(|seen| seen.at > at) {
            (seen.at, seen.said) = (at, RobotsSaid::Unreachable);
        }
        self.leads_to.clear();
    }

    /// The fetches of a URL, in order: the first request, and what came in the end.
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
            // RFC 9309: what is not there forbids nothing; of another page no line is a rule.
            _ => RobotsSaid::Everything,
        }
    }

    /// The page came, whole and not empty, and is to be indexed; or the server says that it is as it was.
    pub fn is_alive(&self) -> bool {
        self.got == Got::Whole
            && match &self.meant.says {
                Says::Page { noindex, is_empty, .. } => !noindex && !is_empty,
                Says::NotModified { noindex } => !noindex,
                _ => false,
            }
    }
}

/// When an answer has ended at the earliest, and what came of it. The client gives up what takes too long.
fn ending(at: u64, answer: &Answer) -> (u64, Got) {
    let after = answer.after.as_millis() as u64;
    let Reply::Head { status, body, cut_at, bytes_per_second, .. } = &answer.what else {
        let wait = if matches!(answer.what, Reply::Hang) { HEADER_TIMEOUT } else { after.min(HEADER_TIMEOUT) };
        return (at + wait, Got::Nothing);
    };
    if after >= HEADER_TIMEOUT {
        return (at + HEADER_TIMEOUT, Got::Nothing);
    }
    let bytes = cut_at.unwrap_or(body.len()).min(body.len()) as u64;
    let (least, over) = MIN_RATE;
    let time = bytes_per_second.map_or(0, |rate| bytes * 1000 / rate.max(1));
    if bytes_per_second.is_some_and(|rate| rate < least) && time >= over {
        return (at + after + over, if *status == 200 { Got::Cut } else { Got::Whole });
    }
    // Of any other status the body says nothing.
    let is_cut = *status == 200 && cut_at.is_some_and(|at| at < body.len() || answer.meant.is_cut);
    let got = if is_cut { Got::Cut } else { Got::Whole };
    (at + after + time, got)
}

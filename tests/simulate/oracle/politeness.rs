//! Property 3: hosts and addresses get their delays, and the last fetched robots.txt is obeyed.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Case;
use super::requests::{Asked, RobotsSaid, RobotsSeen};
use crate::world::{DAY, MINUTE, Order, Says, Settings, span, split};

/// Tolerance, because clocks are rounded to milliseconds.
const ROUNDED: u64 = 2;
/// A DNS look-up may lie between the politeness slot of an address and its request.
const LOOK_UP: u64 = 50;
/// A robots.txt is used no longer than a day (RFC 9309 §2.4). If the host then answers with an error, the old rules hold for five more
/// minutes (docs/reliability.md). A request may also have waited for its politeness slot.
const STALE: u64 = 5 * MINUTE;
const WAITED: u64 = 20 * MINUTE;
/// Maximum number of requests for a URL within a day. Retries, and requests that test whether the host is healthy, are some tens.
const MOST_A_DAY: usize = 200;
/// A fetched robots.txt is stored within this time.
const WRITTEN: u64 = 1000;

struct Rest<'a> {
    after: &'a Asked,
    until: u64,
    why: String,
}

/// Whether the request comes before the end of the rest. A start takes the machine's clock, even if it had jumped ahead, and
/// a rest ends by the crawl's clock.
fn is_early(case: &Case, asked: &Asked, rest: &Rest, tolerance: u64) -> bool {
    let until = rest.until.saturating_sub(case.jump_of_starts_between(rest.after.ended, asked.at));
    asked.at + tolerance < until
}

pub fn stories(case: &Case) -> Vec<String> {
    let mut stories: Vec<String> = repeated(case).collect();
    let mut hosts: HashMap<&str, Vec<Rest>> = HashMap::new();
    let mut addresses: HashMap<IpAddr, Rest> = HashMap::new();
    let mut sorted: Vec<&Asked> = case.oracle.requests.all.iter().collect();
    sorted.sort_by_key(|asked| asked.at);
    for asked in sorted {
        let (origin, _) = split(&asked.url);
        let broken = hosts.get(origin).and_then(|rests| rests.iter().find(|rest| is_early(case, asked, rest, ROUNDED)));
        stories.extend(broken.map(|rest| tell(case, asked, rest, origin)));
        if let Some(rest) = addresses.get(&asked.ip).filter(|rest| is_early(case, asked, rest, LOOK_UP)) {
            stories.push(tell(case, asked, rest, &asked.ip.to_string()));
        }
        hosts.insert(origin, rests(case, asked, origin));
        let delay = address_delay(case, asked.at, origin);
        if delay > 0 {
            let why = format!("it has one request at a time, and {} between them", span(delay));
            addresses.insert(asked.ip, Rest { after: asked, until: asked.ended + delay, why });
        }
    }
    stories
}

fn tell(case: &Case, asked: &Asked, rest: &Rest, whose: &str) -> String {
    format!(
        "{whose} was asked for {} at {} ({} ms too early): it had been asked for {} until {}, and {}",
        asked.url,
        case.day(asked.at),
        rest.until - asked.at,
        rest.after.url,
        case.day(rest.after.ended),
        rest.why
    )
}

/// The delays of a host after a request.
fn rests<'a>(case: &Case, asked: &'a Asked, origin: &str) -> Vec<Rest<'a>> {
    let settings = settings_around(case, asked.ended);
    let delay = settings.iter().map(|settings| settings.host_delay).min().unwrap_or_default();
    let ordered = ordered_delay(case, asked.ended, origin);
    let usual = ordered.unwrap_or(delay);
    let mut rests = vec![(usual, format!("rests for {}", span(usual)))];
    let delays = known_rules(case, origin, asked.ended).into_iter().map(|said| match said {
        RobotsSaid::Rules(rules) => rules.delay,
        _ => None,
    });
    // The answer that asks for the delay may be lost in a kill.
    let is_lost = asked.robots_of.is_some() && case.oracle.is_killed_between(asked.at, asked.ended + WRITTEN);
    if let Some(Some(wanted)) = delays.min().filter(|_| !is_lost) {
        let wanted = wanted.min(settings[0].max_crawl_delay);
        rests.push((wanted, format!("its robots.txt wants a delay of {}", span(wanted))));
    }
    let is_rejection = matches!(asked.meant.says, Says::Status(429 | 503));
    if let Some(wanted) = asked.meant.retry_after.filter(|_| is_rejection) {
        let wanted = wanted.min(settings[0].retry_after_max);
        rests.push((wanted, format!("it said Retry-After: {}", span(wanted))));
    }
    rests.into_iter().map(|(rest, why)| Rest { after: asked, until: asked.ended + rest, why }).collect()
}

/// The settings at this time, and a minute before and after, in case a restart changes them.
fn settings_around(case: &Case, at: u64) -> [Settings; 3] {
    [case.world.settings_at(at), case.world.settings_at(at.saturating_sub(MINUTE)), case.world.settings_at(at + MINUTE)]
}

/// Back-off limits how often a URL is requested, even when everything fails. Requests that a redirect caused do not count.
fn repeated(case: &Case) -> impl Iterator<Item = String> {
    case.oracle.requests.by_url.iter().filter_map(|(url, at)| {
        let asked: Vec<u64> =
            at.iter().map(|at| &case.oracle.requests.all[*at]).filter(|it| it.from.is_none()).map(|it| it.at).collect();
        let busy = asked.windows(MOST_A_DAY).find(|times| times[MOST_A_DAY - 1] < times[0] + DAY)?;
        Some(format!("{url} was asked for {MOST_A_DAY} times within a day, from {} on", case.day(busy[0])))
    })
}

/// The delay that the operator ordered for a host. Just after an order the old and the new delay are both right.
fn ordered_delay(case: &Case, at: u64, origin: &str) -> Option<u64> {
    let orders = case.oracle.taken.iter().filter_map(|(when, _, order)| match order {
        Order::Delay { origin: of, ms } if of == origin && *when <= at + MINUTE => Some((*when, *ms)),
        _ => None,
    });
    let mut orders: Vec<(u64, u64)> = orders.collect();
    let (when, ms) = orders.pop()?;
    let before = orders.last().map_or(case.world.settings_at(at).host_delay, |(_, ms)| *ms);
    Some(if at < when + MINUTE { ms.min(before) } else { ms })
}

fn address_delay(case: &Case, at: u64, origin: &str) -> u64 {
    let settings = settings_around(case, at);
    let of = |settings: &Settings| {
        settings.address_delay.unwrap_or_else(|| ordered_delay(case, at, origin).unwrap_or(settings.host_delay))
    };
    settings.iter().map(of).min().unwrap_or_default()
}

/// The last known states of the host's robots.txt. Several are possible if the oracle cannot tell which one the program has.
pub fn known_rules<'c>(case: &'c Case, origin: &str, at: u64) -> Vec<&'c RobotsSaid> {
    let seen = case.oracle.requests.robots.get(origin).map(Vec::as_slice).unwrap_or_default();
    let mut known = Vec::new();
    for seen in seen.iter().rev().filter(|seen| seen.at <= at && !matches!(seen.said, RobotsSaid::Unreachable)) {
        known.push(&seen.said);
        if !seen.is_unsure {
            return known;
        }
    }
    if !known.is_empty() {
        known.push(&RobotsSaid::Everything);
    }
    known
}

pub fn robots(case: &Case) -> Vec<String> {
    let mut stories = Vec::new();
    for asked in &case.oracle.requests.all {
        let (origin, path) = split(&asked.url);
        // A sitemap is meant to be read.
        if asked.robots_of.is_some() || path == "/robots.txt" || path == "/sitemap.xml" {
            continue;
        }
        let when = case.day(asked.at);
        let seen = case.oracle.requests.robots.get(origin).map(Vec::as_slice).unwrap_or_default();
        let Some(last) = seen.iter().rev().find(|seen| seen.at <= asked.at) else {
            stories.push(format!("{} was asked for at {when}, before robots.txt of its host", asked.url));
            continue;
        };
        // An error in between says nothing if the rules were not due: Seine also requests robots.txt to see whether a host is well.
        let is_good = |it: &&RobotsSeen| it.at <= asked.at && !matches!(it.said, RobotsSaid::Unreachable);
        let good = seen.iter().rev().find(is_good).map_or(0, |seen| seen.at + DAY);
        let expires = good.max(last.at + STALE) + WAITED;
        if asked.at > expires && !case.has_jumps() {
            let age = span(asked.at - last.at);
            stories.push(format!("{} was asked for at {when}, by a robots.txt that was {age} old", asked.url));
        }
        let known = known_rules(case, origin, asked.at);
        match known.iter().any(|said| said.allows(path)) {
            true => {}
            false if known.is_empty() => {
                stories.push(format!("{} was asked for at {when}, although robots.txt could not be had", asked.url))
            }
            false => stories.push(format!(
                "{} was asked for at {when}, although robots.txt forbids it, as of {}",
                asked.url,
                case.day(last.at)
            )),
        }
    }
    stories
}

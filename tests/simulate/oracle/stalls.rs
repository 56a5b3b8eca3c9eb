//! Property 4: every URL that is due and not forbidden is fetched. It is judged when nothing fails: in the calm at the end, and at a
//! beginning without mishaps.

use std::collections::BTreeMap;

use super::Case;
use super::ends::{is_troubled, known, may_be_given_up, past, trouble_ends};
use super::requests::{Asked, Got};
use crate::world::mishap::What;
use crate::world::web::Robots;
use crate::world::{DAY, HOUR, MINUTE, Place, Says, split};

pub fn stories(case: &Case) -> Vec<String> {
    let mut stories = calm(case);
    stories.extend(beginning(case));
    stories.extend(second_looks(case));
    stories.extend(looks(case));
    stories
}

/// In the calm, every page is fetched again within its interval. A page that was unknown before is left to property 1: if it is found by a
/// chain of links that changed, each page of the chain waits for its own recheck.
fn calm(case: &Case) -> Vec<String> {
    let world = case.world;
    let known = known(case);
    let truths = world.truth_of(known.must.clone(), &case.settings, world.ends_ms);
    // Hosts rest for a while after a mishap, and then all pages may be due at once.
    let round = DAY + case.settings.backoff_max + case.settings.max_interval;
    let mut stories = Vec::new();
    for its in world.places(&truths).values() {
        let until = world.calm_ms + round + its.one_of.iter().map(|url| queue(case, url)).max().unwrap_or_default();
        let is_free = |url: &String| !may_be_given_up(case, url) && !truths[url].is_trap;
        let is_new = !was_fetched(case, its, world.begins_ms, world.calm_ms);
        let is_late = until > world.ends_ms || is_new;
        if is_late || !its.one_of.iter().all(is_free) || was_fetched(case, its, world.calm_ms, until) {
            continue;
        }
        if let Some(url) = its.one_of.iter().next() {
            let calm = case.day(world.calm_ms);
            stories.push(format!("{url} was not fetched from {calm} until {}: {}", case.day(until), past(case, url)));
        }
    }
    stories
}

fn was_fetched(case: &Case, its: &Place, from: u64, until: u64) -> bool {
    let requests = &case.oracle.requests;
    its.one_of.iter().any(|url| requests.of(url).any(|(first, _)| (from..=until).contains(&first.at)))
        || requests.all.iter().any(|asked| (from..=until).contains(&asked.at) && its.one_of.contains(&asked.url))
}

/// The time that a host's pages need, one after the other: three requests for each page, and ten more.
pub fn queue(case: &Case, url: &str) -> u64 {
    let Some(host) = case.world.host_of(url) else { return 0 };
    let asks = host.robots.iter().map(|(_, robots)| match robots {
        Robots::Rules(rules) => rules.delay.unwrap_or_default().min(case.settings.max_crawl_delay),
        _ => 0,
    });
    let delay =
        asks.max().unwrap_or_default().max(case.settings.host_delay).max(ordered(case, split(url).0)) + host.latency;
    let neighbours = case.world.hosts.iter().filter(|other| other.address == host.address);
    let pages: usize = neighbours.map(|host| host.pages.len() + 10).sum();
    let addresses = case.settings.address_delay.unwrap_or_default().max(delay);
    // Slow bodies: no page has more than 60,000 bytes.
    let body = host.bytes_per_second.map_or(0, |rate| 60_000_000 / rate);
    (pages as u64) * 3 * (addresses + body) + 10 * MINUTE
}

fn ordered(case: &Case, origin: &str) -> u64 {
    use super::Event;
    use crate::world::Order;
    let of = case.oracle.events.iter().filter_map(|(_, _, event)| match event {
        Event::Order(Order::Delay { origin: of, ms }) if of == origin => Some(*ms),
        _ => None,
    });
    of.max().unwrap_or_default()
}

/// Without mishaps every URL that links lead to is fetched soon.
fn beginning(case: &Case) -> Vec<String> {
    let world = case.world;
    let begins = world.begins_ms;
    let truths = world.truth(begins);
    let mut stories = Vec::new();
    let mut free: BTreeMap<String, bool> = BTreeMap::new();
    let all: u64 = world
        .hosts
        .iter()
        .filter_map(|host| host.pages.first().map(|page| format!("{}{}", host.origin(), page.path)))
        .map(|url| queue(case, &url))
        .max()
        .unwrap_or_default();
    // A host is known only after another one has linked to it.
    let until = begins + 6 * HOUR + 3 * all;
    let is_limited = world.settings_at(until).is_limited();
    if is_limited || until > world.calm_ms || case.events_between(begins, until).next().is_some() {
        return stories;
    }
    // The page with the only link to another may go before it is fetched.
    let stays = world.places(&world.truth(until));
    for (place, its) in world.places(&truths).into_iter().filter(|(place, _)| stays.contains_key(place)) {
        let is_free = its.one_of.iter().chain(&its.none_of).all(|url| {
            let origin = split(url).0.to_owned();
            *free.entry(origin).or_insert_with(|| !is_troubled(case, url, begins, until)) && !truths[url].is_trap
        });
        if is_free
            && !world.mishaps.iter().any(|mishap| mishap.when.from <= until)
            && !was_fetched(case, &its, begins, until)
        {
            stories.push(format!("{place} was not fetched from the beginning until {}", case.day(until)));
        }
    }
    stories
}

/// A truncated page is fetched again soon, and a missing page after `confirm_gone`. Neither waits for its usual recheck.
fn second_looks(case: &Case) -> Vec<String> {
    let mut stories = Vec::new();
    for url in case.oracle.requests.by_url.keys() {
        let fetches: Vec<(&Asked, &Asked)> = case.oracle.requests.of(url).collect();
        // If robots.txt has removed the page, a missing answer needs no confirmation.
        let has_one_robots = case.world.host_of(url).is_some_and(|host| host.robots.len() == 1)
            && !case.world.mishaps.iter().any(|mishap| matches!(mishap.what, What::Robots(_)));
        let (mut was_alive, mut cut_since): (bool, Option<u64>) = (false, None);
        for (first, last) in fetches {
            let is_missing =
                was_alive && has_one_robots && matches!(last.meant.says, Says::Missing) && last.got == Got::Whole;
            // A URL does not become known because others redirect to it. And the oracle cannot tell whether a redirect was followed, or its
            // target was requested just afterwards for another reason.
            let is_by_itself = first.from.is_none() && first.url == last.url;
            if last.got == Got::Whole && !matches!(last.meant.says, Says::Status(_)) {
                was_alive = last.is_alive() && (was_alive || is_by_itself);
            }
            if !is_by_itself {
                continue;
            }
            cut_since = match (last.got, &last.meant.says) {
                (Got::Cut, _) => cut_since.or(Some(last.ended)),
                (Got::Whole, Says::Status(_)) | (Got::Nothing, _) => cut_since,
                (Got::Whole, _) => None,
            };
            let cut_for = cut_since.map_or(0, |since| last.ended - since);
            let wait = match last.got {
                // The written rule (CHANGELOG, docs/reliability.md): after an hour, two, four and so on.
                Got::Cut => cut_for.clamp(HOUR, case.settings.max_interval) + case.settings.backoff_max + DAY,
                _ if is_missing => case.settings.confirm_gone + case.settings.backoff_max + DAY,
                _ => u64::MAX / 2,
            };
            let next = case.oracle.requests.of(url).find(|(first, _)| first.at > last.ended);
            let next = next.map_or(case.world.ends_ms, |(first, _)| first.at);
            if next <= last.ended.saturating_add(wait) {
                continue;
            }
            let until = trouble_ends(case, url, last.ended, next) + wait + queue(case, url);
            if next > until && !may_be_given_up(case, url) && case.world.is_asked_for(url, &case.settings, until) {
                let what = if is_missing { "was missing" } else { "broke off" };
                stories.push(format!(
                    "{url} {what} at {}, and was not fetched again until {}",
                    case.day(last.at),
                    case.day(next)
                ));
                break;
            }
        }
    }
    stories
}

/// URLs that are in flight for hours are a visit that does not go on.
fn looks(case: &Case) -> Vec<String> {
    let mut stories = Vec::new();
    for pair in case.oracle.looks.windows(2) {
        let [(before, earlier), (now, later)] = pair else { continue };
        let is_in_calm = *before >= case.world.calm_ms + DAY;
        let asked = case.oracle.requests.all.iter().any(|asked| (*before..=*now).contains(&asked.at));
        if is_in_calm && earlier.in_flight > 0 && later.in_flight > 0 && !asked {
            stories.push(format!(
                "URLs were in flight from {} until {}, and nothing was asked for",
                case.day(*before),
                case.day(*now)
            ));
        }
    }
    stories
}

//! A host is requested again soon after its trouble is over, and a page that replaces another one is delivered soon.

use super::ends::{is_troubled, may_be_given_up, trouble_ends};
use super::politeness::known_rules;
use super::requests::{Asked, Got};
use super::stalls::queue;
use super::{Case, Event};
use crate::world::mishap::{What, Which, Who};
use crate::world::settings::{Removed, Sink};
use crate::world::web::{Page, To};
use crate::world::{Change, DAY, Done, HOUR, Mishap, split};

pub fn stories(case: &Case) -> Vec<String> {
    let mut stories: Vec<String> = case.oracle.requests.by_url.keys().filter_map(|url| refused(case, url)).collect();
    stories.extend(after_outages(case));
    let is_configured = |sink: &Sink| case.settings.sinks.iter().any(|other| other.name == sink.name);
    let lasting = |sink: &&Sink| sink.removed == Removed::Delete && is_configured(sink);
    stories.extend(case.world.settings.sinks.iter().filter(lasting).flat_map(|sink| orphans(case, sink)));
    stories
}

/// An outage of this machine is charged to no host. After it, no host is in back-off, and URLs that were known before are requested soon.
fn after_outages(case: &Case) -> Vec<String> {
    let mut stories = Vec::new();
    for (from, until, event) in &case.oracle.events {
        let (Event::NoNetwork { .. } | Event::NoResolver { .. }, Some(until)) = (event, until) else { continue };
        let (before, after) = (from.saturating_sub(HOUR), until + 6 * HOUR);
        let mut mishaps = case.world.mishaps.iter();
        let is_struck = mishaps.any(|mishap| mishap.when.from <= after && mishap.when.until >= before);
        let is_limited = case.world.settings_at(*until).is_limited();
        if is_struck || is_limited || case.events_between(before, after).count() > 1 {
            continue;
        }
        let late = case.oracle.requests.by_url.keys().filter_map(|url| {
            let (first, _) = case.oracle.requests.of(url).next()?;
            let is_late = first.at > until + 2 * HOUR + queue(case, url) && is_linked(case, url, *from);
            let settings = case.world.settings_at(*until);
            let is_late = is_late
                && is_allowed_by_known_rules(case, url, *until)
                && [before.saturating_sub(DAY), *until]
                    .into_iter()
                    .all(|at| case.world.is_asked_for(url, &settings, at));
            is_late.then(|| {
                let (over, at) = (case.day(*until), case.day(first.at));
                format!(
                    "{url} was known before an outage of this machine, which was over at {over}, and asked for at {at}"
                )
            })
        });
        stories.extend(late);
    }
    stories
}

/// Whether the robots.txt that the program had then allows the URL. A host without due URLs is not visited, so that file
/// may be days old.
fn is_allowed_by_known_rules(case: &Case, url: &str, at: u64) -> bool {
    let (origin, path) = split(url);
    known_rules(case, origin, at).iter().all(|said| said.allows(path))
}

/// Whether a page of the same host always links to the URL, and was fetched before that time.
fn is_linked(case: &Case, url: &str, before: u64) -> bool {
    let Some((host, page)) = case.world.page_at(url) else { return false };
    let links =
        |from: &&Page| from.links.iter().any(|it| it.to == To::Page(page.id) && it.from == 0 && it.until == u64::MAX);
    // A twin shows the links of the page that it copies, so its own list of links does not count.
    host.pages.iter().filter(|from| from.twin_of.is_none()).filter(links).any(|from| {
        let url = format!("{}{}", host.origin(), from.path);
        // While something is wrong, a page may not show its links.
        let shows = |last: &Asked| last.is_alive() && last.url == url && last.meant.mishap.is_none();
        // A link that a limit leaves out is found at the next fetch of the page after the limit is lifted.
        let shows = |last: &Asked| shows(last) && !case.world.settings_at(last.ended).is_limited();
        case.oracle.requests.of(&url).any(|(_, last)| last.ended < before && shows(last))
    })
}

/// If a whole host refuses connections, this is host trouble. After it, no URL waits until its next recheck would be due.
fn refused(case: &Case, url: &str) -> Option<String> {
    let fetches: Vec<(&Asked, &Asked)> = case.oracle.requests.of(url).collect();
    for (nth, (_, last)) in fetches.iter().enumerate() {
        let mishap = last.meant.mishap.and_then(|number| case.world.mishaps.get(number));
        if last.got != Got::Nothing || last.url != *url || !mishap.is_some_and(refuses_all) {
            continue;
        }
        let next = fetches.get(nth + 1).map_or(case.world.ends_ms, |(first, _)| first.at);
        let wait = case.settings.backoff_max + DAY + queue(case, url);
        let until = trouble_ends(case, url, last.ended, next) + wait;
        if next > until && !may_be_given_up(case, url) && case.world.is_asked_for(url, &case.settings, until) {
            let (at, next) = (case.day(last.at), case.day(next));
            return Some(format!("{url} could not be connected to at {at}, and was not asked for again until {next}"));
        }
    }
    None
}

fn refuses_all(mishap: &Mishap) -> bool {
    matches!(mishap.what, What::Refused | What::NoRoute)
        && matches!(mishap.who, Who::Host(_) | Who::Domain(_) | Who::Everybody)
        && mishap.when.which == Which::All
}

/// If a page leaves, and other pages name it as their canonical URL, one of them is delivered soon instead.
fn orphans(case: &Case, sink: &Sink) -> Vec<String> {
    let Some(log) = case.ends.log.get(&sink.name) else { return Vec::new() };
    let removals = log.iter().filter(|change| matches!(change.what, Done::Removed { .. }));
    removals.filter_map(|change| orphan(case, sink, log, change)).collect()
}

fn orphan(case: &Case, sink: &Sink, log: &[Change], change: &Change) -> Option<String> {
    let (world, at) = (case.world, change.at_ms);
    let (host, page) = world.page_at(&change.url)?;
    if page.is_there(at) {
        return None;
    }
    // The pages that named it as their canonical URL.
    let heirs = host.pages.iter().filter(|other| other.canonical == Some(page.id));
    let heirs = heirs.map(|other| format!("{}{}", host.origin(), other.path));
    let until = at + DAY + case.settings.backoff_max + queue(case, &change.url);
    let settings = world.settings_at(at);
    let is_one = |url: &String, at: u64| {
        let truth = world.judge(url, &settings, at, &mut Default::default());
        truth.is_page && truth.place == change.url
    };
    let was_fetched = |url: &String| case.oracle.requests.of(url).any(|(_, last)| last.at < at && last.is_alive());
    let heirs: Vec<String> =
        heirs.filter(|url| was_fetched(url) && is_one(url, at) && is_one(url, until.min(world.ends_ms))).collect();
    let heir = heirs.first()?;
    let is_quiet = until < world.ends_ms && !is_troubled(case, heir, at.saturating_sub(DAY), until);
    // A URL that is delivered instead: an heir, or a URL that redirects to one.
    let mut looks = Default::default();
    let mut has_it = |it: &Change| {
        let is_delivered = it.at_ms <= until && matches!(it.what, Done::Delivered { .. });
        is_delivered && {
            let truth = world.judge(&it.url, &settings, at, &mut looks);
            heirs.contains(&it.url) || (truth.is_page && truth.place == change.url)
        }
    };
    // It became a dead letter.
    let was_refused = |it: &Change| (at.saturating_sub(DAY)..=until).contains(&it.at_ms) && heirs.contains(&it.url);
    let is_refused = case.ends.refused.get(&sink.name).is_some_and(|refused| refused.iter().any(was_refused));
    if !is_quiet || is_refused || log.iter().any(&mut has_it) {
        return None;
    }
    Some(format!(
        "{} lost {} at {}, and until {} has nobody's page instead, though {heir} is one",
        sink.name,
        change.url,
        case.day(at),
        case.day(until)
    ))
}

//! Property 2, first half: no live page was removed, except by a written rule with a time.
//!
//! The rules (README): a page is removed when its URL answers 404 or 410, and does so again `confirm_gone` later. The same holds for a
//! robots.txt that forbids it, for noindex, for a redirect to elsewhere, and for an empty body. It is removed at once when the scope or the
//! operator excludes it, and when it is delivered under another URL.

use super::ends::past;
use super::requests::{Asked, Got, RobotsSaid};
use super::{Case, TOLD};
use crate::world::{Change, DAY, Done, MINUTE, Says, split};

pub fn stories(case: &Case) -> Vec<String> {
    let mut stories = Vec::new();
    for (sink, log) in &case.ends.log {
        // The written rule (docs/explain/destinations.md): if a destination refuses a page that came under another URL before, it has neither.
        let sent: Vec<&Change> = log.iter().chain(case.ends.refused.get(sink).into_iter().flatten()).collect();
        for (nth, change) in log.iter().enumerate() {
            if stories.len() > TOLD {
                return stories; // each takes a long look at the world
            }
            let Done::Removed { .. } = change.what else { continue };
            let before = log[..nth].iter().rev().find(|it| it.url == change.url);
            let was_held = before.is_some_and(|it| !matches!(it.what, Done::Removed { .. }));
            if was_held && !is_right(case, change) && !is_sent_elsewhere(case, (sink, &sent), change) {
                stories.push(format!(
                    "{sink} lost the live page {} at {}: {}",
                    change.url,
                    case.day(change.at_ms),
                    past(case, &change.url)
                ));
            }
        }
    }
    stories
}

/// Whether the removal is right: the page was not live, or a rule was followed.
fn is_right(case: &Case, change: &Change) -> bool {
    let (url, at) = (change.url.as_str(), change.at_ms);
    is_not_live(case, url, at) || is_confirmed(case, url, (0, at)) || is_forbidden(case, url, at)
}

/// Whether the page was not live, either at the last fetch before the removal or at the removal.
fn is_not_live(case: &Case, url: &str, at: u64) -> bool {
    let last = case.oracle.requests.of(url).rev().find(|(first, _)| first.at <= at).map(|(_, last)| last.at);
    [Some(at), last].into_iter().flatten().any(|at| {
        let settings = case.world.settings_at(at);
        let truth = case.world.judge(url, &settings, at, &mut Default::default());
        !truth.is_page || !case.world.is_in_scope(url, &settings)
    })
}

/// Whether two answers, `confirm_gone` apart, spoke against the page, and no answer between them spoke for it.
pub(super) fn is_confirmed(case: &Case, url: &str, (from, until): (u64, u64)) -> bool {
    let mut since: Option<u64> = None;
    // The target of a redirect may have been requested later, for another URL.
    let answers =
        case.oracle.requests.of(url).map(|(first, last)| (first, if last.ended <= until { last } else { first }));
    for (asked, last) in answers.filter(|(_, answer)| (from..=until).contains(&answer.ended)) {
        match is_bad(url, last) {
            Some(true) => {
                let first = *since.get_or_insert(asked.ended);
                if is_later(case, first, last.ended) {
                    return true;
                }
            }
            Some(false) => since = None,
            None => {}
        }
    }
    false
}

/// Whether the answer speaks against the page; none: it says nothing about the page.
fn is_bad(url: &str, last: &Asked) -> Option<bool> {
    if last.got != Got::Whole {
        return None;
    }
    match &last.meant.says {
        Says::Missing => Some(true),
        Says::Page { noindex, is_empty, .. } => Some(*noindex || *is_empty || last.url != url),
        Says::NotModified { noindex } => Some(*noindex || last.url != url),
        Says::Redirect(_) => Some(true),
        _ => None,
    }
}

fn is_later(case: &Case, first: u64, second: u64) -> bool {
    second + MINUTE >= first + case.settings.confirm_gone || (case.has_jumps() && second > first)
}

/// Its host's robots.txt forbade it twice, `confirm_gone` apart, and did not allow it in between.
fn is_forbidden(case: &Case, url: &str, at: u64) -> bool {
    let (origin, path) = split(url);
    let mut since: Option<u64> = None;
    for seen in case.oracle.requests.robots.get(origin).into_iter().flatten().filter(|seen| seen.at <= at) {
        match &seen.said {
            RobotsSaid::Rules(rules) if !rules.allow(path) => {
                let first = *since.get_or_insert(seen.at);
                if is_later(case, first, seen.at) {
                    return true;
                }
            }
            RobotsSaid::Rules(_) | RobotsSaid::Everything => since = None,
            RobotsSaid::Unreachable => {}
        }
    }
    false
}

/// Whether the page is delivered under another URL, which the destination has, or gets soon. This may be true at the removal or at the
/// last fetch, because a new destination gets what was decided at that fetch.
fn is_sent_elsewhere(case: &Case, sent: (&str, &[&Change]), change: &Change) -> bool {
    let led = case.oracle.requests.of(&change.url).rfind(|(first, _)| first.at <= change.at_ms);
    let fetched = led.map(|(_, last)| last.at);
    let is_anothers = |decided| is_anothers(case, sent, change, led, decided);
    [Some(change.at_ms), fetched].into_iter().flatten().any(is_anothers)
}

fn is_anothers(
    case: &Case,
    (sink, sent): (&str, &[&Change]),
    change: &Change,
    led: Option<(&Asked, &Asked)>,
    decided: u64,
) -> bool {
    let (url, at) = (change.url.as_str(), change.at_ms);
    let settings = case.world.settings_at(decided);
    let mut looks = Default::default();
    let own = case.world.judge(url, &settings, at, &mut looks);
    // The other URL is the target of a redirect, now or at the last fetch, or it has the same page.
    let leads_to = led.map(|(first, last)| (first.leads_to(), last.url.clone()));
    let is_the_same = |other: &str, looks: &mut crate::world::Looks| {
        let truth = case.world.judge(other, &settings, at, looks);
        truth.place == own.place
            || leads_to.as_ref().is_some_and(|(to, last)| to.as_deref() == Some(other) || last == other)
                && own.place != url
    };
    let others = sent.iter().filter(|it| it.url != url && it.at_ms <= at + DAY);
    let mut delivered = others.filter(|it| matches!(it.what, Done::Delivered { .. }));
    // A destination that was added later lacks a page that has not changed since, also under its other URL.
    let is_lacking = own.place != url && case.was_added_later(sink);
    is_lacking || delivered.any(|it| is_the_same(&it.url, &mut looks)) || is_of_doubted(case, (url, sent), at)
}

/// Whether the destination still holds the page of another URL, its canonical one when that was delivered. Its server may
/// answer 404 by now. When a second fetch confirms this, the pages that name it are delivered again.
fn is_of_doubted(case: &Case, (url, sent): (&str, &[&Change]), at: u64) -> bool {
    let settings = case.world.settings_at(at);
    let is_held = |it: &&Change| {
        let later = |other: &&&Change| other.url == it.url && (it.at_ms + 1..=at).contains(&other.at_ms);
        !sent.iter().filter(later).any(|other| matches!(other.what, Done::Removed { .. }))
    };
    let others = sent.iter().filter(|it| it.url != url && it.at_ms <= at).copied();
    others.filter(|it| matches!(it.what, Done::Delivered { .. })).filter(is_held).any(|it| {
        let mut looks = Default::default();
        let mut place_of = |url: &str| case.world.judge(url, &settings, it.at_ms, &mut looks).place;
        place_of(url) == place_of(&it.url)
    })
}

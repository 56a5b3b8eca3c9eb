//! Property 5: exit status and summary of the crawl report the true state. The crawl ends twice: after SIGTERM, and then, without `--stay`,
//! by itself, when nothing is left to fetch.

use std::collections::BTreeMap;

use super::told::is_as_it_was_left;
use super::{Books, Case, Contents, Event, Report};
use crate::world::settings::Removed;
use crate::world::{Order, Trouble};

/// The exit statuses of docs/explain/how-it-works.md.
const DONE: u8 = 0;
const NO_SEED: u8 = 3;
const UNDELIVERED: u8 = 5;
const DEFERRED: u8 = 7;

pub fn stories(case: &Case) -> Vec<String> {
    let (ran_out, stopped) = (case.ends.ran_out.as_ref(), case.ends.stopped.as_ref());
    let mut stories = Vec::new();
    if let Some(stopped) = stopped {
        stories.extend(counters(stopped, &case.ends.books));
    }
    if let Some((report, held)) = ran_out {
        stories.extend(counters(report, stopped.map_or(&[], |stopped| &stopped.books)));
        stories.extend(status(report));
        stories.extend(letters(case, report));
        stories.extend(seeds(case, report));
        stories.extend(attempts(case, report));
        stories.extend(live(case, report, held));
    }
    stories
}

/// The counters balance, and go on from those before.
fn counters(report: &Report, before: &[Books]) -> Vec<String> {
    let mut stories = Vec::new();
    for last in &report.books {
        let before = before.iter().find(|books| books.sink == last.sink);
        if last.accepted != last.delivered + last.skipped + last.dead + last.damaged + last.pending {
            stories.push(format!("the summary's books of {} do not balance: {last:?}", last.sink));
        }
        if let Some(before) =
            before.filter(|before| last.accepted < before.accepted || last.delivered < before.delivered)
        {
            stories.push(format!(
                "the summary's books of {} are those of an earlier time: {last:?}, and before {before:?}",
                last.sink
            ));
        }
    }
    stories
}

/// In the calm, the crawl fetches all that is due, and the destinations take it. Only dead letters keep the crawl from being done.
fn status(report: &Report) -> Option<String> {
    let pending = report.books.iter().map(|books| books.pending).sum::<u64>();
    let letters = report.letters.values().sum::<u64>();
    let right = match letters {
        _ if report.seeds > 0 && report.failed_seeds.len() as u64 == report.seeds => NO_SEED,
        0 if report.deferred > 0 => DEFERRED,
        0 => DONE,
        _ => UNDELIVERED,
    };
    let says_done = report.how.starts_with("Done");
    let is_right = pending == 0 && report.status == right && says_done == (right == DONE);
    (!is_right).then(|| {
        format!(
            "without --stay, the crawl ended with {report}, but it had {pending} events and {letters} dead letters \
             left, and {} of {} seeds failed",
            report.failed_seeds.len(),
            report.seeds
        )
    })
}

/// Dead letters are of pages that the destination refused, and when all are replayed, none is left.
fn letters(case: &Case, report: &Report) -> Vec<String> {
    let events = || case.oracle.events.iter().map(|(_, _, event)| event);
    let stories = report.letters.iter().filter(|(_, letters)| **letters > 0).filter_map(|(sink, letters)| {
        // It may fail at single pages of many, again and again.
        let fails = |event: &Event| matches!(event, Event::Destination(it) if it.which.name() == sink && matches!(it.what, Trouble::Refusing { .. }));
        if events().any(fails) {
            return None;
        }
        let has_refused = case.ends.refused.get(sink).is_some_and(|refused| !refused.is_empty());
        let why = if has_refused { "the operator has replayed all when all was well" } else { "it has refused nothing" };
        Some(format!("the summary has {letters} dead letters of {sink}, but {why}"))
    });
    stories.collect()
}

/// The crawl has fetched each seed, and reports those that have no page.
fn seeds(case: &Case, report: &Report) -> Vec<String> {
    let (world, at) = (case.world, case.world.ends_ms);
    let mut looks = Default::default();
    let mut stories = Vec::new();
    if report.seeds != world.seeds.len() as u64 {
        stories.push(format!("the summary has {} seeds of {}", report.seeds, world.seeds.len()));
    }
    for seed in &world.seeds {
        let truth = world.judge(seed, &case.settings, at, &mut looks);
        let failed = report.failed_seeds.iter().find(|failed| failed.split(' ').next() == Some(seed));
        match failed {
            Some(failed) if truth.is_page => {
                stories.push(format!("the summary says that a live seed failed: {failed}"))
            }
            None if !truth.is_page => {
                stories.push(format!("the summary does not say that the seed {seed} failed, but {}", truth.why));
            }
            _ => {}
        }
    }
    stories
}

/// An attempt with an answer needs a request, and each request belongs to an attempt. The crawl accepts all its attempts.
fn attempts(case: &Case, report: &Report) -> Vec<String> {
    let mut stories = Vec::new();
    let is_answer = |outcome: &str| outcome.ends_with("xx") || ["cut", "bad_redirect"].contains(&outcome);
    let answered: u64 = report.attempts.iter().filter(|(outcome, _)| is_answer(outcome)).map(|(_, count)| count).sum();
    let attempts: u64 = report.attempts.values().sum();
    let requests = case.oracle.requests.all.iter().filter(|asked| asked.at >= case.ends.ran_out_from);
    let of_pages: Vec<_> = requests.filter(|asked| asked.robots_of.is_none()).collect();
    let first = of_pages.iter().filter(|asked| asked.from.is_none()).count() as u64;
    if answered > of_pages.len() as u64 || attempts < first {
        stories.push(format!(
            "the summary has {attempts} attempts, {answered} of them with an answer, but the web had {} requests, {first} of them \
             not after a redirect: {report:?}",
            of_pages.len()
        ));
    }
    let before: BTreeMap<&str, u64> =
        case.ends.stopped.iter().flat_map(|it| &it.books).map(|it| (it.sink.as_str(), it.accepted)).collect();
    for books in &report.books {
        let accepted = books.accepted - before.get(books.sink.as_str()).copied().unwrap_or(books.accepted);
        if accepted < attempts {
            stories.push(format!("the summary has {attempts} attempts, but {} was to get {accepted}", books.sink));
        }
    }
    stories
}

/// A destination that holds all live pages, and nothing else, has as many as the summary says.
fn live(case: &Case, report: &Report, held: &Contents) -> Vec<String> {
    let forgets = |event: &Event| matches!(event, Event::Order(Order::Forget { .. }));
    if case.oracle.events.iter().any(|(_, _, event)| forgets(event)) {
        return Vec::new(); // destinations keep what they have
    }
    let mirrors = case.world.settings.sinks.iter().filter(|sink| {
        let is_complete = report.letters.get(&sink.name).copied().unwrap_or_default() == 0;
        let is_configured = case.settings.sinks.iter().any(|other| other.name == sink.name);
        sink.removed == Removed::Delete && is_configured && is_complete && is_as_it_was_left(case, sink)
    });
    let counts = mirrors.filter_map(|sink| {
        let holds = held.get(&sink.name)?.len() as u64;
        (holds != report.live)
            .then(|| format!("the summary has {} live pages, but {} holds {holds}", report.live, sink.name))
    });
    counts.collect()
}

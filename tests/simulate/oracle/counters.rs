//! Properties 5 and 6: the counters balance, reports are true, and memory is bounded.

use super::{Books, Case, Event};
use crate::world::settings::CACHE;
use crate::world::{DAY, HOUR};

pub fn stories(case: &Case) -> Vec<String> {
    let mut stories = case.ends.panics.iter().map(|panic| format!("something panicked: {panic}")).collect::<Vec<_>>();
    for books in &case.ends.books {
        let Books { sink, accepted, delivered, skipped, dead, damaged, pending } = books;
        if *accepted != delivered + skipped + dead + damaged + pending {
            stories.push(format!("the books of {sink} do not balance: {books:?}"));
        }
        // An event may have come just before the end, because status questions are six hours apart.
        let looks = case.oracle.looks.iter().rev().take(4);
        let before: Vec<u64> = looks.filter_map(|(_, said)| said.pending.get(sink).copied()).collect();
        if *pending > 0 && !before.contains(&0) {
            stories.push(format!("{sink} has {pending} events to take after a day in which nothing was in its way"));
        }
    }
    stories.extend(restless(case));
    stories
}

/// A day after the last trouble, the program reports that all is well.
fn restless(case: &Case) -> Option<String> {
    let calm = case.world.calm_ms + case.settings.backoff_max + DAY;
    let (at, said) = case.oracle.looks.iter().rev().find(|(at, _)| *at >= calm + HOUR)?;
    let is_stuck = !said.parts_stuck.is_empty() || !said.parts_failing.is_empty();
    // If the operator has changed an index or a topic, the program may report this as long as it lasts.
    let is_told = case.oracle.events.iter().any(|(_, _, event)| matches!(event, Event::Destination(_)));
    match &said.ready {
        _ if is_stuck => {
            let parts: Vec<&str> = said.parts_stuck.iter().chain(&said.parts_failing).map(String::as_str).collect();
            Some(format!("at {}, long after all was well: {} stuck or failing", case.day(*at), parts.join(", ")))
        }
        Err(reasons) if !is_told => {
            Some(format!("at {}, long after all was well, it is not ready: {}", case.day(*at), reasons.join("; ")))
        }
        _ => None,
    }
}

/// What a process takes before it has a page: threads, tables of the store, rules for links and texts.
const PROGRAM: u64 = 14 << 20;
/// The log keeps its newest entries in memory for readers that keep up.
const LOG_TAIL: u64 = 24 << 20;
/// A world has no larger body. A worker has it as received, decoded and read.
const BODIES: u64 = 3 * (64 << 10);

/// A process takes what its configuration allows, and what has a fixed limit. What grows with the number of pages is on disk. The memory of
/// the world, of its destinations and of the oracle does not count.
pub fn memory(case: &Case) -> Option<String> {
    let sinks = case.settings.sinks.iter().map(|sink| sink.to.on_the_way()).sum::<u64>();
    let allowed = PROGRAM + LOG_TAIL + CACHE + u64::from(case.settings.workers) * BODIES + sinks;
    let peak = case.ends.peak_bytes;
    (peak > allowed).then(|| {
        format!("a process took {} MB of memory, but its configuration allows {} MB", peak >> 20, allowed >> 20)
    })
}

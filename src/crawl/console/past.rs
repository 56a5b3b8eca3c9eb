//! The history of a URL: who linked to it, and the results of its attempts.

use seine_frontier::{Attempt, Cause, Found, UrlLook, Way};

use super::order_log::OrderLog;
use crate::api::said::{AttemptStory, Attempts, Discovery, FoundLink};

pub(super) fn discovery(log: &OrderLog, look: Option<&UrlLook>) -> Discovery {
    let told = |found: Option<&Found>| found.map(|found| found_link(log, found));
    Discovery {
        first: told(look.and_then(|look| look.first_found.as_ref())),
        last: told(look.and_then(|look| look.last_found.as_ref())),
    }
}

fn found_link(log: &OrderLog, found: &Found) -> FoundLink {
    let Found { way, on, at } = found;
    let by = if *way == Way::Added { log.who_added_seeds(*at) } else { None };
    FoundLink { way: way.name().to_owned(), on: on.clone(), at_ms: *at, by }
}

pub(super) fn attempts(look: Option<&UrlLook>) -> Attempts {
    let last = look.map(|look| look.attempts.iter().map(story).collect()).unwrap_or_default();
    Attempts { in_all: look.map_or(0, |look| look.attempts_in_all.into()), last }
}

fn story(attempt: &Attempt) -> AttemptStory {
    let outcome = match attempt.outcome {
        Cause::Status(0) => "no answer".to_owned(),
        outcome => outcome.to_string(),
    };
    let digest = attempt.digest.map(|digest| data_encoding::HEXLOWER.encode(&digest));
    AttemptStory { at_ms: attempt.at, outcome, counts: attempt.counts, digest }
}

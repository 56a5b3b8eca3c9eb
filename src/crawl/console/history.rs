//! The history of a URL: who linked to it, and the results of its attempts.

use seine_frontier::{Attempt, Cause, Found, FoundBy, UrlSnapshot};

use super::order_log::OrderLog;
use crate::api::schema::{AttemptStory, Attempts, Discovery, FoundLink};

pub(super) fn discovery(log: &OrderLog, snapshot: Option<&UrlSnapshot>) -> Discovery {
    let link = |found: Option<&Found>| found.map(|found| found_link(log, found));
    Discovery {
        first: link(snapshot.and_then(|snapshot| snapshot.first_found.as_ref())),
        last: link(snapshot.and_then(|snapshot| snapshot.last_found.as_ref())),
    }
}

fn found_link(log: &OrderLog, found: &Found) -> FoundLink {
    let Found { way, on, at } = found;
    let by = if *way == FoundBy::Added { log.who_added_seeds(*at) } else { None };
    FoundLink { way: way.name().to_owned(), on: on.clone(), at_ms: *at, by }
}

pub(super) fn attempts(snapshot: Option<&UrlSnapshot>) -> Attempts {
    let last = snapshot.map(|snapshot| snapshot.attempts.iter().map(story).collect()).unwrap_or_default();
    Attempts { in_all: snapshot.map_or(0, |snapshot| snapshot.attempts_in_all.into()), last }
}

fn story(attempt: &Attempt) -> AttemptStory {
    let outcome = match attempt.outcome {
        Cause::Status(0) => "no answer".to_owned(),
        outcome => outcome.to_string(),
    };
    let digest = attempt.digest.map(|digest| data_encoding::HEXLOWER.encode(&digest));
    AttemptStory { at_ms: attempt.at, outcome, counts: attempt.counts, digest }
}

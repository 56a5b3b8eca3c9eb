//! What a URL went through: who led to it, and what its attempts brought.

use super::Console;
use crate::api::said::{AttemptStory, Attempts, Discovery, FoundLink};
use crate::frontier::{Attempt, Cause, Found, UrlLook, Way};

/// The word for seeds among orders.
const ADD_SEEDS: &str = "add_seeds";

impl Console {
    pub(super) fn discovery(&self, look: Option<&UrlLook>) -> Discovery {
        let told = |found: Option<&Found>| found.map(|found| self.found_link(found));
        Discovery {
            first: told(look.and_then(|look| look.first_found.as_ref())),
            last: told(look.and_then(|look| look.last_found.as_ref())),
        }
    }

    fn found_link(&self, found: &Found) -> FoundLink {
        let Found { way, on, at } = found;
        let by = if *way == Way::Added { self.who_added(*at) } else { None };
        FoundLink { way: way.name().to_owned(), on: on.clone(), at_ms: *at, by }
    }

    /// Who gave the seeds of that second: the first such order noted since, if it is among the last.
    fn who_added(&self, at: u64) -> Option<String> {
        let orders = self.orders().ok()?;
        // The latest are first.
        let mut seeds = orders.into_iter().rev().filter(|it| it.order["order"] == ADD_SEEDS && it.at_ms >= at);
        seeds.next().map(|ordered| ordered.by)
    }
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

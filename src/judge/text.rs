//! Decides from the text of a page: the distance from its last version, its relevance, and whether it is a duplicate
//! (`duplicates.enabled`).

use std::sync::Arc;

use seine_frontier::Work;
use seine_parse::page::{Kind, Likeness, PageChange, Relevance, Response, TextChange, TextsGiven, Withheld};
use seine_policies::duplicates::Content;

use super::{Answers, Case, Question};
use crate::config::Config;

/// The classifier's result with its name. Without a classifier, the type decides.
pub(super) fn relevance(case: &Case) -> (Relevance, Option<Arc<str>>) {
    let is_success = case.event.response().is_some_and(Response::is_success);
    let said = case.reading.relevance;
    let model = case.policy.config.classifier.as_ref().filter(|_| said.is_some()).map(|it| it.name().clone());
    (said.unwrap_or(Relevance::by_type(case.reading.is_html && is_success)), model)
}

/// None if a new or changed page has no text, or is truncated; then nothing is known about its text.
pub(super) fn change(case: &Case, change: Option<PageChange>) -> Option<TextChange> {
    let thresholds = case.policy.thresholds;
    if thresholds.is_empty() {
        return None;
    }
    let nothing = TextsGiven::new();
    let given = match change? {
        PageChange::New => &nothing,
        PageChange::Changed => &case.known.known.texts,
        PageChange::Unchanged | PageChange::Gone => return None,
    };
    let is_whole = case.event.response().is_some_and(|response| !response.is_cut());
    case.reading.simhash.filter(|_| is_whole).map(|now| TextChange::of(now, given, thresholds))
}

/// None if duplicates are not detected, or the page is empty or truncated. All pages with the same beginning would
/// otherwise be duplicates.
pub(super) fn likeness(
    case: &Case,
    change: Option<PageChange>,
    withheld: Option<&Withheld>,
    answers: &Answers,
) -> Result<Option<Likeness>, Question> {
    let Case { event, reading, known, policy, .. } = *case;
    let is_there = event.kind == Kind::Page && withheld.is_none();
    let change = change.filter(|change| is_there && *change != PageChange::Gone);
    let (Some(within), Some(change), Some(response)) = (policy.config.frontier.duplicates, change, event.response())
    else {
        return Ok(None);
    };
    if response.status == 304 {
        return Ok(known.known.likeness.clone().filter(|_| !known.is_orphan));
    }
    if response.truncated.is_some() || reading.decoded == 0 {
        return Ok(None);
    }
    let before = known.known.likeness.as_ref();
    let before = before.filter(|_| change == PageChange::Unchanged && is_compared(known, within));
    if let Some(first) = before.filter(|before| before.of.is_none()) {
        return Ok(Some(first.clone()));
    }
    let sketch = match before {
        Some(before) => before.sketch,
        None => reading.sketch.filter(|_| within > 0),
    };
    let ask = || Question::ContentSlot { content: Content::new(&reading.digest, sketch), within };
    let of = answers.content_slot.clone().ok_or_else(ask)?;
    Ok(Some(Likeness::new(sketch, of, within)))
}

/// Whether the page was compared with others within the same distance, and as now.
pub(super) fn is_compared(known: &Work, within: u8) -> bool {
    known.known.likeness.as_ref().is_some_and(|likeness| likeness.is_within(within))
}

pub(super) fn looks_for_near_copies(config: &Config) -> bool {
    config.frontier.duplicates.is_some_and(|within| within > 0)
}

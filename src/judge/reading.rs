//! Reads from a page's body what the judge needs. Also: which pages must come whole, because a 304 has no body to read.

use seine_frontier::Work;
use seine_parse::decode::DecodeProblem;
use seine_parse::page::preferences::Statement;
use seine_parse::page::{Kind, PageEvent, Relevance, Response};
use seine_parse::text_sketch::TextSketch;
use seine_parse::{Derived, simhash, text_sketch};
use seine_policies::focus;

use super::Policy;
use super::text::{is_compared, looks_for_near_copies};
use super::withheld::standing;
use crate::config::Config;

/// The facts of a body that a verdict needs.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub digest: [u8; 32],
    pub is_html: bool,
    /// Length of the decoded body.
    pub decoded: u64,
    /// The content coding has no end, so the body is truncated although its transfer was complete (a server that
    /// stopped behind a proxy).
    pub is_cut: bool,
    pub noindex: bool,
    pub preferences: Vec<Statement>,
    /// Of its text, if a destination wants the distance of changes and it may have changed.
    pub simhash: Option<u64>,
    /// Of its text, if near duplicates are looked for and it was not compared as it is.
    pub sketch: Option<TextSketch>,
    /// Result of the page classifier, if it was asked.
    pub relevance: Option<Relevance>,
    pub canonical: Option<String>,
}

/// Reads the facts of a body. It may extract the main text, which takes milliseconds of CPU.
pub fn read(event: &PageEvent, known: &Work, derived: &Derived, policy: &Policy) -> Reading {
    let (simhash, sketch) = text(event, known, derived, policy);
    Reading {
        digest: derived.digest,
        is_html: derived.is_html,
        decoded: derived.body.len() as u64,
        is_cut: matches!(derived.decode_problem, Some(DecodeProblem::Cut { .. })),
        noindex: derived.robots.noindex,
        preferences: derived.preferences.clone(),
        simhash,
        sketch,
        relevance: relevance(event, known, derived, policy.config),
        canonical: derived.canonical.clone(),
    }
}

/// Whether the main text of pages is read.
pub(crate) fn reads_text(policy: &Policy) -> bool {
    policy.config.classifier.is_some() || !policy.thresholds.is_empty() || looks_for_near_copies(policy.config)
}

/// The simhash and the sketch of the text; none if nobody needs it, or the page is unchanged.
fn text(event: &PageEvent, known: &Work, derived: &Derived, policy: &Policy) -> (Option<u64>, Option<TextSketch>) {
    let is_as_it_was = !known.was_withheld() && known.known.digest == Some(derived.digest);
    let wants_distance = !policy.thresholds.is_empty() && !is_as_it_was;
    let is_new = |within| within > 0 && !(is_as_it_was && is_compared(known, within));
    let wants_likeness = policy.config.frontier.duplicates.is_some_and(is_new);
    let is_wanted = event.kind == Kind::Page && (wants_distance || wants_likeness);
    let response = event.response().filter(|response| is_wanted && response.is_success());
    let Some(content_type) = response.map(Response::content_type) else { return (None, None) };
    let simhash = wants_distance.then(|| simhash::of_page(derived, content_type)).flatten();
    (simhash, wants_likeness.then(|| text_sketch::of_page(derived, content_type)).flatten())
}

/// None if no page classifier is asked.
fn relevance(event: &PageEvent, known: &Work, derived: &Derived, config: &Config) -> Option<Relevance> {
    let classifier = config.classifier.as_ref()?;
    if event.response().is_some_and(|response| response.status == 304) {
        return judged_before(known, config);
    }
    // Without scores every link counts like a seed.
    let link = if config.frontier.focus.ranks { focus::rank_of(known.priority) } else { 1.0 };
    classifier.judge(event, derived, f64::from(link))
}

/// The classifier's result for the last fetch of the page.
fn judged_before(known: &Work, config: &Config) -> Option<Relevance> {
    let name = config.classifier.as_ref()?.name();
    known.known.judged.as_ref().filter(|judged| judged.model == **name).map(Relevance::from)
}

/// Whether the page must be refetched, not only asked whether it changed. `host_statements`: the statements of its host, as
/// far as they are known before the request.
pub(crate) fn must_be_refetched(known: &Work, host_statements: Vec<Statement>, config: &Config) -> bool {
    is_released(known, host_statements, config) || must_be_compared(known, config) || must_be_judged(known, config)
}

/// Whether a withheld page may be delivered now, as far as is known before its request.
fn is_released(known: &Work, mut said: Vec<Statement>, config: &Config) -> bool {
    if !known.was_withheld() {
        return false;
    }
    said.extend(known.known.preferences.iter().flatten().cloned());
    standing(&known.known, &said, config).is_none()
}

/// For duplicate detection a 304 has no text, and a former duplicate must be delivered.
fn must_be_compared(known: &Work, config: &Config) -> bool {
    let must_be = |within| known.was_found && (known.is_orphan || !is_compared(known, within));
    known.kind == Kind::Page && config.frontier.duplicates.is_some_and(must_be)
}

/// Another classifier judged it.
fn must_be_judged(known: &Work, config: &Config) -> bool {
    config.classifier.is_some() && known.known.judged.is_some() && judged_before(known, config).is_none()
}
